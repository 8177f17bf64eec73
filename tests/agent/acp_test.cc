// The client of the Agent Client Protocol: what it sends, what people see, and how a turn ends. The agent is this
// test, and says whatever an attacker would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/acp_peer.h"

namespace pawl::agent::acp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AcpClient, OpensASessionAndGivesItTheGoal) {
  Agent agent;
  const Json hello = agent.next();
  EXPECT_EQ(hello["method"], "initialize");
  EXPECT_EQ(hello["params"]["protocolVersion"], 1);
  EXPECT_EQ(hello["params"]["clientCapabilities"],
            (Json{{"fs", {{"readTextFile", false}, {"writeTextFile", false}}}, {"terminal", false}}));
  agent.answer(hello, kCapable);
  const Json opened = agent.next();
  EXPECT_EQ(opened["method"], "session/new");
  EXPECT_EQ(opened["params"], (Json{{"cwd", "/work"}, {"mcpServers", Json::array()}}));
  agent.answer(opened, R"({"sessionId":"s1"})");
  EXPECT_EQ(agent.client.session(), "s1");
  const Json prompt = agent.next();
  EXPECT_EQ(prompt["method"], "session/prompt");
  EXPECT_EQ(prompt["params"]["sessionId"], "s1");
  EXPECT_EQ(prompt["params"]["prompt"], (Json{{{"type", "text"}, {"text", "fix it"}}}));
  EXPECT_FALSE(agent.client.ended());
  agent.end(prompt);
  EXPECT_EQ(agent.client.ended(), Ended::kDone);
  EXPECT_THAT(agent.client.last_line(), HasSubstr(R"("session":"s1","stop_reason":"end_turn")"));
}

TEST(AcpClient, GoesOnInASessionAsTheAgentCan) {
  for (const auto& [capabilities, method] : std::initializer_list<std::pair<std::string, std::string>>{
           {R"({"loadSession":true})", "session/load"},
           {R"({"loadSession":true,"sessionCapabilities":{"resume":{}}})", "session/resume"},
           {R"({"loadSession":false,"sessionCapabilities":{"resume":null}})", "session/new"},
           {R"({"loadSession":"true"})", "session/new"}}) {
    Agent agent({.id = "s0"});
    agent.answer(agent.next(), R"({"protocolVersion":1,"agentCapabilities":)" + capabilities + "}");
    const Json opened = agent.next();
    EXPECT_EQ(opened["method"], method) << capabilities;
    if (method == "session/new") continue;
    EXPECT_EQ(opened["params"]["sessionId"], "s0");
    agent.update(
        R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"said before\n"}})", "s0");
    agent.answer(opened, "null");
    EXPECT_THAT(agent.client.take_lines(), Not(HasSubstr("said before")));
    EXPECT_EQ(agent.next()["params"]["sessionId"], "s0");
  }
}

TEST(AcpClient, BeginsANewSessionWhenItsOwnIsGone) {
  Agent agent({.id = "s0", .usd_micros = 100});
  agent.answer(agent.next(), kCapable);
  agent.refuse(agent.next(), R"({"code":-32002,"message":"Resource not found"})");
  const Json opened = agent.next();
  EXPECT_EQ(opened["method"], "session/new");
  EXPECT_THAT(agent.client.take_lines(), HasSubstr("error -32002: Resource not found"));
  agent.answer(opened, R"({"sessionId":"s1"})");
  EXPECT_EQ(agent.client.left().id, "s1");
  EXPECT_EQ(agent.client.left().usd_micros, 0) << "the cost before was of another session";
}

TEST(AcpClient, LoadsWhereItCanNotResumeAfterAll) {
  Agent agent({.id = "s0"});
  agent.answer(
      agent.next(),
      R"({"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}})");
  agent.refuse(agent.next(), R"({"code":-32601,"message":"Method not found"})");
  const Json loaded = agent.next();
  EXPECT_EQ(loaded["method"], "session/load");
  agent.answer(loaded, "null");
  EXPECT_EQ(agent.next()["params"]["sessionId"], "s0");
}

TEST(AcpClient, ChoosesTheModelOfTheAttempt) {
  for (const auto* grouped :
       {R"([{"value":"small"},{"value":"large"}])",
        R"([{"name":"g","options":[{"value":"small"}]},{"options":[{"value":"large"}]}])"}) {
    Agent agent({}, "large");
    const Json set = agent.open(
        R"({"sessionId":"s1","configOptions":[{"id":"mode","category":"mode","options":[]},{"id":"m","category":"model","currentValue":"small","options":)" +
        std::string(grouped) + "}]}");
    EXPECT_EQ(set["method"], "session/set_config_option");
    EXPECT_EQ(set["params"], (Json{{"sessionId", "s1"}, {"configId", "m"}, {"value", "large"}}));
    agent.answer(set, R"({"configOptions":[]})");
    agent.end(agent.next(), R"(,"usage":{"inputTokens":1})");
    EXPECT_THAT(agent.usage(), ElementsAre(Usage{.model = "large", .input_tokens = 1}));
  }
  constexpr std::string_view kOlder =
      R"({"sessionId":"s1","models":{"currentModelId":"small","availableModels":[{"modelId":"small"},{"modelId":"large"}]}})";
  Agent older({}, "large");
  const Json set = older.open(kOlder);
  EXPECT_EQ(set["method"], "session/set_model");
  EXPECT_EQ(set["params"], (Json{{"sessionId", "s1"}, {"modelId", "large"}}));
  older.refuse(set, R"({"code":-32603,"message":"no"})");
  EXPECT_EQ(older.client.ended(), Ended::kFailed);
  Agent same({}, "small");
  EXPECT_EQ(same.open(kOlder)["method"], "session/prompt");
  Agent without({}, "large");
  EXPECT_EQ(without.open()["method"], "session/prompt");
  EXPECT_THAT(without.client.take_lines(), HasSubstr("offers no choice of a model"));
  Agent other({}, "huge");
  other.open(kOlder);
  EXPECT_EQ(other.client.ended(), Ended::kProtocol);
  EXPECT_THAT(other.client.take_lines(), HasSubstr("does not offer the model huge, but: small, large"));
}

TEST(AcpClient, NoModelButThatOfTheAttemptWorks) {
  const auto options = [](const std::string& current, const std::string& offered) {
    return R"({"sessionId":"s1","configOptions":[{"id":"model","currentValue":")" + current +
           R"(","options":[{"value":")" + offered + "\"}]}]}";
  };
  Agent stays({}, "large");
  const Json set = stays.open(options("small", "large"));
  EXPECT_EQ(set["params"], (Json{{"sessionId", "s1"}, {"configId", "model"}, {"value", "large"}}));
  stays.answer(set, options("small", "large"));
  EXPECT_EQ(stays.client.ended(), Ended::kProtocol);
  Agent takes({}, "large");
  takes.answer(takes.open(options("small", "large")), options("large", "large"));
  EXPECT_EQ(takes.next()["method"], "session/prompt");
  Agent many({}, "large");
  many.open(options("small", std::string(300 << 10, 'x')));
  EXPECT_EQ(many.client.ended(), Ended::kProtocol);
}

TEST(AcpClient, EachReasonToStopHasAnExitCode) {
  for (const auto& [reason, ended] :
       std::initializer_list<std::pair<const char*, Ended>>{{"end_turn", Ended::kDone},
                                                            {"max_tokens", Ended::kMaxTokens},
                                                            {"max_turn_requests", Ended::kMaxTurnRequests},
                                                            {"refusal", Ended::kRefusal},
                                                            {"cancelled", Ended::kCancelled},
                                                            {"of a later version", Ended::kProtocol},
                                                            {"", Ended::kProtocol}}) {
    Agent agent;
    const auto said = agent.end(agent.open(), "", reason);
    EXPECT_EQ(agent.client.ended(), ended) << reason;
    EXPECT_THAT(said, HasSubstr(ended == Ended::kDone ? "acp: done" : reason));
  }
}

TEST(AcpClient, AnErrorEndsTheTurnAndIsTold) {
  Agent login;
  login.answer(login.next(), kCapable);
  login.refuse(login.next(), R"({"code":-32000,"message":"Authentication required"})");
  EXPECT_EQ(login.client.ended(), Ended::kUnauthorized);
  EXPECT_THAT(login.client.take_lines(), HasSubstr("acp: error -32000: Authentication required"));
  Agent limited;
  limited.refuse(limited.open(),
                 R"({"code":-32603,"message":"Internal error","data":{"details":"429 try again"}})");
  EXPECT_EQ(limited.client.ended(), Ended::kFailed);
  EXPECT_THAT(limited.client.take_lines(),
              HasSubstr("acp: data of the error: {\"details\":\"429 try again\"}\nacp: error -32603: "
                        "Internal error: 429 try again\n"));
  Agent version;
  version.answer(version.next(), R"({"protocolVersion":2})");
  EXPECT_EQ(version.client.ended(), Ended::kProtocol);
  Agent nameless;
  nameless.answer(nameless.next(), kCapable);
  nameless.answer(nameless.next(), "{}");
  EXPECT_EQ(nameless.client.ended(), Ended::kProtocol);
  Agent gone;
  gone.open();
  gone.client.hear_end();
  EXPECT_EQ(gone.client.ended(), Ended::kLeft);
}

TEST(AcpClient, AllowsWhatTheAgentAsksFor) {
  const auto asked = [](Agent& agent, const std::string& options) {
    agent.say(
        R"({"jsonrpc":"2.0","id":"q\"1","method":"session/request_permission","params":{"sessionId":"s1","options":)" +
        options + "}}");
    const Json answered = agent.next();
    EXPECT_EQ(answered["id"], "q\"1");
    return answered["result"]["outcome"];
  };
  Agent agent;
  agent.open();
  EXPECT_EQ(
      asked(
          agent,
          R"([{"optionId":"n","kind":"reject_once"},{"optionId":"a","kind":"allow_always"},{"optionId":"o","kind":"allow_once"}])"),
      (Json{{"outcome", "selected"}, {"optionId", "o"}}))
      << "an agent may ask no more after the other one";
  EXPECT_EQ(asked(agent, R"([{"optionId":"n","kind":"reject_once"},{"optionId":"a","kind":"allow_always"}])"),
            (Json{{"outcome", "selected"}, {"optionId", "a"}}));
  EXPECT_EQ(
      asked(agent, R"([{"optionId":"o","kind":"allow_once","name":"Yes"}],"toolCall":{"title":"make"})"),
      (Json{{"outcome", "selected"}, {"optionId", "o"}}));
  for (const auto* nothing : {R"([{"optionId":"n","kind":"reject_always"}])", "[]", "7", R"([7,"x"])"})
    EXPECT_EQ(asked(agent, nothing), (Json{{"outcome", "cancelled"}})) << nothing;
  EXPECT_EQ(asked(agent, "[{\"optionId\":\"o\",\"kind\":\"allow_once\",\"name\":\"" +
                             std::string(100'000, 'x') + "\"}]"),
            (Json{{"outcome", "cancelled"}}));
  EXPECT_THAT(agent.client.take_lines(), HasSubstr("acp: allowed: make\n"));
}

TEST(AcpClient, OffersNothingElse) {
  Agent agent;
  agent.open();
  for (const auto* method : {"fs/read_text_file", "terminal/create", "elicitation/create", "any"}) {
    agent.say(R"({"jsonrpc":"2.0","id":7,"method":")" + std::string(method) + R"(","params":{}})");
    const Json answered = agent.next();
    EXPECT_EQ(answered["id"], 7);
    EXPECT_EQ(answered["error"]["code"], -32601);
  }
  agent.say(R"({"jsonrpc":"2.0","method":"any/notification","params":{}})");
  EXPECT_TRUE(agent.next().is_null());
}

TEST(AcpClient, ARequestThatCanNotBeReadIsAnswered) {
  const std::string too_long = "\"" + std::string(300, 'x') + "\"";
  for (const auto& [id, method, answered] :
       std::initializer_list<std::array<std::string, 3>>{{too_long, "\"session/request_permission\"", "null"},
                                                         {"7", too_long, "7"},
                                                         {"7", "8", "7"},
                                                         {too_long, too_long, "null"}}) {
    Agent agent;
    agent.open();
    agent.say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":)" + method + "}");
    const Json answer = agent.next();
    EXPECT_EQ(answer["id"].dump(), answered) << method;
    EXPECT_EQ(answer["error"]["code"], -32600);
    EXPECT_THAT(agent.client.take_lines(), HasSubstr("acp: a request is refused: "));
    agent.say(R"({"jsonrpc":"2.0","method":)" + method + "}");
    EXPECT_TRUE(agent.next().is_null()) << "a notification has no answer";
  }
}

TEST(AcpClient, ATextThatCanNotBeShownIsTold) {
  for (const auto& text : {std::string((1 << 20) + 1, 'x'), std::string("half \\ud83d")}) {
    Agent agent;
    const Json prompt = agent.open();
    agent.update(R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":")" + text +
                 "\"}}");
    agent.update(R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""}})");
    agent.update(R"({"sessionUpdate":"tool_call","toolCallId":"a","kind":"read","title":")" + text + "\"}");
    agent.refuse(prompt, R"({"code":-1,"message":")" + text + "\"}");
    const std::string told =
        "[a text is left out: it has more than 1048576 characters, or half a surrogate]\n";
    EXPECT_EQ(agent.client.take_lines(), "agent: " + told + "tool: read: " + told + "acp: error -1: " + told);
  }
}

TEST(AcpClient, AStopCancelsTheTurn) {
  Agent agent;
  const Json prompt = agent.open();
  agent.client.cancel();
  agent.client.cancel();
  const Json cancelled = agent.next();
  EXPECT_EQ(cancelled["method"], "session/cancel");
  EXPECT_EQ(cancelled["params"]["sessionId"], "s1");
  EXPECT_FALSE(cancelled.contains("id"));
  EXPECT_TRUE(agent.next().is_null()) << "once";
  EXPECT_FALSE(agent.client.ended());
  agent.end(prompt, "", "cancelled");
  EXPECT_EQ(agent.client.ended(), Ended::kCancelled);
  Agent early;
  early.client.cancel();
  EXPECT_EQ(early.client.ended(), Ended::kCancelled);
}

TEST(AcpClient, PeopleSeeWhatTheAgentDoes) {
  Agent agent;
  const Json prompt = agent.open();
  for (
      const auto* update :
      {R"({"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"first a look"}})",
       R"({"sessionUpdate":"tool_call","toolCallId":"c1","title":"Read\nfile","kind":"read","status":"pending"})",
       R"({"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"})",
       R"({"sessionUpdate":"tool_call","toolCallId":"c2","title":"make","kind":"execute"})",
       R"({"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"failed"})",
       R"({"sessionUpdate":"tool_call_update","toolCallId":"c3","title":"new","status":"failed"})",
       R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I have "}})",
       R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"it.\nAll"}})",
       R"({"sessionUpdate":"plan","entries":[{"content":"look","status":"completed"},{"content":"mend","status":"in_progress"}]})",
       R"({"sessionUpdate":"available_commands_update","availableCommands":[]})"})
    agent.update(update);
  EXPECT_EQ(agent.end(prompt),
            "thought: first a look\ntool: read: Read file\ntool: execute: make\ntool failed: execute: "
            "make\ntool failed: other: new\n"
            "agent: I have it.\nagent: All\nplan: 1 of 2 done; mend\nacp: done\n");
  EXPECT_THAT(agent.client.last_line(), HasSubstr(R"("tool_calls":2,"tool_calls_failed":2)"));
}

TEST(AcpClient, WhatAnotherSessionDoesIsNotOfTheAttempt) {
  Agent agent;
  const Json prompt = agent.open();
  for (const auto* session : {"s2", "s", ""}) {
    agent.update(R"({"sessionUpdate":"tool_call","toolCallId":"c1","title":"make"})", session);
    agent.update(R"({"sessionUpdate":"usage_update","cost":{"amount":9,"currency":"USD"}})", session);
  }
  agent.say(
      R"({"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"c1"}}})");
  EXPECT_EQ(agent.end(prompt), "acp: done\n");
  EXPECT_TRUE(agent.usage().empty());
  EXPECT_THAT(agent.client.last_line(), HasSubstr(R"("tool_calls":0,)"));
}

TEST(AcpClient, WhatIsNoMessageIsLeftOut) {
  Agent agent;
  const Json prompt = agent.open();
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  for (const auto& line :
       {std::string("a log line"), std::string("{\"id\":"), std::string("\x80\xff{}"), std::string(),
        std::string("[1]"), R"({"jsonrpc":"2.0","id":99,"result":{"stopReason":"end_turn"}})" + std::string(),
        R"({"jsonrpc":"2.0","method":"session/update","params":)" + deep + "}",
        std::string(R"({"method":"session/update","params":{"update":7}})"),
        std::string(R"({"method":"session/update","method":"x"})"),
        std::string(R"({"id":{"a":1},"result":null})"), std::string("{}")})
    agent.say(line);
  EXPECT_FALSE(agent.client.ended());
  const std::string huge(kMessageBytesMax, 'x');
  agent.client.hear(R"({"method":")");
  agent.client.hear(huge);
  agent.say(huge + "\"}");
  const auto lines = agent.end(prompt);
  EXPECT_EQ(agent.client.ended(), Ended::kDone);
  EXPECT_THAT(lines, HasSubstr("acp: no message: a log line\n"));
  EXPECT_THAT(lines, HasSubstr("acp: a message of more than 16 MiB is left out\n"));
  EXPECT_LT(lines.size(), 20'000U);
}

TEST(AcpClient, WhatPeopleSeeHasALimit) {
  Agent agent;
  const Json prompt = agent.open();
  std::string shown;
  const std::string text(3000, 'x');
  for (int i = 0; i < 3000; ++i) {
    agent.update(R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":")" + text +
                 "\"}}");
    agent.update(R"({"sessionUpdate":"tool_call","title":")" + text + R"(","toolCallId":")" +
                 std::to_string(i) + "\"}");
    shown += agent.client.take_lines();
  }
  EXPECT_LT(shown.size(), kLinesBytesMax + 100);
  EXPECT_GT(shown.size(), kLinesBytesMax - 2 * text.size());
  EXPECT_TRUE(shown.ends_with("x\nacp: further lines are left out\n"));
  for (std::size_t begin = 0, end = 0; (end = shown.find('\n', begin)) != shown.npos; begin = end + 1) {
    if (shown[begin] == 't') {
      ASSERT_EQ(end - begin, text.size() + std::string("tool: other: ").size());
    }
  }
  EXPECT_EQ(agent.end(prompt), "acp: done\n") << "the end is told whatever came before";
}

// The supervisor, which knows the secrets, redacts what it sees whole.
TEST(AcpClient, NoTextIsCut) {
  for (const std::size_t size : {300U, 1000U, 2000U, 50'000U}) {
    const std::string text = std::string(size - 4, 'x') + "sesame, open";
    Agent agent;
    const Json prompt = agent.open();
    const auto half = text.size() / 2;
    for (const auto& part : {text.substr(0, half), text.substr(half)})
      agent.update(R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":")" + part +
                   "\"}}");
    agent.update(R"({"sessionUpdate":"tool_call","toolCallId":"a","status":"failed","title":")" + text +
                 "\"}");
    agent.update(R"({"sessionUpdate":"plan","entries":[{"status":"in_progress","content":")" + text +
                 "\"}]}");
    agent.say(text);
    agent.say("{" + text);
    agent.say(
        R"({"id":1,"method":"session/request_permission","params":{"options":[{"optionId":"y","kind":"allow_once"}],"toolCall":{"title":")" +
        text + "\"}}}");
    agent.refuse(prompt, R"({"code":-1,"message":")" + text + R"(","data":")" + text + "\"}");
    const std::string lines = agent.client.take_lines();
    std::size_t whole = 0;
    for (auto at = lines.find(text); at != lines.npos; at = lines.find(text, at + 1)) ++whole;
    EXPECT_EQ(whole, 9U) << size << ": " << lines.substr(0, 2000);
  }
}

TEST(AcpClient, ALineThatReachesTheLimitIsLeftOutWhole) {
  Agent agent;
  const Json prompt = agent.open();
  const std::string text(1 << 20, 'x');
  for (int i = 0; i < 6; ++i)
    agent.update(R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":")" + text +
                 "\"}}");
  EXPECT_EQ(agent.end(prompt), "acp: further lines are left out\nacp: done\n");
}

TEST(AcpClient, BytesMayComeOneByOne) {
  Agent agent;
  const Json hello = agent.next();
  for (const char c : R"({"jsonrpc":"2.0","id":)" + hello["id"].dump() + R"(,"result":)" + kCapable + "}\r\n")
    agent.client.hear(std::string_view(&c, 1));
  EXPECT_EQ(agent.next()["method"], "session/new");
}

}  // namespace
}  // namespace pawl::agent::acp
