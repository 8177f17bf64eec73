#include "base/json.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(CanonicalJson, SortsKeysAndWritesNoSpaces) {
  const Json value = {{"b", 1}, {"a", {{"z", true}, {"y", nullptr}}}, {"c", Json::array({1, "x"})}};
  EXPECT_EQ(canonical(value), R"({"a":{"y":null,"z":true},"b":1,"c":[1,"x"]})");
}

TEST(CanonicalJson, EmptyContainersAndExtremeIntegers) {
  EXPECT_EQ(canonical(Json::object()), "{}");
  EXPECT_EQ(canonical(Json::array()), "[]");
  EXPECT_EQ(canonical(Json(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(canonical(Json(UINT64_MAX)), "18446744073709551615");
}

TEST(CanonicalJson, EscapesWhatItMustAndNothingElse) {
  EXPECT_EQ(canonical(Json("\"\\\b\f\n\r\t\x01/é\x7f")), "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001/é\x7f\"");
}

TEST(CanonicalJson, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  const std::string bad[] = {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
  for (const auto& text : bad) {
    const std::string line = canonical(Json(text));
    EXPECT_NE(line.find("\xEF\xBF\xBD"), std::string::npos) << to_string(Json(line.size()));
    EXPECT_TRUE(parse_json(line).has_value());
  }
}

TEST(CanonicalJsonDeathTest, FloatsAreAProgrammersError) { EXPECT_DEATH(canonical(Json(1.5)), "integers"); }

TEST(ParseJson, RefusesDuplicateKeysAtAnyLevelButNotInSiblings) {
  EXPECT_EQ(parse_json(R"({"a":1,"a":2})").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(parse_json(R"({"x":{"a":1,"b":2,"a":3}})").error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(parse_json(R"({"x":{"a":1},"y":{"a":1},"z":[{"a":1},{"a":2}]})").has_value());
}

TEST(ParseJson, RefusesWhatIsTooDeepWithoutOverflowing) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(parse_json(deep).error().kind, ErrorKind::kInvalid);
  std::string allowed = std::string(kJsonDepthMax, '[') + std::string(kJsonDepthMax, ']');
  EXPECT_TRUE(parse_json(allowed).has_value());
  EXPECT_FALSE(parse_json("[" + allowed + "]").has_value());
}

TEST(ParseJson, RefusesNumbersThatAreNoIntegers) {
  for (const char* text :
       {"1.5", "-0.0", "1e5", "56e7044", "-1E999", "123456789012345678901234567890", "[1,2.0]"}) {
    const auto parsed = parse_json(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid) << text;
  }
  EXPECT_EQ(canonical(*parse_json("[18446744073709551615,-9223372036854775808]")),
            "[18446744073709551615,-9223372036854775808]");
}

TEST(JsonFields, AreEmptyWhenTheyAreNotThereOrSomethingElse) {
  const Json object = {{"text", "a"}, {"number", 7}, {"list", {1}}};
  EXPECT_EQ(text_in(object, "text"), "a");
  EXPECT_EQ(integer_in(object, "number"), 7);
  for (const char* key : {"list", "none"}) {
    EXPECT_EQ(text_in(object, key), "");
    EXPECT_EQ(integer_in(object, key), 0);
  }
  EXPECT_EQ(text_in(object, "number"), "");
  EXPECT_EQ(integer_in(Json::array({1}), "number"), 0);
  EXPECT_EQ(text_in(Json(nullptr), "text"), "");
}

TEST(ParseJson, NamesWhereItStopped) {
  const auto failed = parse_json("{\"a\":}");
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().column, 6);
}

TEST(Utf8, PrefixEndsOnACharacter) {
  EXPECT_EQ(utf8_prefix("aé", 2), "a");
  EXPECT_EQ(utf8_prefix("aé", 3), "aé");
  EXPECT_EQ(utf8_prefix("€", 2), "");
}

TEST(Utf8, ValidTextIsKeptByteForByte) {
  const std::string text = "plain é € 😀";
  EXPECT_EQ(valid_utf8(text), text);
  EXPECT_EQ(valid_utf8("a\xffz"), "a\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace pawl
