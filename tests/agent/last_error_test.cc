// The last events of agent programs that their provider refused. The lines are those of the real programs with a
// scripted model (tests/agents) that refused all calls; ids, addresses and what a line repeats are left out.
// Versions: Claude Code 2.1.197, opencode 1.18.33, pi 0.73.1, Qwen Code 0.15.10. Qwen Code tries again for more than 25 minutes when it gets 429:
// its words about that are from its source (parseAndFormatApiError).
#include "agent/last_error.h"

#include <gtest/gtest.h>

#include "agent/refusal.h"

namespace pawl::agent {
namespace {

using enum RefusalKind;

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr EndTime kEndOfProgram{.at = {1'795'874'400 * kMicrosPerSecond}, .utc_offset_seconds = 0};

// The exit code of Claude Code and opencode is 1, that of the others 0.
std::optional<Refusal> last_refusal(std::string_view program, const std::string& tail) {
  const bool fails = program == "claude_code" || program == "opencode";
  return refusal_in(*refusal_signs(program), fails ? 1 : 0, tail, kEndOfProgram);
}

// The kind, the status and the reset: "limited 429 in 20 s", "unauthorized 401"; "": none.
std::string words_of_refusal(const std::optional<Refusal>& refusal) {
  if (!refusal) return "";
  std::string out =
      (refusal->kind == kLimited ? "limited " : "unauthorized ") + std::to_string(refusal->status);
  if (refusal->reset)
    out += " in " + std::to_string((refusal->reset->at.micros - kEndOfProgram.at.micros) / kMicrosPerSecond) +
           " s";
  return out;
}

const std::string kLimit =
    "Rate limit reached for coder in organization org-scripted on requests per min (RPM): Limit 3, Used 3, "
    "Requested 1. Please try again in 20s.";
const std::string kWrongKey =
    "Incorrect API key provided: scripted. You can find your API key at "
    "https://platform.openai.com/account/api-keys.";

std::string opencode_error(const std::string& message, int status, const std::string& headers) {
  return R"({"type":"error","timestamp":1795937218592,"sessionID":"ses_dd9c","error":{"name":"APIError","data":{"message":")" +
         message + R"(","statusCode":)" + std::to_string(status) +
         R"(,"isRetryable":true,"responseHeaders":{"content-length":"231","content-type":"application/json",)" +
         headers +
         R"("date":"Sun, 29 Nov 2026 07:26:58 GMT","x-request-id":"req_scripted"},"responseBody":"{\"error\": {\"code\": 429}}",)"
         R"("metadata":{"url":"http://127.0.0.1:45335/v1/chat/completions"}}}})"
         "\n";
}

constexpr char kOpencodeStep[] =
    R"({"type":"step_finish","timestamp":1795937223004,"sessionID":"ses_dd9c","part":{"reason":"stop","type":"step-finish",)"
    R"("tokens":{"total":7881,"input":7866,"output":15,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}})"
    "\n";

TEST(LastError, OpencodesLastEventHasTheStatusAndTheHeaders) {
  EXPECT_EQ(words_of_refusal(last_refusal("opencode", kOpencodeStep + opencode_error(kLimit, 429, ""))),
            "limited 429 in 20 s");
  EXPECT_EQ(words_of_refusal(last_refusal("opencode", opencode_error(kLimit, 429, R"("retry-after":"4",)"))),
            "limited 429 in 4 s");
  EXPECT_EQ(words_of_refusal(last_refusal("opencode", opencode_error("Overloaded", 529, ""))), "limited 529");
  for (const int status : {500, 502, 503, 504})
    EXPECT_EQ(words_of_refusal(last_refusal("opencode", opencode_error("Busy", status, ""))),
              "limited " + std::to_string(status));
  EXPECT_EQ(words_of_refusal(last_refusal("opencode", opencode_error(kWrongKey, 401, ""))),
            "unauthorized 401");
  EXPECT_EQ(last_refusal("opencode", opencode_error(kWrongKey, 401, ""))->line, kWrongKey);
  EXPECT_EQ(words_of_refusal(last_refusal("opencode", opencode_error("Bad Request: 429", 400, ""))), "");
}

std::string claude_end(const std::string& error, const std::string& said) {
  return R"({"type":"result","subtype":"success",)" + error +
         R"(,"duration_ms":1257,"duration_api_ms":0,"num_turns":1,"result":")" + said +
         R"(","stop_reason":"stop_sequence","session_id":"dcf42d31","total_cost_usd":0,"usage":{"input_tokens":0},)" +
         R"("modelUsage":{},"permission_denials":[],"terminal_reason":"completed"})" + "\n";
}

// With the key of an account the words have neither the status at their beginning nor a time.
TEST(LastError, ClaudeCodeSaysTheStatusOfTheProvider) {
  const auto error = [](int status) {
    return R"("is_error":true,"api_error_status":)" + std::to_string(status);
  };
  const std::string rejected =
      "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try "
      "again later.";
  EXPECT_EQ(words_of_refusal(last_refusal("claude_code", claude_end(error(429), rejected))), "limited 429");
  EXPECT_EQ(last_refusal("claude_code", claude_end(error(429), rejected))->line, rejected);
  EXPECT_EQ(
      words_of_refusal(last_refusal(
          "claude_code", claude_end(error(429), "You've hit your session limit · resets 3:30pm (UTC)"))),
      "limited 429 in 5400 s");
  EXPECT_EQ(words_of_refusal(last_refusal("claude_code", claude_end(error(529), "Busy"))), "limited 529");
  EXPECT_EQ(words_of_refusal(last_refusal("claude_code", claude_end(error(401), "No"))), "unauthorized 401");
  EXPECT_EQ(words_of_refusal(last_refusal("claude_code", claude_end(error(400), "Bad request"))), "");
  EXPECT_EQ(
      words_of_refusal(last_refusal("claude_code", claude_end(R"("is_error":false)", "I look at 429."))), "");
  EXPECT_EQ(words_of_refusal(last_refusal(
                "claude_code", claude_end(R"("is_error":false,"api_error_status":429)", "It is done."))),
            "");
}

TEST(LastError, OpencodeThatWentOnOrEndedWellWasNotRefused) {
  const auto error = opencode_error(kLimit, 429, "");
  EXPECT_EQ(words_of_refusal(last_refusal("opencode", error + kOpencodeStep)), "");
  EXPECT_FALSE(refusal_in(*refusal_signs("opencode"), 0, error, kEndOfProgram));
  EXPECT_EQ(words_of_refusal(last_refusal("opencode", error + "a line of standard error\n")),
            "limited 429 in 20 s");
}

std::string pi_message(const std::string& content, const std::string& end) {
  return R"({"role":"assistant","content":[)" + content +
         R"(],"api":"openai-completions","provider":"endpoint","model":"coder","usage":{"input":0,"output":0,"cost":{"total":0}},)" +
         end + "}";
}

std::string pi_error(const std::string& message) {
  return pi_message("",
                    R"("stopReason":"error","timestamp":1795937135871,"errorMessage":")" + message + "\"");
}

std::string pi_end(const std::string& last_message) {
  return R"({"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"Fix it."}]},)" +
         last_message + "]}\n";
}

std::string pi_retried(const std::string& message) {
  return pi_end(pi_error(message)) +
         R"({"type":"auto_retry_end","success":false,"attempt":3,"finalError":")" + message + "\"}\n";
}

TEST(LastError, PiEndsWith0AndItsLastMessageIsTheError) {
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_retried("429 " + kLimit))), "limited 429 in 20 s");
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_retried("529 Overloaded"))), "limited 529");
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_end(pi_error("401 " + kWrongKey)))), "unauthorized 401");
  EXPECT_EQ(words_of_refusal(last_refusal(
                "pi", R"({"type":"message_end","message":)" + pi_error("401 " + kWrongKey) + "}\n")),
            "unauthorized 401");
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_end(pi_error("400 the status was 429")))), "");
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_end(pi_error("No API key found.")))), "");
}

TEST(LastError, APiThatOnlyTalksOfOneOrThatWentOnWasNotRefused) {
  const std::string talk = R"({"type":"text","text":"429 rate limit exceeded, 401 Unauthorized"})";
  const auto said = pi_end(pi_message(talk, R"("stopReason":"stop")"));
  EXPECT_EQ(words_of_refusal(last_refusal("pi", said)), "");
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_end(pi_error("429 " + kLimit)) + said)), "");
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_end(pi_error("429 x")) + "{\"type\":\"agent_start\"}\n")),
            "");
}

std::string qwen_end(const std::string& said, int errors) {
  return R"([{"type":"system","subtype":"init"},{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":")" +
         said + R"("}],"usage":{"input_tokens":0,"output_tokens":0}}},)" +
         R"({"type":"result","subtype":"success","uuid":"1759","session_id":"6852","is_error":false,"num_turns":1,"result":")" +
         said + R"(","usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0},)" +
         R"("permission_denials":[],"stats":{"models":{"coder":{"api":{"totalRequests":7,"totalErrors":)" +
         std::to_string(errors) + R"(,"totalLatencyMs":20883},"tokens":{"prompt":0}}}}}])" + "\n";
}

TEST(LastError, QwenCodeEndsWith0AndSuccess) {
  EXPECT_EQ(words_of_refusal(last_refusal(
                "qwen_code",
                qwen_end("[API Error: 429 " + kLimit +
                             R"(]\nPossible quota limitations in place or slow response times detected.)",
                         7))),
            "limited 429 in 20 s");
  EXPECT_EQ(words_of_refusal(last_refusal("qwen_code", qwen_end("[API Error: 529 Overloaded]", 7))),
            "limited 529");
  const auto refused = last_refusal("qwen_code", qwen_end("[API Error: 401 " + kWrongKey + "]", 1));
  EXPECT_EQ(words_of_refusal(refused), "unauthorized 401");
  EXPECT_EQ(refused->line, kWrongKey);
}

TEST(LastError, AQwenCodeThatOnlyTalksOfOneWasNotRefused) {
  EXPECT_EQ(words_of_refusal(last_refusal("qwen_code", qwen_end("[API Error: 429 Slow down]", 0))), "");
  EXPECT_EQ(
      words_of_refusal(last_refusal("qwen_code", qwen_end("I handle [API Error: 429 Slow down] now.", 2))),
      "");
  EXPECT_EQ(words_of_refusal(last_refusal("qwen_code", "[API Error: 429 Slow down]\n")), "");
}

std::string gemini_error(const std::string& message, int code) {
  return "Error when talking to Gemini API {\n  status: 400\n}\n{\n  \"session_id\": \"7fe7\",\n  \"error\": "
         "{\n    "
         "\"type\": \"Error\",\n    \"message\": \"" +
         message + "\",\n    \"code\": " + std::to_string(code) + "\n  }\n}\npawl: usage: none\n";
}

std::string google_error(int code, const std::string& message, const std::string& reason) {
  return R"({\"error\":{\"code\":)" + std::to_string(code) + R"(,\"message\":\")" + message +
         R"(\",\"details\":[{\"reason\":\")" + reason + R"(\"}]}})";
}

// Google answers to a wrong key with 400.
TEST(LastError, GeminiCliSaysTheAnswerOfGoogle) {
  const auto refusal_of = [](const std::string& tail, int exit_code) {
    return refusal_in(*refusal_signs("gemini_cli"), exit_code, tail, kEndOfProgram);
  };
  const std::string said = "API key not valid. Please pass a valid API key.";
  const auto key = refusal_of(gemini_error(google_error(400, said, "API_KEY_INVALID"), 400), 144);
  EXPECT_EQ(words_of_refusal(key), "unauthorized 400");
  EXPECT_EQ(key->line, said);
  EXPECT_EQ(words_of_refusal(refusal_of(gemini_error(google_error(400, "Bad", "OTHER"), 400), 144)), "");
  EXPECT_EQ(words_of_refusal(refusal_of(gemini_error("API_KEY_INVALID", 400), 144)), "")
      << "not Google's words";
  EXPECT_EQ(words_of_refusal(refusal_of(gemini_error(google_error(500, "Oh", "X"), 500), 244)),
            "limited 500");
  EXPECT_EQ(words_of_refusal(refusal_of(gemini_error("got status: 502. {}", 502), 246)), "limited 502");
  EXPECT_EQ(words_of_refusal(refusal_of(gemini_error("terminated", 1), 1)), "limited 0") << "a cut stream";
  EXPECT_EQ(words_of_refusal(refusal_of(gemini_error(google_error(429, "Oh", "X"), 1), 1)), "limited 429");
  for (const std::string quota : {"You exceeded your current quota, please check your plan.",
                                  "You have exhausted your daily quota on this model."})
    EXPECT_EQ(words_of_refusal(refusal_of(gemini_error(quota, 1), 1)), "limited 429");
  auto busy = gemini_error("No capacity available for model x on the server", 1);
  EXPECT_EQ(words_of_refusal(refusal_of(busy, 1)), "");
  for (const std::string type : {"TerminalQuotaError", "RetryableQuotaError"}) {
    auto error = busy;
    error.replace(error.find("\"Error\""), 7, '"' + type + '"');
    EXPECT_EQ(words_of_refusal(refusal_of(error, 1)), "limited 429") << error;
  }
  EXPECT_EQ(said_error(*refusal_signs("gemini_cli"), gemini_error("No session", 42)), "No session");
  EXPECT_EQ(said_error(*refusal_signs("gemini_cli"), "{\n  \"response\": \"an \\\"error\\\"\"\n}\n"), "");
}

// With a closed port.
TEST(LastError, AProviderThatCannotBeReachedIsSaidWithoutAStatus) {
  const auto codex = [](const std::string& message) {
    return R"({"type":"error","message":")" + message + "\"}\n" +
           R"({"type":"turn.failed","error":{"message":")" + message + "\"}}\n";
  };
  const std::vector<std::pair<std::string, std::string>> unreachable = {
      {"claude_code", claude_end(R"("is_error":true,"api_error_status":null)",
                                 "API Error: Unable to connect to API (ECONNRESET)")},
      {"codex", codex("stream disconnected before completion: error sending request")},
      {"gemini_cli", gemini_error("exception TypeError: fetch failed sending request", 1)},
      {"opencode",
       R"({"type":"error","error":{"name":"APIError","data":{"message":"Cannot connect to API: The socket )"
       R"(connection was closed unexpectedly.","isRetryable":true}}})"
       "\n"},
      {"pi", pi_retried("Connection error.")},
      {"qwen_code", qwen_end("[API Error: Connection error. (cause: fetch failed)]", 1)}};
  for (const auto& [program, tail] : unreachable) {
    const auto refusal = refusal_in(*refusal_signs(program), 1, tail, kEndOfProgram);
    EXPECT_EQ(words_of_refusal(refusal), "limited 0") << program;
    EXPECT_TRUE(refusal && refusal->is_unreachable()) << program;
    EXPECT_FALSE(said_error(*refusal_signs(program), tail).empty()) << program;
  }
  EXPECT_EQ(words_of_refusal(
                last_refusal("claude_code", claude_end(R"("is_error":false)", "Unable to connect to API"))),
            "");
}

using SaidAndWords = std::initializer_list<std::pair<std::string, std::string>>;

// These words are in the program itself, at the versions of tests/agents.
TEST(LastError, ClaudeCodeSaysThatItGotNoAnswerOrThatTheAccountIsEmpty) {
  const std::string none = R"("is_error":true,"api_error_status":null)";
  const std::string bad = R"("is_error":true,"api_error_status":400)";
  for (const auto& [said, words] : SaidAndWords{
           {"Request timed out", "limited 408"},
           {"API Error: Request timed out. Check your internet connection and proxy settings", "limited 408"},
           {"API Error: Stream idle timeout - no chunks received", "limited 504"},
           {"API Error: Repeated 529 Overloaded errors", "limited 529"},
           {"Opus is experiencing high load, please use /model to switch to Sonnet", "limited 529"},
           {"Prompt is too long", ""}})
    EXPECT_EQ(words_of_refusal(last_refusal("claude_code", claude_end(none, said))), words) << said;
  for (const auto& [said, words] : SaidAndWords{
           {"Credit balance is too low", "unauthorized 400"},
           {"Your ANTHROPIC_API_KEY belongs to a disabled organization · Update it", "unauthorized 400"},
           {"API Error: 400 the text says: Credit balance is too low", ""}})
    EXPECT_EQ(words_of_refusal(last_refusal("claude_code", claude_end(bad, said))), words) << said;
  for (const std::string said : {"Request timed out", "Credit balance is too low"}) {
    EXPECT_EQ(words_of_refusal(last_refusal("claude_code", claude_end(R"("is_error":false)", said))), "");
    EXPECT_EQ(words_of_refusal(last_refusal("claude_code", said + "\n" + claude_end(none, "It failed"))), "");
  }
}

TEST(LastError, CodexSaysItWithoutAStatusOrInWords) {
  const auto refusal_of = [](const std::string& tail) {
    return words_of_refusal(refusal_in(*refusal_signs("codex"), 1, tail, kEndOfProgram));
  };
  const std::string cut = "stream disconnected before completion: ";
  SaidAndWords all = {
      {"Selected model is at capacity. Please try a different model.", "limited 503"},
      {"Policy-restricted capacity is unavailable. Please try again later.", "limited 503"},
      {"Quota exceeded. Check your plan and billing details.", "unauthorized 402"},
      {"Your workspace is out of credits. Add credits to continue.", "unauthorized 402"},
      {"You hit your spend cap set in your workspace. Increase it to continue.", "unauthorized 402"},
      {"To use Codex with your ChatGPT plan, upgrade to Plus: https://example.org/plus.", "unauthorized 402"},
      {cut + "stream closed before response.completed", "limited 502"},
      {cut + "websocket closed by server before response.completed", "limited 502"},
      {cut + "idle timeout waiting for SSE", "limited 504"},
      {cut + "idle timeout waiting for websocket", "limited 504"},
      {cut + "Incomplete response returned, reason: content_filter", ""},
      {"exceeded retry limit, last status: 500 Internal Server Error", "limited 500"},
      {"exceeded retry limit, last status: 502 Bad Gateway", "limited 502"},
      {"exceeded retry limit, last status: 504 Gateway Timeout", "limited 504"},
      {"unexpected status 402 Payment Required: Insufficient Balance", "unauthorized 402"},
      {"unexpected status 408 Request Timeout", "limited 408"},
      {"unexpected status 500 Internal Server Error", "limited 500"},
      {"unexpected status 522 <unknown status code>", "limited 522"},
      {"unexpected status 400 Bad Request: no such model", ""}};
  for (const auto& [said, words] : all) {
    const std::string event = R"({"type":"turn.failed","error":{"message":")" + said + "\"}}\n";
    EXPECT_EQ(refusal_of(event), words) << said;
    for (const std::string kind : {"agent_message", "command_execution"})
      EXPECT_EQ(refusal_of(R"({"type":"item.completed","item":{"type":")" + kind + R"(","text":")" + said +
                           "\"}}\n" + R"({"type":"turn.failed","error":{"message":"no such model"}})" + "\n"),
                "")
          << said;
  }
}

TEST(LastError, AStatusIsOfTheCredentialOfAnOutageOrOfNoRefusal) {
  const auto gemini = [](int status) {
    return refusal_in(*refusal_signs("gemini_cli"), 1,
                      gemini_error("got status: " + std::to_string(status), status), kEndOfProgram);
  };
  for (const auto& [status, kind] : std::initializer_list<std::pair<int, std::string>>{{402, "unauthorized"},
                                                                                       {408, "limited"},
                                                                                       {520, "limited"},
                                                                                       {521, "limited"},
                                                                                       {522, "limited"},
                                                                                       {523, "limited"},
                                                                                       {524, "limited"},
                                                                                       {530, "limited"},
                                                                                       {404, ""},
                                                                                       {422, ""},
                                                                                       {501, ""},
                                                                                       {525, ""}}) {
    const auto code = std::to_string(status);
    const auto words = kind.empty() ? "" : kind + " " + code;
    EXPECT_EQ(words_of_refusal(last_refusal("opencode", opencode_error("No", status, ""))), words);
    EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_end(pi_error(code + " status code (no body)")))), words);
    EXPECT_EQ(words_of_refusal(last_refusal("qwen_code", qwen_end("[API Error: " + code + " No]", 1))),
              words);
    EXPECT_EQ(words_of_refusal(gemini(status)), words);
    EXPECT_EQ(words_of_refusal(last_refusal(
                  "claude_code",
                  claude_end(R"("is_error":true,"api_error_status":)" + code, "API Error: " + code + " No"))),
              words);
  }
}

TEST(LastError, AStreamThatFailsHasNoStatus) {
  const auto opencode = [](const std::string& message) {
    return R"({"type":"error","error":{"name":"APIError","data":{"message":")" + message + "\"}}}\n";
  };
  const std::string of_openai = "The server had an error while processing your request. Sorry about that!";
  for (const auto& [said, words] :
       SaidAndWords{{"Connection reset by server", "limited 0"},
                    {of_openai, "limited 500"},
                    {"SSE read timed out", "limited 504"},
                    {"Provider response headers timed out after 300000ms", "limited 504"},
                    {"Quota exceeded. Check your plan and billing details.", "unauthorized 402"},
                    {"Invalid prompt.", ""}}) {
    EXPECT_EQ(words_of_refusal(last_refusal("opencode", opencode(said))), words) << said;
    EXPECT_EQ(words_of_refusal(last_refusal(
                  "opencode", R"({"type":"text","part":{"text":")" + said + "\"}}\n" + opencode("No"))),
              "");
  }
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_retried("Request timed out."))), "limited 408");
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_retried(of_openai))), "limited 500");
  EXPECT_EQ(words_of_refusal(last_refusal(
                "qwen_code", qwen_end("[API Error: Request timeout after 120s. Try reducing input]", 1))),
            "limited 408");
  EXPECT_EQ(words_of_refusal(last_refusal("qwen_code", qwen_end("[API Error: " + of_openai + "]", 1))),
            "limited 500");
  const std::string talk = R"({"type":"text","text":"Request timed out. )" + of_openai + "\"}";
  EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_end(pi_message(talk, R"("stopReason":"stop")")))), "");
}

// pi and Qwen Code write the answer of Google as its client has it.
TEST(LastError, AnAnswerOfGoogleHasItsStatusWithin) {
  const auto busy = google_error(503, "The model is overloaded.", "X");
  const auto key = google_error(400, "API key not valid.", "API_KEY_INVALID");
  for (const auto& [said, words] :
       SaidAndWords{{busy, "limited 503"},
                    {"got status: UNAVAILABLE. " + busy, "limited 503"},
                    {google_error(429, "Quota exceeded. Please retry in 35s.", "X"), "limited 429 in 35 s"},
                    {key, "unauthorized 400"},
                    {google_error(400, "Bad", "OTHER"), ""},
                    {"a text with " + busy, ""},
                    {R"({\"error\":7})", ""},
                    {"{", ""}}) {
    EXPECT_EQ(words_of_refusal(last_refusal("pi", pi_end(pi_error(said)))), words) << said;
    const auto in_qwen = "[API Error: " + said + R"(]\nPlease wait and try again later.)";
    EXPECT_EQ(words_of_refusal(last_refusal("qwen_code", qwen_end(in_qwen, 1))), words) << said;
  }
  EXPECT_EQ(last_refusal("pi", pi_end(pi_error(busy)))->line, "The model is overloaded.");
}

// Lines of standard error stand behind what the client said last.
TEST(LastError, TheClientOfAcpSaysItBeforeItsLastLine) {
  std::string tail =
      "acp: gemini-cli 0.61.0\nacp: error 400: {\"error\":{\"code\":400,\"message\":\"API key not "
      "valid.\",\"details\":[{\"reason\":\"API_KEY_INVALID\"}]}}\n"
      R"({"exit_code":26,"session":"d556","stop_reason":"","type":"acp_end","usage":[]})"
      "\n";
  for (std::size_t i = 0; i < kRefusalLinesMax; ++i) tail += "    at frame (x.js:1:1)\n";
  const auto refusal = refusal_in(*refusal_signs("acp"), 26, tail, kEndOfProgram);
  EXPECT_EQ(words_of_refusal(refusal), "unauthorized 400");
  EXPECT_EQ(said_error(*refusal_signs("acp"), tail).substr(0, 20), "acp: error 400: {\"er");
  EXPECT_EQ(said_error(*refusal_signs("acp"), "acp: error 400: x\n"), "") << "it has not ended";
  for (const auto& [said, words] : std::initializer_list<std::pair<std::string, std::string>>{
           {"500: exception TypeError: fetch failed sending request", "limited 0"},
           {"-32603: Internal error: Connection error.", "limited 0"},
           {"-32603: Internal error: terminated", "limited 0"},
           {"-32603: Internal error: 500 The server had an error", "limited 500"},
           {"500: {\"error\":{\"code\":500,\"message\":\"An internal error has occurred. Please retry\"}}",
            "limited 500"},
           {"-32603: Internal error: 502 Bad Gateway", "limited 502"},
           {"500: no such tool", ""},
           {"-32603: Internal error: read 500 lines", ""}})
    EXPECT_EQ(words_of_refusal(refusal_in(
                  *refusal_signs("acp"), 26,
                  "acp: error " + said + "\n{\"exit_code\":26,\"type\":\"acp_end\"}\n", kEndOfProgram)),
              words)
        << said;
}

// opencode gives the provider's text without its status.
TEST(LastError, AnAgentWithAcpSaysItInWordsOfTheErrorOfItsTurn) {
  const auto refusal_of = [](const std::string& lines) {
    return words_of_refusal(refusal_in(*refusal_signs("acp"), 26,
                                       lines + "{\"exit_code\":26,\"type\":\"acp_end\"}\n", kEndOfProgram));
  };
  for (const auto& [said, words] : SaidAndWords{
           {"Cannot connect to API: The socket connection was closed unexpectedly.", "limited 0"},
           {"Connection reset by server", "limited 0"},
           {"API Error: Unable to connect to API (ECONNRESET)", "limited 0"},
           {"Too Many Requests", "limited 429"},
           {"Too Many Requests: Please try again in 20s", "limited 429 in 20 s"},
           {"You exceeded your current quota, please check your plan and billing details.", "limited 429"},
           {"Unauthorized", "unauthorized 401"},
           {"Unauthorized: request was blocked by a gateway or proxy.", "unauthorized 401"},
           {"Forbidden: request was blocked by a gateway or proxy.", "unauthorized 403"},
           {"Payment Required", "unauthorized 402"},
           {"Insufficient Balance", "unauthorized 402"},
           {"Insufficient credits. Add more", "unauthorized 402"},
           {"This request requires more credits, or fewer max_tokens.", "unauthorized 402"},
           {"Credit balance is too low", "unauthorized 402"},
           {"Quota exceeded. Check your plan and billing details.", "unauthorized 402"},
           {"Internal Server Error", "limited 500"},
           {"Server error.", "limited 500"},
           {"The server had an error while processing your request. Sorry about that!", "limited 500"},
           {"Bad Gateway: upstream", "limited 502"},
           {"stream disconnected before completion: stream closed before response.completed", "limited 502"},
           {"Service Unavailable", "limited 503"},
           {"Selected model is at capacity. Please try a different model.", "limited 503"},
           {"Gateway Timeout", "limited 504"},
           {"SSE read timed out", "limited 504"},
           {"Provider response headers timed out after 300000ms", "limited 504"},
           {"Request Timeout", "limited 408"},
           {"Request timed out.", "limited 408"},
           {"API Error: 522 status code (no body)", "limited 522"},
           {"402 Insufficient funds", "unauthorized 402"},
           {"unauthorizedfunction is not defined", ""},
           {"no_bad gateways: not_forbidden", ""},
           {"a pre-paid subunauthorized word", ""},
           {"port 4080 or 15220", ""},
           {"no such tool", ""}}) {
    const std::string error = "acp: error -32603: Internal error: " + said + "\n";
    EXPECT_EQ(refusal_of(error), words) << said;
    EXPECT_EQ(refusal_of(error + "acp: error 404: no such model\n"), "") << "an earlier error: " << said;
    for (const auto* who : {"agent", "thought", "tool", "tool failed", "plan", "acp: data of the error"})
      EXPECT_EQ(refusal_of(std::string(who) + ": " + said + "\nacp: error 404: no such model\n"), "")
          << who << ": " << said;
    EXPECT_EQ(refusal_of("agent: " + error + "acp: error 404: no such model\n"), "") << said;
  }
}

TEST(LastError, TheErrorIsSaidInOneLineWithItsStatus) {
  const auto& signs = *refusal_signs("pi");
  EXPECT_EQ(said_error(signs, pi_retried("502 <html>\\r\\n<head>")), "502: <html>");
  EXPECT_EQ(said_error(signs, pi_retried("500 status 500: oh")), "status 500: oh");
  EXPECT_EQ(said_error(signs, pi_retried("Connection error.")), "Connection error.");
}

TEST(LastError, AnyBytesAreRead) {
  for (const auto* tail :
       {"", "\n\n", "{}", "{\"type\":\"error\"}", "{\"type\":\"error\",\"error\":7}",
        "{\"type\":\"error\",\"error\":{\"data\":[]}}", "{\"type\":\"agent_end\",\"messages\":[7]}",
        "{\"type\":\"agent_end\",\"messages\":[]}", "{\"type\":\"result\"",
        "{\"type\":", "{\"type\":\"turn.failed\",\"error\":7}", "{\n  \"error\": 7\n}\n",
        "{\n \"error\": {}\n}", "{\"type\":\"acp_end\"}",
        "[{\"type\":\"result\",\"result\":\"[API Error: \",\"stats\":{\"models\":{\"\":1}}}]"})
    for (const auto* program : {"acp", "claude_code", "codex", "gemini_cli", "opencode", "pi", "qwen_code"})
      EXPECT_EQ(words_of_refusal(last_refusal(program, tail)), "");
  const auto lots = last_refusal("pi", pi_end(pi_error("429 " + std::string(kRefusalLineBytesMax * 2, 'x'))));
  ASSERT_TRUE(lots);
  EXPECT_EQ(lots->line.size(), kRefusalLineBytesMax);
}

}  // namespace
}  // namespace pawl::agent
