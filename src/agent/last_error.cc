#include "agent/last_error.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/printed.h"
#include "agent/refusal.h"
#include "base/lines.h"

namespace pawl::agent {
namespace {

constexpr std::int64_t kMessageMax = 16 << 10;  // characters: some providers answer with a page of HTML
constexpr std::int64_t kRetryAfterDigitsMax = 9;

// Calls `visit` for each line that is an event, the newest first, until it returns false. Other lines are of standard
// error, or of programs that it started.
void each_event_from_end(std::string_view tail, const std::function<bool(PrintedObject event)>& visit) {
  std::size_t lines = 0;
  for (std::string_view line : TextLinesFromEnd(tail)) {
    if (++lines > kRefusalLinesMax) break;
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::optional<PrintedObject> event;
    if (line.starts_with('{') && line.ends_with('}')) event = PrintedObject::parse(std::string(line));
    if (line.starts_with("[{") && line.ends_with("}]")) event = printed_result(line);
    if (event && event->has("type") && !visit(*std::move(event))) return;
  }
}

std::optional<PrintedObject> last_event(std::string_view tail) {
  std::optional<PrintedObject> out;
  each_event_from_end(tail, [&](PrintedObject event) {
    out = std::move(event);
    return false;
  });
  return out;
}

LastError ended_with(std::int64_t status, std::string_view message) {
  return {.status = status,
          .message = std::string(message.substr(0, kRefusalLineBytesMax)),
          .retry_after_seconds = std::nullopt};
}

std::optional<LastError> error_of(std::int64_t status, std::string_view message) {
  if (status == 0 && message.empty()) return std::nullopt;
  return ended_with(status, message);
}

// {"error":{"message":"...","code":503}}, alone or behind "got status: UNAVAILABLE. ": so the client of Google
// writes an error.
std::optional<LastError> error_of_google(std::string_view said) {
  if (!said.starts_with('{') && !said.starts_with("got status: ")) return std::nullopt;
  const auto begin = said.find('{'), end = said.rfind('}');
  if (begin == said.npos || end == said.npos || end < begin) return std::nullopt;
  const auto answer = PrintedObject::parse(std::string(said.substr(begin, end + 1 - begin)));
  const auto error = answer ? answer->object("error") : std::nullopt;
  if (!error) return std::nullopt;
  auto out = error_of(error->count("code"), error->text("message", kMessageMax));
  if (out) out->is_of_credential = said.find("API_KEY_INVALID") != said.npos;
  return out;
}

// "429 Rate limit reached": so the clients of OpenAI and Anthropic write an error with a status.
std::optional<LastError> error_with_status(std::string_view said) {
  if (auto of_google = error_of_google(said)) return of_google;
  constexpr std::size_t kDigits = 3;
  const auto space = said.find(' ');
  const auto status = space == kDigits ? digits(said.substr(0, kDigits)).value_or(0) : 0;
  return error_of(status, status == 0 ? said : said.substr(kDigits + 1));
}

}  // namespace

// The line that the client says last before its line of JSON, which has no place between lines of standard error.
std::optional<LastError> last_error_of_acp(std::string_view tail) {
  bool has_ended = false;
  for (const std::string_view line : TextLinesFromEnd(tail)) {
    has_ended = has_ended || (line.starts_with('{') && line.find(R"("type":"acp_end")") != line.npos);
    if (has_ended && line.starts_with("acp: ")) return error_of(0, line);
  }
  return std::nullopt;
}

// {"type":"result","is_error":true,"api_error_status":429,"result":"You've hit your session limit · resets 3pm (UTC)"}
// A result without a text has its reason in `subtype`: error_max_turns. Events of the session may stand behind it.
// Anthropic answers with 400 to the key of an account that has no credit or is disabled.
std::optional<LastError> last_error_of_claude_code(std::string_view tail) {
  std::optional<PrintedObject> result;
  each_event_from_end(tail, [&](PrintedObject event) {
    const std::string type = event.text("type");
    if (type == "result") result = std::move(event);
    return type != "result" && type != "assistant" && type != "user";
  });
  if (!result || result->json("is_error", sizeof "true") != "true") return std::nullopt;
  std::string said = result->text("result", kMessageMax);
  if (said.empty() && result->text("subtype").starts_with("error")) said = result->text("subtype");
  auto out = ended_with(result->count("api_error_status"), said);
  out.is_of_credential = said.starts_with("Credit balance is too low") ||
                         said.starts_with("Your ANTHROPIC_API_KEY belongs to a disabled organization");
  return out;
}

// {"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: ..."}}, or "error" with a message. The
// event "error" that stands before turn.failed says the same, and may say more: the details with the time of a reset.
std::optional<LastError> last_error_of_codex(std::string_view tail) {
  std::vector<PrintedObject> newest_first;
  each_event_from_end(tail, [&](PrintedObject event) {
    newest_first.push_back(std::move(event));
    return newest_first.size() < 2;
  });
  const auto error_event = [&](std::size_t at) {
    const bool is_error = at < newest_first.size() && newest_first[at].text("type") == "error";
    return is_error ? std::optional(newest_first[at].text("message", kMessageMax)) : std::nullopt;
  };
  if (const auto said = error_event(0)) return ended_with(0, *said);
  if (newest_first.empty() || newest_first.front().text("type") != "turn.failed") return std::nullopt;
  const auto error = newest_first.front().object("error");
  const std::string said = error ? error->text("message", kMessageMax) : "";
  auto begin = std::string_view(said);
  if (begin.ends_with('.')) begin.remove_suffix(1);
  const auto before = error_event(1);
  return ended_with(0, before && before->starts_with(begin) ? *before : said);
}

// The one object that it prints has `response` or {"error":{"message":"{\"error\":{\"message\":...}}","code":400}}. Google
// answers to a wrong key with 400. An error without a status has the code 1, also where Google's answer has one.
std::optional<LastError> last_error_of_gemini_cli(std::string_view tail) {
  const auto printed = printed_objects(tail, {R"("error")", R"("response")"}, 1);
  const auto error = printed.empty() ? std::nullopt : printed.back().object("error");
  if (!error) return std::nullopt;
  const auto said = error->text("message", kMessageMax);
  const auto answer = PrintedObject::parse(said);
  const auto inner = answer ? answer->object("error") : std::nullopt;
  constexpr std::int64_t kStatusMin = 100;  // below are its own exit codes
  auto status = error->count("code");
  if (status < kStatusMin) status = inner ? inner->count("code") : 0;
  // It makes such an error of each 429 and 503. Older versions give it no status.
  if (status == 0 && error->text("type").ends_with("QuotaError")) status = 429;
  auto out = ended_with(status, inner ? inner->text("message", kMessageMax) : said);
  out.is_of_credential = inner && said.find("API_KEY_INVALID") != said.npos;
  return out;
}

// {"type":"error","error":{"name":"APIError","data":{"message":"...","statusCode":429,"responseHeaders":{...}}}}
std::optional<LastError> last_error_of_opencode(std::string_view tail) {
  const auto event = last_event(tail);
  if (!event || event->text("type") != "error") return std::nullopt;
  const auto error = event->object("error");
  const auto data = error ? error->object("data") : std::nullopt;
  if (!data) return std::nullopt;
  auto out = error_of(data->count("statusCode"), data->text("message", kMessageMax));
  const auto headers = data->object("responseHeaders");
  // RFC 9110, 10.2.3: seconds, or a date, which no provider of models sends.
  const auto after = headers ? headers->text("retry-after", kRetryAfterDigitsMax) : "";
  if (out) out->retry_after_seconds = digits(after);
  return out;
}

// After its own retries {"type":"auto_retry_end","success":false,"finalError":"429 ..."}. An error that it does not retry
// is its last message: {"type":"agent_end","messages":[..., {"stopReason":"error","errorMessage":"401 ..."}]}.
std::optional<LastError> last_error_of_pi(std::string_view tail) {
  const auto event = last_event(tail);
  if (!event) return std::nullopt;
  const std::string type = event->text("type");
  if (type == "auto_retry_end") return error_with_status(event->text("finalError", kMessageMax));
  std::optional<PrintedObject> last;
  if (type == "message_end" || type == "turn_end") last = event->object("message");
  if (type == "agent_end")
    if (auto messages = event->objects("messages"); !messages.empty()) last = std::move(messages.back());
  if (!last || last->text("stopReason") != "error") return std::nullopt;
  return error_with_status(last->text("errorMessage", kMessageMax));
}

// The result of a list or stream of messages. It ends with 0 and "success", and the error is the text of the result:
// "[API Error: 401 ...]". A model's text may say the same, so a call to the model must have failed.
std::optional<LastError> last_error_of_qwen_code(std::string_view tail) {
  constexpr std::string_view kBefore = "[API Error: ";
  const auto result = printed_result(tail);
  if (!result) return std::nullopt;
  const auto error = result->object("error");
  const auto said = error ? error->text("message", kMessageMax) : result->text("result", kMessageMax);
  if (!said.starts_with(kBefore)) return std::nullopt;
  std::int64_t failed = error ? 1 : 0;
  const auto stats = result->object("stats");
  const auto models = stats ? stats->object("models") : std::nullopt;
  if (models)
    models->each_object([&](const std::string&, const PrintedObject& model) {
      const auto calls = model.object("api");
      if (calls) failed = std::max(failed, calls->count("totalErrors"));
    });
  if (failed == 0) return std::nullopt;
  const auto message = std::string_view(said).substr(kBefore.size());
  if (auto of_google = error_of_google(message)) return of_google;
  return error_with_status(message.substr(0, message.find_first_of("\n]")));
}

}  // namespace pawl::agent
