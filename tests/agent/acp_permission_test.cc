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
    R"([{"optionId":"n","kind":"reject_once"},{"optionId":"a","kind":"allow_always"},{"optionId":"o","kind":"allow_once","name":"Yes"}])";

std::string requested(const std::string& id, const std::string& call, const std::string& options) {
  return R"({"jsonrpc":"2.0","id":)" + id +
         R"(,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":)" + call +
         R"(,"options":)" + options + "}}";
}

class AcpPermission : public ::testing::Test {
 protected:
  AcpPermission() { prompt = agent.open(); }

  void request(const std::string& id, const std::string& call, const std::string& options = kOptions) {
    agent.say(requested(id, call, options));
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
  int calls = 0;
  for (const auto& [choice, option] :
       {std::pair("allow_once", "o"), {"allow_always", "a"}, {"reject_once", "n"}}) {
    const std::string number = std::to_string(++calls);
    request("7", R"({"toolCallId":"c1","title":"make","rawInput":{"target":)" + number + "}}");
    EXPECT_TRUE(agent.next().is_null()) << "it waits";
    const auto asked = question();
    EXPECT_EQ(asked.text, R"(permission for make {"target":)" + number + "} (allow_once: Yes)");
    EXPECT_THAT(asked.choices, ElementsAre("reject_once", "allow_always", "allow_once"));
    EXPECT_THAT(asked.key, StartsWith("permission-"));
    agent.client.answer("permission-000000000000", choice);
    EXPECT_TRUE(agent.next().is_null()) << "the answer is for another question";
    agent.client.answer(asked.key, choice);
    EXPECT_EQ(outcome("7"), chosen(option));
    EXPECT_EQ(agent.client.take_lines(), R"(acp: waits for a person: make {"target":)" + number +
                                             "}\nacp: " + choice + ", says a person: make\n");
  }
}

TEST_F(AcpPermission, TheSameRequestHasTheSameKeyInALaterExecution) {
  const auto key = [](const std::string& call, const std::string& options = kOptions) {
    Agent later{{}, {}, true};
    later.open();
    later.say(requested("1", call, options));
    return later.client.take_questions().at(0).key;
  };
  const auto first = key(R"({"toolCallId":"c1","title":"make","rawInput":{"a":1}})");
  EXPECT_EQ(key(R"({"toolCallId":"c2","title":"make","rawInput":{"a":1}})"), first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"make","rawInput":{"a":2}})"), first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"made","rawInput":{"a":1}})"), first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"make","content":[{"a":1}]})"), first);
  EXPECT_NE(key(R"({"toolCallId":"c1","title":"make","rawInput":{"a":1}})",
                R"([{"optionId":"o","kind":"allow_once"}])"),
            first);
  // A title alone says too little, and so do these.
  for (const std::string empty :
       {R"("x":1)", R"("rawInput":{})", R"("rawInput":null,"content":[])", R"("rawInput":"")"})
    EXPECT_NE(key(R"({"toolCallId":"c1","title":"make",)" + empty + "}"),
              key(R"({"toolCallId":"c2","title":"make",)" + empty + "}"))
        << empty;
  for (const std::size_t size : {10'000U, 100'000U}) {
    const std::string many(size, 'x');
    EXPECT_NE(key(R"({"title":"make","rawInput":")" + many + R"(1"})"),
              key(R"({"title":"make","rawInput":")" + many + R"(2"})"));
  }
}

TEST_F(AcpPermission, OneAnswerIsForOneOfTwoLikeRequests) {
  for (const auto* id : {"1", "2", "3"}) request(id, R"({"title":"publish","rawInput":{"a":1}})");
  const auto asked = agent.client.take_questions();
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_EQ(asked[1].key, asked[0].key + "-2");
  EXPECT_EQ(asked[2].key, asked[0].key + "-3");
  agent.client.answer(asked[1].key, "reject_once");
  EXPECT_EQ(outcome("2"), chosen("n"));
  agent.client.answer(asked[0].key, "allow_once");
  EXPECT_EQ(outcome("1"), chosen("o"));
  EXPECT_TRUE(agent.next().is_null());
}

TEST_F(AcpPermission, HasWhatWasToldOfTheCallBefore) {
  agent.update(
      R"({"sessionUpdate":"tool_call","toolCallId":"c1","title":"run","kind":"execute","status":"pending"})");
  agent.update(R"({"sessionUpdate":"tool_call_update","toolCallId":"c1","rawInput":{"command":"ls"}})");
  request("1", R"({"toolCallId":"c1","rawInput":{}})");
  const auto first = question();
  EXPECT_THAT(first.text, StartsWith(R"(permission for run {"command":"ls"})"));
  agent.update(R"({"sessionUpdate":"tool_call_update","toolCallId":"c1","content":[{"type":"diff"}]})");
  request("2", R"({"toolCallId":"c1","title":"run it"})");
  EXPECT_THAT(question().text, StartsWith(R"(permission for run it {"command":"ls"} [{"type":"diff"}])"));
  agent.update(R"({"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"})");
  request("3", R"({"toolCallId":"c1"})");
  EXPECT_THAT(question().text, StartsWith("permission for a tool call (")) << "that one is over";
  request("4", "7");
  EXPECT_THAT(question().text, StartsWith("permission for a tool call ("));
}

TEST_F(AcpPermission, OfOptionsOfOneKindEachCanBeChosen) {
  const std::string options =
      R"([{"optionId":"server","kind":"allow_always","name":"All tools"},{"optionId":"tool","kind":"allow_always","name":"This tool"}])";
  request("1", R"({"title":"make"})", options);
  const auto asked = question();
  EXPECT_THAT(asked.choices, ElementsAre("allow_always", "allow_always_2"));
  EXPECT_EQ(asked.text, "permission for make (allow_always: All tools; allow_always_2: This tool)");
  agent.client.answer(asked.key, "allow_always_2");
  EXPECT_EQ(outcome("1"), chosen("tool"));
  std::string many;
  for (int i = 0; i < 20; ++i)
    many += (i == 0 ? "[" : ",") + std::string(R"({"optionId":"o","kind":"allow_once","name":")") +
            std::string(60, 'x') + "\"}";
  request("2", R"({"title":"make"})", many + "]");
  EXPECT_EQ(question().choices.size(), 8U);
}

TEST_F(AcpPermission, ATextIsWholeOrLeftOutAndTheLogHasIt) {
  const std::string title(7'990, 't'), details(9'000, 'd');
  request("1", R"({"title":"make","rawInput":")" + details + "\"}");
  EXPECT_THAT(
      question().text,
      StartsWith("permission for make (its details are too long for a question: `pawl logs` has them)"));
  EXPECT_THAT(agent.client.take_lines(), HasSubstr("acp: waits for a person: make \"" + details + "\"\n"));
  request("2", R"({"title":")" + title + "\"}");
  EXPECT_THAT(question().text, StartsWith("permission for a tool call whose title is too long"));
  EXPECT_THAT(agent.client.take_lines(), HasSubstr("acp: waits for a person: " + title + "\n"));
}

TEST_F(AcpPermission, IsRejectedWhenNoPersonCanBeAsked) {
  const auto rejected = [&](const std::string& id, const std::string& options) {
    request(id, R"({"title":"make"})", options);
    agent.client.reject(question().key, "the disk is full");
    return outcome(id);
  };
  EXPECT_EQ(rejected("1", kOptions), chosen("n"));
  EXPECT_EQ(
      rejected("2", R"([{"optionId":"a","kind":"reject_always"},{"optionId":"r","kind":"reject_once"}])"),
      chosen("r"))
      << "not for good";
  EXPECT_EQ(rejected("3", R"([{"optionId":"a","kind":"reject_always"}])"), chosen("a"));
  EXPECT_EQ(rejected("4", R"([{"optionId":"o","kind":"allow_once"}])"), (Json{{"outcome", "cancelled"}}));
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
