// The parsing of requests, before they are executed.
#include <gtest/gtest.h>

#include "agent/api.h"
#include "agent/body.h"

namespace pawl::agent {
namespace {

std::string why(const Result<Body>& body) { return body ? "" : body.error().message; }

TEST(RequestBody, IsOneObjectOfRFC8259) {
  for (const auto* good : {"{}", " { } ", R"({"a":1})", R"({"a":[1,-0.5e+3,{"b":null}],"c":"\u00e9\n"})",
                           R"({"a":"\ud83d"})", "\n{\"a\"\t: true }\r\n"})
    EXPECT_TRUE(Body::parse(good)) << good << why(Body::parse(good));
  for (const auto* bad : {"",
                          "[]",
                          "1",
                          "{",
                          "{}{}",
                          "{}x",
                          "{,}",
                          R"({"a"})",
                          R"({"a":})",
                          R"({"a":1,})",
                          R"({a:1})",
                          R"({"a":01})",
                          R"({"a":+1})",
                          R"({"a":NaN})",
                          R"({"a":1.})",
                          R"({"a":.5})",
                          R"({"a":1e})",
                          R"({"a":'x'})",
                          R"({"a":"\x"})",
                          R"({"a":"\u12g4"})",
                          R"({"a":"x)",
                          "{\"a\":\"\n\"}",
                          "{\"a\":\"\xff\"}",
                          R"({"a":1,"a":2})",
                          R"({"a":{"b":1,"\u0062":2}})",
                          R"({"a":tru})",
                          R"({"a":[1,]})",
                          "{\"a\":\"\\",
                          "{\"a\":\"\\u12"})
    EXPECT_FALSE(Body::parse(bad)) << bad;
}

TEST(RequestBody, IsAsDeepAsPawlReads) {
  const auto nested = [](std::size_t depth) {
    return R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(Body::parse(nested(kJsonDepthMax)));
  EXPECT_FALSE(Body::parse(nested(kJsonDepthMax + 1)));
  EXPECT_FALSE(Body::parse(nested(1'000'000)));
}

TEST(RequestBody, NumbersAreIntegersOf63Bits) {
  const auto body = Body::parse(
      R"({"a":9223372036854775807,"b":9223372036854775808,"c":1.0,"d":1e3,"e":-1,"f":"1","g":0})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->integer("a"), 9223372036854775807);
  EXPECT_EQ(body->integer("g"), 0);
  for (const auto* bad : {"b", "c", "d", "e", "f", "nothing"}) EXPECT_FALSE(body->integer(bad)) << bad;
}

TEST(RequestBody, AnyKeepsWhatWasWritten) {
  const auto body = Body::parse("{\"a\": { \"x\" : [ 1.50, \"a b\\\" c\" ] } }");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->any("a", 100), R"({"x":[1.50,"a b\" c"]})");
  EXPECT_FALSE(body->any("a", 5));
}

TEST(RequestBody, TextsAreDecodedAndBounded) {
  const auto body =
      Body::parse(R"({"a":"\u00e9\ud83d\ude00\\\/","b":"\ud83d","c":["x","y"],"d":[1],"e":"\u0000"})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->text("a", 4), "\xc3\xa9\xf0\x9f\x98\x80\\/");
  EXPECT_FALSE(body->text("a", 3));
  EXPECT_FALSE(body->text("b", 9)) << "half of a surrogate pair is no text";
  EXPECT_EQ(body->texts("c", 2, 1), (std::vector<std::string>{"x", "y"}));
  EXPECT_FALSE(body->texts("c", 1, 1));
  EXPECT_FALSE(body->texts("d", 2, 1));
  EXPECT_FALSE(body->id("e")) << "an id has no control characters";
  EXPECT_FALSE(body->only("a", "b", "c", "d"));
  EXPECT_TRUE(body->only("a", "b", "c", "d", "e"));
}

TEST(Money, IsExact) {
  EXPECT_EQ(money("usd", "0.0125"), 12'500);
  EXPECT_EQ(money("usd", "999999999.999999"), 999'999'999'999'999);
  for (const auto* bad : {"", ".", "1.", ".5", "-1", "+1", "1e3", "1.0000000", "1234567890", " 1", "1,5"})
    EXPECT_FALSE(money("usd", bad)) << bad;
  for (const auto micros : {0LL, 1LL, 12'500LL, 1'000'000LL, 5'000'010LL})
    EXPECT_EQ(money("usd", money_text(micros)), micros);
}

TEST(Routes, SayWhatIsWrong) {
  const auto status = [](std::string_view method, std::string_view target, bool by_operator = false) {
    const auto route = find_route(method, target, by_operator);
    return route ? 200 : route.error().status;
  };
  EXPECT_EQ(status("GET", "/v1/context"), 200);
  EXPECT_EQ(status("GET", "/v1/conte%78t"), 200);
  EXPECT_EQ(status("GET", "/v1/context?"), 200);
  EXPECT_EQ(status("GET", "/v1/context?x=1"), 400);
  EXPECT_EQ(status("GET", "/v1/context?="), 400);
  EXPECT_EQ(status("GET", "/v1/context%zz"), 400);
  EXPECT_EQ(status("GET", "/v1/question?key=%2"), 400);
  EXPECT_EQ(status("GET", "/v1/question?key=a+b"), 400);
  EXPECT_EQ(status("GET", "/v1/question?key=a&key=a"), 400);
  EXPECT_EQ(status("GET", "/v1/question"), 400);
  EXPECT_EQ(status("GET", "/v1/question?key=a%20b"), 200);
  for (const auto* unknown : {"", "/", "/v1", "/v1/context/", "//v1/context", "/v2/context", "/v1/contexts",
                              "*", "http://pawl/v1/context"})
    EXPECT_EQ(status("GET", unknown), 404) << unknown;
  for (const auto* method : {"HEAD", "OPTIONS", "get", "PATCH", ""})
    EXPECT_EQ(status(method, "/v1/context"), 405) << method;
  EXPECT_EQ(find_route("POST", "/v1/checkpoint", false).error().headers, "Allow: PUT, GET\r\n");
  EXPECT_EQ(status("POST", "/v1/answer"), 404);
  EXPECT_EQ(status("POST", "/v1/answer", true), 200);
}

}  // namespace
}  // namespace pawl::agent
