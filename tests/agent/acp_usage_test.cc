// The usage that a client of the Agent Client Protocol hears of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "support/acp_peer.h"

namespace pawl::agent::acp {
namespace {

using ::testing::ElementsAre;

TEST(AcpClient, UsageIsReadWhereAgentsHaveIt) {
  Agent turn;
  turn.end(
      turn.open(R"({"sessionId":"s1","models":{"currentModelId":"large"}})"),
      R"(,"usage":{"totalTokens":1170,"inputTokens":100,"outputTokens":50,"thoughtTokens":7,"cachedReadTokens":1000,"cachedWriteTokens":13})");
  EXPECT_THAT(
      turn.usage(),
      ElementsAre(Usage{.model = "large", .input_tokens = 113, .output_tokens = 57, .cached_tokens = 1000}));
  Agent gemini;
  gemini.end(
      gemini.open(),
      R"(,"_meta":{"quota":{"token_count":{"input_tokens":30,"output_tokens":7},"model_usage":[)"
      R"({"model":"pro","token_count":{"input_tokens":20,"output_tokens":5}},{"model":"flash","token_count":{"input_tokens":10,"output_tokens":2}}]}})");
  EXPECT_THAT(gemini.usage(), ElementsAre(Usage{.model = "pro", .input_tokens = 20, .output_tokens = 5},
                                          Usage{.model = "flash", .input_tokens = 10, .output_tokens = 2}));
  Agent qwen;
  const Json prompt = qwen.open(
      R"({"sessionId":"s1","configOptions":[{"id":"m","category":"model","currentValue":"coder"}]})");
  for (int call = 0; call < 2; ++call)
    qwen.update(
        R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":100,"outputTokens":10,"cachedReadTokens":40}}})");
  qwen.end(prompt);
  EXPECT_THAT(
      qwen.usage(),
      ElementsAre(Usage{.model = "coder", .input_tokens = 120, .output_tokens = 20, .cached_tokens = 80}));
  Agent silent;
  silent.end(silent.open());
  EXPECT_TRUE(silent.usage().empty());
}

// Whether the usage is told as a part of what was used.
bool is_told_as_part(Agent& agent) { return std::ranges::any_of(agent.usage(), is_unknown); }

constexpr const char* kNoCounts[] = {
    "1234567.0", "100000000000000000000", "\"77\"", "-1", "1e3", "true", "{}", "[7]"};

TEST(AcpClient, UsageThatCanNotBeReadIsAPart) {
  for (const std::string no_count : kNoCounts) {
    for (const std::string name :
         {"inputTokens", "outputTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens"}) {
      Agent agent;
      agent.end(agent.open(), R"(,"usage":{"other":5,")" + name + "\":" + no_count + "}");
      EXPECT_TRUE(is_told_as_part(agent)) << name << no_count;
    }
    for (const std::string name : {"input_tokens", "output_tokens"}) {
      Agent gemini;
      gemini.end(gemini.open(), R"(,"_meta":{"quota":{"model_usage":[{"model":"pro","token_count":{"x":1,")" +
                                    name + "\":" + no_count + "}}]}}");
      EXPECT_TRUE(is_told_as_part(gemini)) << name << no_count;
    }
    for (const std::string name : {"inputTokens", "outputTokens", "cachedReadTokens"}) {
      Agent qwen;
      const Json prompt = qwen.open();
      for (const auto& count : {no_count, std::string("5")})
        qwen.update(
            R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{")" +
            name + "\":" + count + "}}}");
      qwen.end(prompt);
      EXPECT_TRUE(is_told_as_part(qwen)) << name << no_count;
    }
  }
  Agent silent;
  silent.end(silent.open(),
             R"(,"_meta":{"quota":{"model_usage":[{"model":"pro"},{"token_count":{"input_tokens":1}}]}})");
  EXPECT_TRUE(is_told_as_part(silent)) << "an entry without its tokens";
}

TEST(AcpClient, UsageThatIsNotToldIsNoPart) {
  Agent agent;
  agent.end(agent.open(), R"(,"usage":{"inputTokens":9,"outputTokens":0,"thoughtTokens":null})");
  EXPECT_FALSE(is_told_as_part(agent));
  Agent both;
  const Json prompt = both.open();
  both.update(
      R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":"x"}}})");
  both.end(prompt, R"(,"usage":{"inputTokens":9,"outputTokens":1})");
  EXPECT_FALSE(is_told_as_part(both)) << "the end of the turn says all";
}

TEST(AcpClient, ATurnOfSeveralCallsMayTellTheLastOneAlone) {
  for (const auto& [input, has_tool, is_part] :
       {std::tuple(900, true, true), std::tuple(901, true, false), std::tuple(900, false, false)}) {
    Agent agent;
    const Json prompt = agent.open();
    if (has_tool) agent.update(R"({"sessionUpdate":"tool_call","toolCallId":"c1","title":"make"})");
    agent.update(R"({"sessionUpdate":"usage_update","used":1000,"size":9000})");
    agent.end(prompt, R"(,"usage":{"cachedReadTokens":100,"outputTokens":5,"inputTokens":)" +
                          std::to_string(input) + "}");
    const auto used = agent.usage();
    EXPECT_EQ(std::ranges::count_if(used, is_unknown), is_part ? 1 : 0) << input << has_tool;
    EXPECT_EQ(used.front().input_tokens, input);
  }
}

TEST(AcpClient, TheCostIsThatOfThisExecution) {
  constexpr std::string_view kCost =
      R"({"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":0.0450009,"currency":"USD"}})";
  Agent agent({.id = "s1", .usd_micros = 20'000});
  agent.answer(agent.next(), kCapable);
  agent.answer(agent.next(), "null");
  const Json prompt = agent.next();
  agent.update(kCost);
  agent.update(R"({"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":9,"currency":"EUR"}})");
  agent.end(prompt);
  EXPECT_THAT(agent.usage(), ElementsAre(Usage{.model = "of the attempt", .usd_micros = 25'000}));
  EXPECT_EQ(agent.client.left().usd_micros, 45'000);
}

}  // namespace
}  // namespace pawl::agent::acp
