// Permissions that a person answers: what is asked, and what the agent hears.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/agent.h"
#include "support/acp_peer.h"

namespace pawl::agent::acp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kOptions[] =
    R"([{"optionId":"n","kind":"reject_once"},{"optionId":"a","kind":"allow_always"},{"optionId":"o","kind":"allow_once"}])";

class AcpPermission : public ::testing::Test {
 protected:
  AcpPermission() { prompt = agent.open(); }

  void request(const std::string& id, const std::string& call, const std::string& options = kOptions) {
    agent.say(R"({"jsonrpc":"2.0","id":)" + id +
              R"(,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":)" + call +
              R"(,"options":)" + options + "}}");
  }
  Json outcome(const std::string& id) {
    const Json answered = agent.next();
    EXPECT_EQ(answered["id"].dump(), id);
    return answered["result"]["outcome"];
  }
  Question question() {
    const auto all = agent.client.take_questions();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Question() : all.front();
  }
  static Json chosen(const std::string& option) { return {{"outcome", "selected"}, {"optionId", option}}; }

  Agent agent{{}, {}, true};
  Json prompt;
};

TEST_F(AcpPermission, IsWhatThePersonChose) {
  for (const auto& [choice, option] :
       {std::pair("allow_once", "o"), {"allow_always", "a"}, {"reject_once", "n"}}) {
    request("7", R"({"toolCallId":"c1","title":"make","rawInput":{"command":"make all"}})");
    EXPECT_TRUE(agent.next().is_null()) << "it waits";
    const auto asked = question();
    EXPECT_EQ(asked.text, R"(permission for make {"command":"make all"})");
    EXPECT_THAT(asked.choices, ElementsAre("allow_once", "allow_always", "reject_once"));
    EXPECT_THAT(asked.key, StartsWith("permission-"));
    agent.client.answer("permission-000000000000", choice);
    EXPECT_TRUE(agent.next().is_null()) << "the answer is for another question";
    agent.client.answer(asked.key, choice);
    EXPECT_EQ(outcome("7"), chosen(option));
    EXPECT_THAT(
        agent.client.take_lines(),
        HasSubstr("acp: waits for a person: make\nacp: " + std::string(choice) + ", says a person: make\n"));
  }
}

TEST_F(AcpPermission, TheSameRequestIsTheSameQuestion) {
  const auto key = [&](const std::string& call, const std::string& options = kOptions) {
    request("1", call, options);
    return question().key;
  };
  const auto first = key(R"({"toolCallId":"c1","title":"make","rawInput":{"a":1}})");
  EXPECT_EQ(key(R"({"toolCallId":"c2","title":"make","rawInput":{"a":1}})"), first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"make","rawInput":{"a":2}})"), first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"made","rawInput":{"a":1}})"), first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"make","content":[{"a":1}]})"), first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"make","rawInput":{"a":1}})",
                R"([{"optionId":"o","kind":"allow_once"}])"),
            first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"make"})"), key(R"({"toolCallId":"c2","title":"make"})"))
      << "a title alone says too little";
  const std::string many(10'000, 'x');
  EXPECT_NE(key(R"({"title":"make","rawInput":")" + many + R"(1"})"),
            key(R"({"title":"make","rawInput":")" + many + R"(2"})"));
}

TEST_F(AcpPermission, OneAnswerIsForAllThatAskTheSame) {
  request("1", R"({"title":"make","rawInput":1})");
  request("2", R"({"title":"make","rawInput":1})");
  request("3", R"({"title":"make","rawInput":2})");
  const auto asked = agent.client.take_questions();
  ASSERT_EQ(asked.size(), 3U);
  agent.client.answer(asked[0].key, "allow_once");
  EXPECT_EQ(outcome("1"), chosen("o"));
  EXPECT_EQ(outcome("2"), chosen("o"));
  EXPECT_TRUE(agent.next().is_null());
}

TEST_F(AcpPermission, HasTheTitleOfTheCallThatWasToldBefore) {
  agent.update(R"({"sessionUpdate":"tool_call","toolCallId":"c1","title":"run the tests","kind":"execute"})");
  request("1", R"({"toolCallId":"c1"})");
  EXPECT_THAT(question().text, HasSubstr("run the tests"));
  request("2", R"({"toolCallId":"c2"})");
  EXPECT_EQ(question().text, "permission for a tool call");
}

TEST_F(AcpPermission, ATextIsWholeOrLeftOut) {
  const std::string title(7'990, 't'), details(9'000, 'd');
  request("1", R"({"title":"make","rawInput":")" + details + "\"}");
  EXPECT_EQ(question().text, "permission for make (its details are too long for a question)");
  request("2", R"({"title":")" + title + "\"}");
  EXPECT_THAT(question().text, StartsWith("permission for a tool call whose title is too long"));
}

TEST_F(AcpPermission, IsRejectedWhenNoPersonCanBeAsked) {
  request("1", R"({"title":"make"})");
  agent.client.reject(question().key, "the disk is full");
  EXPECT_EQ(outcome("1"), chosen("n"));
  request("2", R"({"title":"make"})", R"([{"optionId":"o","kind":"allow_once"}])");
  agent.client.reject(question().key, "the disk is full");
  EXPECT_EQ(outcome("2"), (Json{{"outcome", "cancelled"}}));
  EXPECT_THAT(agent.client.take_lines(),
              HasSubstr("rejected, since no person can be asked (the disk is full): make"));
}

TEST_F(AcpPermission, IsNoQuestionWithoutAKnownOption) {
  for (const auto* options :
       {"[]", "7", R"([{"optionId":"o","kind":"perhaps"}])", R"([{"kind":"allow_once"}])"}) {
    request("1", R"({"title":"make"})", options);
    EXPECT_EQ(outcome("1"), (Json{{"outcome", "cancelled"}})) << options;
    EXPECT_THAT(agent.client.take_questions(), IsEmpty());
  }
}

TEST_F(AcpPermission, IsCancelledWithTheTurn) {
  request("1", R"({"title":"make"})");
  const auto asked = question();
  agent.client.cancel();
  EXPECT_EQ(outcome("1"), (Json{{"outcome", "cancelled"}}));
  EXPECT_EQ(agent.next()["method"], "session/cancel");
  agent.client.answer(asked.key, "allow_once");
  EXPECT_TRUE(agent.next().is_null()) << "a request has one answer";
  request("2", R"({"title":"make"})");
  EXPECT_EQ(outcome("2"), (Json{{"outcome", "cancelled"}}));
}

TEST_F(AcpPermission, MoreThanAPersonMayHaveAreRejected) {
  for (std::int64_t i = 0; i < kQuestionsMax; ++i)
    request(std::to_string(i), R"({"title":"make","rawInput":)" + std::to_string(i) + "}");
  EXPECT_EQ(agent.client.take_questions().size(), static_cast<std::size_t>(kQuestionsMax));
  request("100", R"({"title":"make","rawInput":100})");
  EXPECT_EQ(outcome("100"), chosen("n"));
  EXPECT_THAT(agent.client.take_questions(), IsEmpty());
}

}  // namespace
}  // namespace pawl::agent::acp
