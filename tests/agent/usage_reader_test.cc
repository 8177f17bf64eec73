// Usage in the output of agent programs. The outputs were recorded at the places that the readers name.
#include "agent/usage_reader.h"

#include <gtest/gtest.h>

namespace pawl::agent {
namespace {

std::vector<Usage> read(std::string_view program, const std::string& printed) {
  ReadUsage* reader = usage_reader(program);
  EXPECT_NE(reader, nullptr);
  return reader == nullptr ? std::vector<Usage>() : reader(printed, "of the attempt");
}

constexpr char kResult[] =
    R"({"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":2,"result":"done",)"
    R"("total_cost_usd":1.3522174500000002,"usage":{"input_tokens":1,"server_tool_use":{"web_search_requests":0}},"modelUsage":{)"
    R"("claude-sonnet-4-5-20250929":{"inputTokens":278,"outputTokens":16670,"cacheReadInputTokens":2673999,)"
    R"("cacheCreationInputTokens":78213,"webSearchRequests":0,"costUSD":1.3463824500000001,"contextWindow":200000},)"
    R"("claude-haiku-4-5-20251001":{"inputTokens":765,"outputTokens":1014,"cacheReadInputTokens":0,)"
    R"("cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":0.005835,"contextWindow":200000}},)"
    R"("permission_denials":[],"uuid":"d3783f16-5c72-4c8f-af00-a09a77d8a332"})";

TEST(UsageReader, ClaudeCodeSaysWhatEachModelUsed) {
  const auto used = read("claude_code", "some words\n" + std::string(kResult) + "\n");
  ASSERT_EQ(used.size(), 2U);
  EXPECT_EQ(used[0], (Usage{.model = "claude-sonnet-4-5-20250929",
                            .input_tokens = 78491,
                            .output_tokens = 16670,
                            .cached_tokens = 2673999,
                            .usd_micros = 1346382}));
  EXPECT_EQ(used[1].usd_micros, 5835);
}

TEST(UsageReader, ClaudeCodesEventsBeforeItsResultAreNoUse) {
  const auto used =
      read("claude_code", R"({"type":"assistant","message":{"modelUsage":{"x":{"inputTokens":5}}}})"
                          "\n" +
                              std::string(kResult) + "\n" + kResult);
  EXPECT_EQ(used.size(), 4U) << "two programs, one after the other";
}

TEST(UsageReader, ClaudeCodeThatCalledNoModelUsedNothing) {
  const auto used = read("claude_code", R"({"type":"result","is_error":true,"modelUsage":{}})");
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0], (Usage{.model = "of the attempt", .usd_micros = 0}));
}

TEST(UsageReader, CodexSaysWhatAThreadUsed) {
  const auto used = read(
      "codex",
      R"({"type":"thread.started","thread_id":"0199"})"
      "\n"
      R"({"type":"turn.completed","usage":{"input_tokens":26549,"cached_input_tokens":22272,"output_tokens":1590}})"
      "\r\n");
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0], (Usage{.id = "0199",
                            .model = "of the attempt",
                            .input_tokens = 4277,
                            .output_tokens = 1590,
                            .cached_tokens = 22272}));
}

std::string started(const std::string& thread) {
  return R"({"type":"thread.started","thread_id":")" + thread + "\"}\n";
}

std::string turn(int input, int output) {
  return R"({"type":"turn.completed","usage":{"input_tokens":)" + std::to_string(input) +
         R"(,"output_tokens":)" + std::to_string(output) + "}}\n";
}

// Each turn reports the usage of its thread so far (github.com/gitmoot/gitmoot/issues/661 has these numbers).
TEST(UsageReader, CodexsTurnsOfOneThreadCountOnce) {
  const auto used = read("codex", started("a") + turn(16504, 20) + turn(85681, 40) + started("b") +
                                      turn(7, 1) + started("a") + turn(103779, 45));
  ASSERT_EQ(used.size(), 2U);
  EXPECT_EQ(used[0],
            (Usage{.id = "a", .model = "of the attempt", .input_tokens = 103779, .output_tokens = 45}));
  EXPECT_EQ(used[1], (Usage{.id = "b", .model = "of the attempt", .input_tokens = 7, .output_tokens = 1}));
}

TEST(UsageReader, CodexsTurnsWhoseThreadsBeginningIsLostAreOfOne) {
  const auto used = read("codex", turn(5, 1) + turn(9, 2) + started("a") + turn(3, 1));
  ASSERT_EQ(used.size(), 2U);
  EXPECT_EQ(used[0].input_tokens, 9);
  EXPECT_EQ(used[1].input_tokens, 3);
}

TEST(UsageReader, GeminiCliSaysItOnManyLines) {
  const auto used = read("gemini_cli", R"(Loaded cached credentials.
{
  "response": "a brace } and a\n{ line",
  "stats": {
    "models": {
      "gemini-2.5-pro": {
        "api": {
          "totalRequests": 2
        },
        "tokens": {
          "prompt": 24939,
          "candidates": 20,
          "total": 25113,
          "cached": 21263,
          "thoughts": 154,
          "tool": 0
        }
      }
    }
  }
}
)");
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(
      used[0],
      (Usage{.model = "gemini-2.5-pro", .input_tokens = 3676, .output_tokens = 174, .cached_tokens = 21263}));
}

TEST(UsageReader, QwenCodeSaysItAtTheEndOfAList) {
  const std::string stats =
      R"("stats":{"models":{"qwen3-coder-plus":{"api":{"totalRequests":4},"tokens":{"prompt":900,"candidates":30,)"
      R"("total":930,"cached":100,"thoughts":5,"tool":0}}}})";
  const std::string begin =
      R"([{"type":"system"},{"type":"user","text":"{\"type\":\"result\",\"usage\":7}"},)";
  const auto result = [](const std::string& members) {
    return R"({"type":"result","subtype":"success","usage":{"input_tokens":900,"output_tokens":30,)"
           R"("cache_read_input_tokens":100,"total_tokens":930},"permission_denials":[])" +
           members + "}";
  };
  const Usage by_model{
      .model = "qwen3-coder-plus", .input_tokens = 800, .output_tokens = 35, .cached_tokens = 100};
  const std::string list = "Warning: words\n" + begin + result("," + stats) + "]\n";
  EXPECT_EQ(read("qwen_code", list), std::vector{by_model});
  EXPECT_EQ(read("qwen_code", list.substr(40)), std::vector{by_model}) << "its beginning is not read";
  EXPECT_EQ(read("qwen_code", result("," + stats) + "\r\n"), std::vector{by_model}) << "stream-json";
  const auto named = read("qwen_code", result(R"(,"session_id":"s1",)" + stats));
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].id, "s1:qwen3-coder-plus");
  EXPECT_EQ(read("qwen_code", begin + result("") + "]"),
            std::vector{(Usage{
                .model = "of the attempt", .input_tokens = 800, .output_tokens = 30, .cached_tokens = 100})});
}

std::string step_of_opencode(int input, const std::string& cost) {
  return R"({"type":"step_finish","timestamp":1,"sessionID":"ses_1","part":{"type":"step-finish","reason":"stop","cost":)" +
         cost + R"(,"tokens":{"total":10,"input":)" + std::to_string(input) +
         R"(,"output":3,"reasoning":2,"cache":{"write":5,"read":7}}}})"
         "\n";
}

TEST(UsageReader, OpencodesStepsAreAddedUp) {
  std::string printed = R"({"type":"text","part":{"text":"{\"type\":\"step_finish\"}"}})"
                        "\n";
  for (int i = 0; i < 150; ++i) printed += step_of_opencode(100, "0.0001");
  EXPECT_EQ(read("opencode", printed), std::vector{(Usage{.model = "of the attempt",
                                                          .input_tokens = 15750,
                                                          .output_tokens = 750,
                                                          .cached_tokens = 1050,
                                                          .usd_micros = 15000})});
  EXPECT_EQ(read("opencode", step_of_opencode(1, "0"))[0].usd_micros, std::nullopt)
      << "a model without a price";
  EXPECT_EQ(read("opencode", step_of_opencode(1, "0.5") + step_of_opencode(1, "0"))[0].usd_micros,
            std::nullopt);
}

std::string message_of_pi(const std::string& model, int input) {
  return R"({"role":"assistant","content":[{"type":"text","text":"a \"]\" and [{"}],"model":")" + model +
         R"(","usage":{"input":)" + std::to_string(input) +
         R"(,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":9,"cost":{"input":0,"total":0.001}}})";
}

TEST(UsageReader, PisMessagesCountOnce) {
  const std::string first = message_of_pi("m", 10), second = message_of_pi("m", 20),
                    other = message_of_pi("n", 1);
  const auto end = [](const std::string& message) {
    return R"({"type":"message_end","message":)" + message + "}\n";
  };
  const std::string user = R"({"role":"user","content":"x","usage":{"input":99}})";
  const std::string whole = end(first) + R"({"type":"turn_end","message":)" + first + "}\n" + end(second) +
                            end(other) + R"({"type":"agent_end","messages":[)" + user + "," + first + "," +
                            second + "," + other + "]}\n";
  const std::vector<Usage> used = {
      {.model = "m", .input_tokens = 38, .output_tokens = 4, .cached_tokens = 6, .usd_micros = 2000},
      {.model = "n", .input_tokens = 5, .output_tokens = 2, .cached_tokens = 3, .usd_micros = 1000}};
  EXPECT_EQ(read("pi", whole), used);
  EXPECT_EQ(read("pi", whole.substr(whole.find("{\"type\":\"agent_end\""))), used) << "only the end is read";
  EXPECT_EQ(read("pi", end(first) + end(second) + end(other)), used) << "it was ended";
  const auto again = read("pi", whole + end(other));
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[1].input_tokens, 10);
}

TEST(UsageReader, WhatIsNoneOrIsBrokenIsNoUse) {
  const std::string deep = R"({"type":"result","modelUsage":)" + std::string(10000, '[') + "}";
  for (const char* program : {"claude_code", "codex", "gemini_cli", "opencode", "pi", "qwen_code"})
    for (const std::string& printed :
         {std::string(), std::string("}\n}\n{"), deep, std::string("{\n"), std::string(100000, '{') + "}",
          std::string(R"({"type":"result","modelUsage":[1]})"),
          std::string(R"({"type":"turn.completed","usage":7})"),
          std::string(R"({"type":"step_finish","part":{"tokens":7}})"),
          std::string(
              R"({"type":"agent_end","messages":[[{"role":"assistant","usage":{"input":1}}],7,"x"]})"),
          std::string(R"({"type":"agent_end","messages":{"role":"assistant"}})"),
          std::string(R"([{"type":"result","usage":7}])"), std::string(R"({"type":"result")"),
          std::string(R"({"stats":{"models":{"m":{"tokens":null}}}})")})
      EXPECT_TRUE(read(program, printed).empty()) << program << printed.substr(0, 60);
  EXPECT_EQ(usage_reader("nobody"), nullptr);
}

TEST(UsageReader, NumbersThatNobodyCanHaveUsedCountAsNone) {
  const auto used = read(
      "claude_code",
      R"({"type":"result","modelUsage":{"m":{"inputTokens":-5,"outputTokens":1.5,"cacheReadInputTokens":1e9,)"
      R"("cacheCreationInputTokens":9223372036854775807,"costUSD":-1}}})");
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0], (Usage{.model = "m", .input_tokens = 9223372036854775807}));
  for (const auto& [text, micros] :
       std::vector<std::pair<std::string, std::optional<std::int64_t>>>{{"0", 0},
                                                                        {"1.5e-7", 0},
                                                                        {"12.0000019", 12000001},
                                                                        {"1e3", std::nullopt},
                                                                        {"-2e-7", std::nullopt},
                                                                        {"null", std::nullopt}}) {
    const auto priced =
        read("claude_code", R"({"type":"result","modelUsage":{"m":{"costUSD":)" + text + "}}}");
    ASSERT_EQ(priced.size(), 1U);
    EXPECT_EQ(priced[0].usd_micros, micros) << text;
  }
}

TEST(UsageReader, ANameThatNoModelHasIsNone) {
  std::string many, used = R"({"inputTokens":1})";
  for (int i = 0; i < 1000; ++i) many += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":" + used;
  for (const std::string& models :
       {many, "\"\":" + used, R"("\ud800":)" + used, "\"" + std::string(201, 'm') + "\":" + used})
    EXPECT_TRUE(read("claude_code", R"({"type":"result","modelUsage":{)" + models + "}}").empty())
        << models.substr(0, 60);
}

TEST(UsageReader, OnlyTheLastAreRead) {
  std::string printed;
  for (int i = 0; i < 150; ++i)
    printed += R"({"type":"result","modelUsage":{"m":{"outputTokens":)" + std::to_string(i) + "}}}\n";
  const auto used = read("claude_code", printed);
  ASSERT_EQ(used.size(), kUsagesMax);
  EXPECT_EQ(used.front().output_tokens, 50);
  EXPECT_EQ(used.back().output_tokens, 149);
}

}  // namespace
}  // namespace pawl::agent
