// Known agent programs print these lines when the provider of their model refuses them. The lines were
// recorded at the places that refusal.cc names.
#include "agent/refusal.h"

#include <gtest/gtest.h>

namespace pawl::agent {
namespace {

using enum RefusalKind;

constexpr std::int64_t kSecond = 1'000'000, kHour = 3600;
// 2026-11-28 14:00:00 UTC, where local time is an hour later.
constexpr std::int64_t kEndedSeconds = 1'795'874'400;
constexpr EndTime kEnded{.at = {kEndedSeconds * kSecond}, .utc_offset_seconds = kHour};

std::optional<Refusal> refusal_of(std::string_view program, const std::string& tail,
                                  std::int64_t exit_code = 1) {
  const auto* signs = refusal_signs(program);
  EXPECT_NE(signs, nullptr) << program;
  return signs == nullptr ? std::nullopt : refusal_in(*signs, exit_code, tail, kEnded);
}

// Seconds from the end of the program to the reset that the line names; -1: it names none.
std::int64_t seconds_to_reset(std::string_view line) {
  const auto reset = reset_in(line, kEnded);
  return reset ? reset->at.micros / kSecond - kEndedSeconds : -1;
}

TEST(Refusal, ClaudeCodeSaysThatAWindowOrARateIsUsedUp) {
  const auto window =
      refusal_of("claude_code", R"({"type":"result","subtype":"success","is_error":true,"duration_ms":610,)"
                                R"("result":"Claude AI usage limit reached|1795874490","session_id":"x"})"
                                "\n");
  ASSERT_TRUE(window);
  EXPECT_EQ(window->kind, kLimited);
  ASSERT_TRUE(window->reset);
  EXPECT_EQ(window->reset->at, (WallTime{1'795'874'490 * kSecond}));
  EXPECT_EQ(window->line, "Claude AI usage limit reached|1795874490");
  const auto session =
      refusal_of("claude_code", "some work\nYou've hit your session limit · resets 3:30pm (UTC)\n");
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->reset);
  EXPECT_EQ(session->reset->at, (WallTime{(kEndedSeconds + kHour + 1800) * kSecond}));
  const auto rate = refusal_of(
      "claude_code",
      R"(API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"of your account"}})");
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->status, 429);
  EXPECT_FALSE(rate->reset);
  const auto overload = refusal_of(
      "claude_code",
      R"({"type":"result","is_error":true,"result":"API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}","n":1})");
  ASSERT_TRUE(overload);
  EXPECT_EQ(overload->status, 529);
  EXPECT_EQ(overload->line, R"(API Error: 529 {"type":"error","error":{"type":"overloaded_error"}})");
}

TEST(Refusal, ClaudeCodeSaysThatItsCredentialIsRefused) {
  for (const auto* line : {"Invalid API key · Please run /login",
                           R"(API Error: 401 {"type":"error","error":{"type":"authentication_error"}})"}) {
    const auto found = refusal_of("claude_code", line);
    ASSERT_TRUE(found) << line;
    EXPECT_EQ(found->kind, kUnauthorized);
    EXPECT_EQ(found->status, 401);
  }
}

TEST(Refusal, CodexSaysBothInItsEvents) {
  const auto window = refusal_of(
      "codex", R"({"type":"error","message":"You've hit your usage limit. Visit https://example.org )"
               R"(to purchase more credits or try again at 3:28 PM."})"
               "\n"
               R"({"type":"turn.failed","error":{"message":"You've hit your usage limit."}})"
               "\n");
  ASSERT_TRUE(window);
  ASSERT_TRUE(window->reset);
  EXPECT_EQ(window->reset->at, (WallTime{(kEndedSeconds + 28 * 60) * kSecond}))
      << "local time; the older line names it";
  EXPECT_EQ(refusal_of("codex", "ERROR: exceeded retry limit, last status: 429 Too Many Requests")->status,
            429);
  EXPECT_EQ(refusal_of("codex", "ERROR: exceeded retry limit, last status: 401 Unauthorized")->kind,
            kUnauthorized);
}

TEST(Refusal, AnErrorOfCodexMayBeToldInTwoEvents) {
  const auto refusal_of_codex = [](const std::string& before, const std::string& last) {
    return refusal_of("codex", R"({"type":"error","message":")" + before + "\"}\n" +
                                   R"({"type":"turn.failed","error":{"message":")" + last + "\"}}\n");
  };
  const auto limit = refusal_of_codex("Rate limit reached for m in o. Please try again in 20s.",
                                      "Rate limit reached for m.");
  ASSERT_TRUE(limit && limit->reset) << "the event before has the details of the same error";
  EXPECT_EQ(limit->reset->at, (WallTime{(kEndedSeconds + 20) * kSecond}));
  EXPECT_TRUE(refusal_of_codex("exceeded retry limit, last status: 429 (x)", ""));
  EXPECT_FALSE(refusal_of_codex("Reconnecting... 2/5 (last status: 429)", "no such model"));
}

TEST(Refusal, TheResultOfClaudeCodeMayBeInAListOrHaveEventsBehindIt) {
  const std::string result = R"({"type":"result","is_error":true,"result":"API Error: 529 Overloaded"})";
  const std::string init = R"({"type":"system","subtype":"init"})";
  const std::string answer = R"({"type":"assistant","message":{"content":[]}})";
  for (const auto& tail : {"[" + init + "," + answer + "," + result + "]\n", result + "\n" + init + "\n"})
    EXPECT_EQ(refusal_of("claude_code", tail).value_or(Refusal()).status, 529) << tail;
  EXPECT_FALSE(refusal_of("claude_code", result + "\n" + answer + "\n")) << "it went on";
}

TEST(Refusal, GeminiSaysItWithItsExitCode) {
  EXPECT_EQ(refusal_of("gemini_cli", "", 173)->status, 429);
  EXPECT_EQ(refusal_of("gemini_cli", "", 145)->kind, kUnauthorized);
  EXPECT_FALSE(refusal_of("gemini_cli", "", 1));
  const auto named =
      refusal_of("gemini_cli",
                 "TerminalQuotaError: You exceeded your current quota.\n"
                 "Suggested retry after 400s.\n    at classifyGoogleError (x.js:1:2) {\n"
                 "{\n  \"error\": {\n    \"message\": \"You exceeded your current quota.\\nSuggested "
                 "retry after 400s.\",\n    \"code\": 429\n  }\n}\n",
                 173);
  ASSERT_TRUE(named && named->reset);
  EXPECT_EQ(named->reset->at, (WallTime{(kEndedSeconds + 400) * kSecond}));
}

TEST(Refusal, AnAgentWithAcpSaysItInTheCodeOrMessageOfAnError) {
  for (const auto& [said, status] : std::initializer_list<std::pair<const char*, int>>{
           {"429: Slow down", 429},
           {"-32603: 429: Please try again in 3s", 429},
           {"-32603: status 429.", 429},
           {"-32603: (HTTP 429)", 429},
           {"-32603: Rate Limit exceeded", 429},
           {"-32603: you are rate limited", 429},
           {"-32603: rate limits were reached", 429},
           {"-32603: you hit your daily limit", 429},
           {"-32603: status: RESOURCE_EXHAUSTED", 429},
           {"-32603: Overloaded", 529},
           {"529: busy", 529},
           {"-32603: Internal error: Incorrect API key provided", 401},
           {"-32000: sign in", 401},
           {"-32603: 401 Unauthorized", 401},
           {"403: no", 403}})
    EXPECT_EQ(
        refusal_of("acp", "work\nacp: error " + std::string(said) + "\n{}\n", 26).value_or(Refusal()).status,
        status)
        << said;
  for (const auto* said :
       {"acp: error -32603: read 14290 bytes", "acp: error -32603: port 34013 is taken",
        "acp: error -32603: h:429 refused", "acp: error -32603: 1.429 s", "acp: error -32603: 429.5 s",
        "acp: error -32603: 4290", "acp: error -32603: x429", "acp: error -32603: 429ms",
        "acp: error -32603: 10:429", "acp: error -32603: 429:10", "acp: error -320001: x",
        "acp: error -32603: can't generate limits", "acp: error -32603: an overloadedfunction",
        "acp: error -32603: é429", "acp: data of the error: {\"details\":\"429 rate limit\"}",
        "agent: acp: error 429: x", "acp: the tests: error 429", "tool failed: overloaded"})
    EXPECT_FALSE(refusal_of("acp", std::string(said) + "\n", 26)) << said;
}

TEST(Refusal, ANumberOfAnAgentWithAcpIsAStatusWhereAnErrorHasOne) {
  const auto refusal_of_acp = [](const std::string& said) {
    return refusal_of("acp", "acp: error " + said + "\n" + R"({"type":"acp_end","exit_code":26})" + "\n", 26);
  };
  for (const auto number : {401, 402, 403, 408, 429, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530}) {
    const auto n = std::to_string(number);
    for (const auto& said : {n + ": x",
                             "-32603: " + n,
                             "-32603: " + n + " y",
                             "-32603: " + n + ": y",
                             "?: " + n,
                             "-32603: status " + n,
                             "-32603: unexpected status " + n + " y",
                             "-32603: last status: " + n,
                             "-32603: (HTTP " + n + ")",
                             "-32603: HTTP/1.1 " + n + " y",
                             "-32603: http status: " + n,
                             "-32603: Internal error: " + n + " y",
                             "-32603: Internal error: API Error: " + n + " y",
                             "-32603: [API Error: " + n + " y]",
                             "-32603: API Error (" + n + ")",
                             "-32603: ApiError: " + n,
                             "-32603: Request failed with status code " + n,
                             "-32603: Error code: " + n + " - {}",
                             "-32603: statusCode=" + n,
                             "-32603: error_code: " + n,
                             "-32603: http_status: " + n,
                             "-32603: Unexpected server response: " + n,
                             "-32603: Request failed (" + n + ")",
                             "-32603: it ended with a status code of " + n + " y",
                             "-32603: the server returned " + n,
                             R"(500: {"errorCode":)" + n + "}",
                             "-32603: API Error: Request rejected (" + n + ") - x",
                             R"(500: {"error":{"code":)" + n + R"(,"message":"x"}})",
                             R"(500: {"error": {"status": ")" + n + "\"}}"})
      EXPECT_EQ(refusal_of_acp(said).value_or(Refusal()).status, number) << said;
    for (const auto& said :
         {"-32603: File not found: test 500 failed at line " + n, "-32603: max output of " + n + " tokens: x",
          "-32603: src/a.c line " + n + ": x", "-32603: wrote " + n + " of 600 bytes", "-32603: h:" + n,
          "-32603: http://" + n + "/", "-32603: port (" + n + ")", "-32603: can't decode " + n + " bytes",
          "-32603: 1." + n, "-32603: errors: 3 of " + n, "-32603: 3 tests failed, " + n + " passed",
          "-32603: it has " + n + " of them", "-32603: issue #" + n, "-32602: id -" + n})
      EXPECT_FALSE(refusal_of_acp(said)) << said;
  }
  EXPECT_EQ(refusal_of_acp("-32603: got 403 Forbidden from the model").value_or(Refusal()).status, 403);
  EXPECT_FALSE(refusal_of_acp("-32603: Access to /etc/shadow is forbidden"));
  EXPECT_FALSE(refusal_of_acp("-32603: the tool said -32000 here"));
}

// Standard error of the agent has any lines. The client says the agent's answer, and then how it ended.
TEST(Refusal, OfAnAgentWithAcpThatEndedOnlyItsLastErrorCounts) {
  const std::string end = R"({"type":"acp_end","exit_code":21})";
  for (const std::string line : {"acp: error 429", "acp: error 429: Slow down", "acp: error -32000: sign in",
                                 "acp: error -32603: Invalid API key"}) {
    const std::string left = "acp: the agent ended before its turn did\n" + end + "\n";
    for (const auto& tail :
         {line + "\n" + left, left + line + "\n", left + line + "\n" + "acp: the agent's exit code is 1\n"})
      EXPECT_FALSE(refusal_of("acp", tail, 21)) << tail;
    EXPECT_FALSE(refusal_of("acp", line + "\nacp: error 404: no such model\n" + end + "\n", 26)) << line;
  }
  EXPECT_EQ(refusal_of("acp", "acp: the agent wants a login\n" + end + "\n", 27)->kind, kUnauthorized);
}

TEST(Refusal, WorkThatIsDoneOrThatFailsForAnotherReasonIsNone) {
  const std::string line = "Claude AI usage limit reached|1795874490\n";
  EXPECT_FALSE(refusal_of("claude_code", line, 0)) << "it did its work, whatever it talks about";
  EXPECT_FALSE(refusal_of("claude_code", "error: the test of usage limits fails\n"));
  std::string later;
  for (std::size_t i = 0; i < kRefusalLinesMax; ++i) later += "more work\n";
  EXPECT_FALSE(refusal_of("claude_code", line + later)) << "it went on after that";
  EXPECT_FALSE(refusal_of("claude_code", line + std::string(kRefusalTailBytes, 'x')));
  EXPECT_EQ(refusal_signs("another"), nullptr);
  EXPECT_EQ(refusal_signs(""), nullptr);
}

// Each program's own words of a refusal, in a text that it repeats: of the model, of a file or of a tool.
const std::vector<std::pair<const char*, std::vector<const char*>>> kWords = {
    {"claude_code",
     {"API Error: 429", "Invalid API key", "You've hit your limit, it resets 3pm", "usage limit reached"}},
    {"codex",
     {"unexpected status 401 Unauthorized", "last status: 429", "You've hit your usage limit",
      "Rate limit reached for x, try again in 2s"}},
    {"gemini_cli", {"RESOURCE_EXHAUSTED", "Suggested retry after 4s", "quota will reset after 3h"}}};

// The events with which the programs end for another reason than a refusal, or without saying one.
std::vector<std::string> other_ends(std::string_view program) {
  if (program == "claude_code")
    return {R"({"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached 3"]})",
            R"({"type":"result","subtype":"success","is_error":true,"result":""})",
            R"({"type":"result","is_error":true,"api_error_status":null,"result":"Prompt is too long"})",
            R"({"type":"result","is_error":true,"api_error_status":400,"result":"API Error: 400 Bad"})"};
  if (program == "codex")
    return {R"({"type":"turn.failed","error":{"message":"ran out of room in the context window"}})",
            R"({"type":"turn.failed"})", R"({"type":"error","message":"no such model"})"};
  return {"{\n  \"error\": {\n    \"message\": \"Reached max turns\",\n    \"code\": 53\n  }\n}",
          "{\n  \"error\": {\n    \"message\": \"No\",\n    \"code\": 404\n  }\n}"};
}

TEST(Refusal, AProgramThatNamesAnotherErrorWasNotRefusedWhateverWasSaidBefore) {
  for (const auto& [program, all] : kWords)
    for (const std::string said : all) {
      const std::string event =
          R"({"type":"user","message":{"content":[{"type":"tool_result","content":")" + said + "\"}]}}\n";
      for (const auto& end : other_ends(program))
        for (const auto& before : {said + "\n", event, event + said + "\n"}) {
          EXPECT_FALSE(refusal_of(program, before + end + "\n", 53)) << program << before << end;
          EXPECT_FALSE(refusal_of(program, end + "\n" + said + "\n", 53)) << program << before << end;
        }
    }
  EXPECT_FALSE(refusal_of(
      "claude_code", R"({"type":"result","subtype":"error_max_turns","is_error":true,"permission_denials":)"
                     R"([{"tool_name":"Bash","tool_input":{"command":"grep 'Invalid API key' src"}}]})"));
  EXPECT_EQ(refusal_of("gemini_cli", "RESOURCE_EXHAUSTED\n" + other_ends("gemini_cli").front(), 145)->kind,
            kUnauthorized)
      << "an exit code is the program's own";
}

TEST(Refusal, WordsInJsonAreNotTheProgramsOwn) {
  for (const auto& [program, all] : kWords)
    for (const std::string said : all) {
      const std::string text = R"("text":")" + said + "\"";
      const std::string length(kRefusalTailBytes, 'x');
      for (const auto& json : {
               R"({"type":"assistant",)" + text + "}",
               R"({"type":"item.completed",)" + text + "}",
               R"({"type":"result","is_error":false,)" + text + "}",
               R"([{"type":"assistant",)" + text + R"(},{"type":"result","is_error":false}])",
               R"({"id":"1",)" + text,
               R"({"type":"assistant","before":")" + length + "\"," + text + "}",
               "{\n  \"session_id\": \"s\",\n  \"response\": \"" + said + "\",\n  \"stats\": {}\n}",
               "{\n  \"before\": \"" + length + "\",\n  \"response\": \"" + said + "\"\n}",
           })
        for (const auto* behind : {"", "\n", "\na line of standard error\n", "\nError {\n  status: 1\n}\n"})
          EXPECT_FALSE(refusal_of(program, json + behind)) << program << json.substr(0, 200) << behind;
    }
}

TEST(Refusal, ALineOfStandardErrorBesideEventsCounts) {
  const std::string event = R"({"type":"item.completed","item":{"type":"agent_message","text":"I go on."}})";
  for (const auto& [program, all] : kWords)
    for (const std::string said : all) {
      EXPECT_TRUE(refusal_of(program, event + "\n" + said + "\n")) << program << said;
      EXPECT_TRUE(refusal_of(program, said + "\n" + event + "\n")) << program << said;
      EXPECT_TRUE(refusal_of(program, "Error {\n  cause: {\n" + said + "\n  }\n}\n")) << program << said;
    }
}

TEST(Refusal, ALineMayHaveAnyBytes) {
  std::string junk(kRefusalTailBytes * 2, '\0');
  junk += "\n{\"\n\"hit your limit resets |99999999999999999999 try again in 999999999999 days\n";
  EXPECT_TRUE(refusal_of("claude_code", junk));
  for (const auto* line : {"{hit your limit resets", "limit reached|", "{\"usage limit reached\\\""})
    static_cast<void>(refusal_of("claude_code", line));
  EXPECT_EQ(refusal_of("claude_code", "usage limit reached" + std::string(kRefusalTailBytes, 'x'))
                .value_or(Refusal())
                .line.size(),
            0U)
      << "its beginning is cut off";
}

TEST(ResetTime, IsReadInTheFormsThatProgramsPrint) {
  EXPECT_EQ(seconds_to_reset("limit reached|1795874490"), 90);
  EXPECT_EQ(seconds_to_reset("limit reached|1795874490500"), 91) << "milliseconds, rounded up";
  EXPECT_EQ(seconds_to_reset("try again in 3 days 6 hours 8 minutes."), 3 * 24 * kHour + 6 * kHour + 480);
  EXPECT_EQ(seconds_to_reset("Please try again in 35.2s. Visit"), 36);
  EXPECT_EQ(seconds_to_reset("please retry in 1h2m3s"), kHour + 123);
  EXPECT_EQ(seconds_to_reset("try again in 20ms"), 1);
  EXPECT_EQ(seconds_to_reset("resets 3:30pm (UTC)"), kHour + 1800);
  EXPECT_EQ(seconds_to_reset("resets 4pm (Europe/Berlin)"), kHour) << "the zone of this machine";
  EXPECT_EQ(seconds_to_reset("resets 16:00"), kHour);
  EXPECT_EQ(seconds_to_reset("resets 2pm (UTC)"), 0);
  EXPECT_EQ(seconds_to_reset("resets 1:55pm (UTC)"), -300) << "it has just passed";
  EXPECT_EQ(seconds_to_reset("resets 1pm (UTC)"), 23 * kHour);
  EXPECT_EQ(seconds_to_reset("resets 12am (UTC)"), 10 * kHour);
  EXPECT_EQ(seconds_to_reset("resets Nov 30, 2pm (UTC)"), 48 * kHour);
  EXPECT_EQ(seconds_to_reset("resets Nov 30 at 2pm (UTC)"), 48 * kHour);
  EXPECT_EQ(seconds_to_reset("resets Jan 2, 2pm (UTC)"), 35 * 24 * kHour) << "of the next year";
  EXPECT_EQ(seconds_to_reset("try again at Nov 29th, 2026 3:00 PM."), 24 * kHour);
}

TEST(ResetTime, IsWithinAMinuteWhereNoSecondsAreNamed) {
  for (const auto* line : {"try again at 10:29 AM.", "resets 3pm (UTC)", "resets Nov 30, 2pm (UTC)",
                           "try again in 3 days 6 hours 8 minutes"})
    EXPECT_EQ(reset_in(line, kEnded)->within_ms, 60'000) << line;
  for (const auto* line :
       {"limit reached|1795874490", "try again in 35.2s", "try again in 1h2m3s", "try again in 3 hours"})
    EXPECT_EQ(reset_in(line, kEnded)->within_ms, 0) << line;
}

TEST(ResetTime, IsNoneInOtherText) {
  for (const auto* line :
       {"", "resets", "resets soon", "resets 3", "resets 25:00", "resets 13pm", "resets Feb 31, 3pm",
        "resets Xyz 3, 3pm", "try again in a moment", "try again in 5 parsecs", "limit reached|12",
        "limit reached|9999999999", "try again later", "resets 3:99pm", "try again in 1.s"})
    EXPECT_EQ(seconds_to_reset(line), -1) << line;
}

}  // namespace
}  // namespace pawl::agent
