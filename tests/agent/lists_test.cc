// Pages of lists, without sockets.
#include "support/api_fixture.h"

namespace pawl::agent {
namespace {

TEST_F(ApiTest, ListsEndBeforeTheyAreLarge) {
  const std::string result(900'000, 'x');
  for (int i = 0; i < 8; ++i) {
    const std::string key = "k" + std::to_string(i);
    ask("POST", "/v1/steps/begin", R"({"key":")" + key + R"(","kind":"pure","args_hash":"h"})");
    ASSERT_EQ(
        ask("POST", "/v1/steps/complete", R"({"key":")" + key + R"(","result":")" + result + R"("})").status,
        204);
  }
  std::string after;
  int seen = 0, pages = 0;
  for (bool more = true; more; ++pages) {
    const auto answer = ask("GET", "/v1/steps?limit=1000&after=" + after);
    EXPECT_LT(answer.body.size(), kAnswerBytesMax + (2 << 20));
    const auto page = json(answer);
    more = page["more"];
    seen += static_cast<int>(page["steps"].size());
    after = page["steps"].back()["key"];
  }
  EXPECT_EQ(seen, 8);
  EXPECT_EQ(pages, 2);
  EXPECT_EQ(json(ask("GET", "/v1/steps?limit=3"))["more"], true);
  EXPECT_EQ(json(ask("GET", "/v1/steps?limit=3&after=k4"))["more"], false);
}

TEST_F(ApiTest, ListsHavePages) {
  for (int i = 0; i < 5; ++i) ask("PUT", "/v1/checkpoint?id=a" + std::to_string(i), "x");
  const auto first = json(ask("GET", "/v1/checkpoints?limit=3"));
  EXPECT_EQ(first["checkpoints"].size(), 3U);
  EXPECT_EQ(first["more"], true);
  const std::int64_t seq = first["checkpoints"].back()["seq"];
  const auto rest = json(ask("GET", "/v1/checkpoints?limit=3&before=" + std::to_string(seq)));
  EXPECT_EQ(rest["checkpoints"].size(), 2U);
  EXPECT_EQ(rest["more"], false);
  EXPECT_EQ(ask("DELETE", "/v1/checkpoints").status, 400);
  EXPECT_EQ(ask("GET", "/v1/checkpoints?id=a&prefix=a").status, 400);
  EXPECT_EQ(json(ask("DELETE", "/v1/checkpoints?id=a1"))["pruned"], 1);
  EXPECT_EQ(json(ask("DELETE", "/v1/checkpoints?prefix="))["pruned"], 4);
}

}  // namespace
}  // namespace pawl::agent
