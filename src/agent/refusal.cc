#include "agent/refusal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/printed.h"
#include "base/lines.h"

namespace pawl::agent {
namespace {

using enum RefusalKind;

constexpr std::int64_t kRetryAfterSecondsMax = 30LL * 24 * 3600;  // more than any provider's window

// 408 is a timeout. With 520 to 524 and 530 Cloudflare says that it got no answer.
constexpr std::array<std::int64_t, 13> kLimits = {408, 429, 500, 502, 503, 504, 520,
                                                  521, 522, 523, 524, 529, 530};
// With 402 the account has no money left: a person decides, as about a key that is refused.
constexpr std::array<std::int64_t, 3> kForAPerson = {401, 402, 403};

// So OpenAI says it within a stream, where it has no status.
constexpr const char* kErrorOfOpenAi = "The server had an error while processing your request";

using NamedSigns = std::pair<std::string_view, RefusalSigns>;

// Older versions print these lines, and have no status in their last event.
std::vector<RefusalSigns::Line> lines_of_claude_code() {
  return {
      {kLimited, 429, {"usage limit reached"}},           {kLimited, 429, {"hit your", "limit", "resets"}},
      {kLimited, 429, {"limit reached", "resets"}},       {kLimited, 429, {"API Error: 429"}},
      {kLimited, 429, {"API Error", "rate_limit_error"}}, {kLimited, 529, {"API Error: 529"}},
      {kLimited, 529, {"API Error", "Overloaded"}},       {kLimited, 529, {"API Error", "overloaded_error"}},
      {kUnauthorized, 401, {"API Error: 401"}},           {kUnauthorized, 403, {"API Error: 403"}},
      {kUnauthorized, 401, {"Invalid API key"}},          {kUnauthorized, 401, {"Please run /login"}},
      {kUnauthorized, 401, {"OAuth token has expired"}}};
}

std::vector<RefusalSigns::Line> errors_of_claude_code() {
  return {{kLimited, 0, {"API Error: Unable to connect to API"}},
          {kLimited, 0, {"API Error: Connection to the API was lost"}},
          {kLimited, 408, {"Request timed out"}},
          {kLimited, 504, {"API Error: Stream idle timeout"}},
          {kLimited, 529, {"Repeated 529 Overloaded errors"}},
          {kLimited, 529, {"is experiencing high load, please use /model"}}};
}

// A stream that broke off was an answer, so it has a status. Without one, a host that the egress refused beside
// it would make it a failed attempt.
std::vector<RefusalSigns::Line> errors_of_codex() {
  std::vector<RefusalSigns::Line> out = {
      {kLimited, 0, {"stream disconnected before completion", "error sending request"}},
      {kLimited, 0, {"stream disconnected before completion", "error decoding response body"}},
      {kLimited, 502, {"stream disconnected before completion", "before response.completed"}},
      {kLimited, 504, {"stream disconnected before completion", "idle timeout waiting for"}},
      {kLimited, 500, {"currently experiencing high demand"}},
      {kLimited, 503, {"Selected model is at capacity"}},
      {kLimited, 503, {"capacity is unavailable. Please try again later"}},
      {kUnauthorized, 402, {"unexpected status 402"}},
      {kUnauthorized, 402, {"last status: 402"}},
      {kUnauthorized, 402, {"Quota exceeded. Check your plan and billing details"}},
      {kUnauthorized, 402, {"Your workspace is out of credits"}},
      {kUnauthorized, 402, {"You hit your spend cap"}},
      {kUnauthorized, 402, {"To use Codex with your ChatGPT plan, upgrade"}}};
  for (const auto status : kLimits) {
    if (status == 429) continue;  // one of the older lines may name the reset
    for (const auto* before : {"unexpected status ", "last status: "})
      out.push_back({kLimited, status, {before + std::to_string(status)}});
  }
  return out;
}

std::vector<RefusalSigns::Line> lines_of_acp() {
  return {{kLimited, 429, {"429"}, true},
          {kLimited, 429, {"rate limit"}},
          {kLimited, 429, {"rate limits"}},
          {kLimited, 429, {"rate limited"}},
          {kLimited, 429, {"usage limit"}},
          {kLimited, 429, {"hit your", "limit"}},
          {kLimited, 429, {"resource_exhausted"}},
          {kLimited, 529, {"529"}, true},
          {kLimited, 529, {"overloaded"}},
          {kUnauthorized, 401, {"-32000"}, true},
          {kUnauthorized, 401, {"401"}, true},
          {kUnauthorized, 403, {"403"}, true},
          {kUnauthorized, 400, {"api_key_invalid"}},
          {kUnauthorized, 401, {"incorrect api key"}},
          {kUnauthorized, 401, {"invalid api key"}},
          {kUnauthorized, 401, {"invalid x-api-key"}}};
}

// opencode gives the provider's text without its status. The words are common, so they count in the error of a
// turn alone, never in another line. A file or a command may be forbidden, too.
std::vector<RefusalSigns::Line> errors_of_acp() {
  std::vector<RefusalSigns::Line> out = {
      {kLimited, 0, {"fetch failed"}},
      {kLimited, 0, {"connection error"}},
      {kLimited, 0, {"cannot connect to api"}},
      {kLimited, 0, {"unable to connect to api"}},
      {kLimited, 0, {"connection to the api was lost"}},
      {kLimited, 0, {"connection reset by server"}},
      {kLimited, 0, {"error sending request"}},
      {kLimited, 0, {"internal error: terminated"}},
      {kUnauthorized, 402, {"payment required"}},
      {kUnauthorized, 402, {"insufficient balance"}},
      {kUnauthorized, 402, {"insufficient credits"}},
      {kUnauthorized, 402, {"requires more credits"}},
      {kUnauthorized, 402, {"credit balance is too low"}},
      {kUnauthorized, 402, {"quota exceeded. check your plan and billing details"}},
      {kUnauthorized, 402, {"402"}, true},
      {kLimited, 429, {"too many requests"}},
      {kLimited, 429, {"exceeded your current quota"}},
      {kLimited, 500, {"an internal error has occurred"}},
      {kLimited, 500, {"internal error: 500"}},
      {kLimited, 500, {"internal error: internal server error"}},
      {kLimited, 500, {"internal error: server error"}},
      {kLimited, 500, {"the server had an error while processing your request"}}};
  for (const auto status : kLimits)
    if (status != 429 && status != 500 && status != 529)  // each is a sign of its own
      out.push_back({kLimited, status, {std::to_string(status)}, true});
  out.insert(out.end(), {{kLimited, 408, {"request timed out"}},
                         {kLimited, 408, {"request timeout"}},
                         {kLimited, 502, {"bad gateway"}},
                         {kLimited, 502, {"before response.completed"}},
                         {kLimited, 503, {"service unavailable"}},
                         {kLimited, 503, {"selected model is at capacity"}},
                         {kLimited, 504, {"gateway timeout"}},
                         {kLimited, 504, {"sse read timed out"}},
                         {kLimited, 504, {"response headers timed out"}},
                         {kLimited, 504, {"idle timeout waiting for"}},
                         {kUnauthorized, 401, {"unauthorized"}},
                         {kUnauthorized, 403, {"403 forbidden"}},
                         {kUnauthorized, 403, {"forbidden"}, true}});
  return out;
}

// Recorded lines of the programs:
// - github.com/anthropics/claude-code/issues/21111, 24687, 51981 and 77978,
// - github.com/openai/codex, codex-rs/core/src/error.rs.
// Gemini CLI ends with the lowest byte of the HTTP status, and retries for minutes before. Agents with the Agent
// Client Protocol have one error for a login (-32000), and say all else in the code or message of an error. Gemini CLI
// gives the code 500 to errors of any kind there.
const std::array<NamedSigns, 4>& signs_in_words() {
  static const std::array<NamedSigns, 4> all = {{
      {"claude_code",
       {.provider = "anthropic",
        .lines = lines_of_claude_code(),
        .last_error = &last_error_of_claude_code,
        .errors = errors_of_claude_code()}},
      {"codex",
       {.provider = "openai",
        .lines = {{kLimited, 429, {"hit your usage limit"}},
                  {kLimited, 429, {"last status: 429"}},
                  {kLimited, 529, {"last status: 529"}},
                  {kLimited, 503, {"last status: 503"}},
                  {kLimited, 429, {"Rate limit reached for", "try again in"}},
                  {kUnauthorized, 401, {"last status: 401"}},
                  {kUnauthorized, 401, {"unexpected status 401"}},
                  {kUnauthorized, 403, {"unexpected status 403"}}},
        .last_error = &last_error_of_codex,
        .errors = errors_of_codex()}},
      {"gemini_cli",
       {.provider = "google",
        .exits = {{429 & 0xFF, kLimited, 429},
                  {503 & 0xFF, kLimited, 503},
                  {401 & 0xFF, kUnauthorized, 401},
                  {403 & 0xFF, kUnauthorized, 403}},
        .lines = {{kLimited, 429, {"RESOURCE_EXHAUSTED"}},
                  {kLimited, 429, {"\"code\": 429"}},
                  {kLimited, 429, {"Suggested retry after"}},
                  {kLimited, 429, {"quota will reset after"}}},
        .last_error = &last_error_of_gemini_cli,
        .errors = {{kLimited, 0, {"fetch failed"}},
                   {kLimited, 0, {"terminated"}},
                   {kLimited, 429, {"You exceeded your current quota"}},
                   {kLimited, 429, {"You have exhausted your"}}}}},
      {"acp",
       {.provider = "the agent's provider",
        .whole_behind = "acp: error ",
        .exits = {{27, kUnauthorized, 401}},
        .lines = lines_of_acp(),
        .last_error = &last_error_of_acp,
        .errors = errors_of_acp()}},
  }};
  return all;
}

// Recorded events are in tests/agent/last_error_test.cc. pi and Qwen Code end with 0, whatever the provider says.
const std::array<NamedSigns, 3>& signs_in_events() {
  static const std::array<NamedSigns, 3> all = {{
      {"opencode",
       {.provider = "opencode's provider",
        .last_error = &last_error_of_opencode,
        .errors = {{kLimited, 0, {"Cannot connect to API"}},
                   {kLimited, 0, {"Connection reset by server"}},
                   {kLimited, 500, {kErrorOfOpenAi}},
                   {kLimited, 504, {"SSE read timed out"}},
                   {kLimited, 504, {"Provider response headers timed out"}},
                   {kUnauthorized, 402, {"Quota exceeded. Check your plan and billing details"}}}}},
      {"pi",
       {.provider = "pi's provider",
        .last_error = &last_error_of_pi,
        .errors = {{kLimited, 0, {"Connection error."}},
                   {kLimited, 0, {"terminated"}},
                   {kLimited, 408, {"Request timed out"}},
                   {kLimited, 500, {kErrorOfOpenAi}}},
        .may_end_with_0 = true}},
      {"qwen_code",
       {.provider = "Qwen Code's provider",
        .last_error = &last_error_of_qwen_code,
        .errors = {{kLimited, 0, {"Connection error."}},
                   {kLimited, 0, {"terminated (cause:"}},
                   {kLimited, 408, {"Request timeout after"}},
                   {kLimited, 500, {kErrorOfOpenAi}}},
        .may_end_with_0 = true}},
  }};
  return all;
}

// All but ASCII is of a word, too.
bool is_of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_' || static_cast<unsigned char>(c) > 0x7F;
}

// Whether an error has its status behind this: its beginning or its code, or a word that says it, as in "HTTP 429",
// "API Error: 429", "status code 429", `"code":429` and "rejected (429)". A line or a count has its number elsewhere.
bool is_before_status(std::string_view before) {
  constexpr std::string_view kBetween = " :=\"'`\\([{";
  constexpr std::array<std::string_view, 7> kNames = {"code",     "http",     "statuscode", "errorcode",
                                                      "rejected", "response", "returned"};
  if (before.ends_with("failed (")) return true;
  before = before.substr(0, before.find_last_not_of(kBetween) + 1);
  if (before.ends_with(" of"))
    before = before.substr(0, before.find_last_not_of(kBetween, before.size() - 3) + 1);
  if (before.find_first_not_of("-0123456789?") == before.npos) return true;
  const auto name = before.substr(before.find_last_of(kBetween) + 1);
  return std::ranges::find(kNames, name) != kNames.end() || name.ends_with("error") ||
         name.ends_with("status") || name.ends_with("_code") || name.starts_with("http/");
}

// Not in another word, nor in 1.429, 429.1 or host:429. A point or colon may end it.
bool has_whole(std::string_view line, std::string_view word, bool is_status) {
  for (auto at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const auto before = line.substr(0, at);
    auto after = line.substr(at + word.size());
    if (after.starts_with('.') || after.starts_with(':')) after.remove_prefix(1);
    const bool begins = before.empty() || !(is_of_word(before.back()) || before.ends_with('.'));
    const bool stands = is_status ? is_before_status(before) : !before.ends_with(':');
    if (begins && stands && (after.empty() || !is_of_word(after.front()))) return true;
  }
  return false;
}

bool says(const RefusalSigns& signs, std::string_view line, const RefusalSigns::Line& sign) {
  if (signs.whole_behind.empty())
    return std::ranges::all_of(sign.words, [&](const auto& word) { return line.find(word) != line.npos; });
  if (!line.starts_with(signs.whole_behind)) return false;
  std::string lower(line.substr(signs.whole_behind.size()));
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::ranges::all_of(sign.words,
                             [&](const auto& word) { return has_whole(lower, word, sign.is_status); });
}

// The last lines of the text that are not of JSON, the newest first, each cut. Events have texts of the model, of files
// and of tools. An object may have several lines; the output of Node's console.log looks alike, and is no JSON.
std::vector<std::string_view> last_plain_lines(std::string_view text) {
  // The first line of an object may stand before the last lines.
  constexpr std::size_t kLinesOfObjectMax = 2 * kRefusalLinesMax;
  const std::size_t begin = text.size() - std::min(text.size(), kRefusalTailBytes);
  std::vector<std::string_view> out;
  std::size_t lines = 0, object_end = text.npos, lines_behind_object = 0;
  for (const std::string_view line : TextLinesFromEnd(text)) {
    if (line.empty()) continue;
    if (++lines > kLinesOfObjectMax) break;
    const auto at = static_cast<std::size_t>(line.data() - text.data());
    const bool is_of_json = line.starts_with('{') || line.starts_with("[{");
    if (line == "}" || line == "}\r") {
      object_end = at + 1;
      lines_behind_object = out.size();
    }
    if (is_of_json && object_end != text.npos) {
      if (PrintedObject::parse(std::string(text.substr(at, object_end - at))))
        out.resize(lines_behind_object);
      object_end = text.npos;
    }
    // A line that begins before `begin` is cut off, and may be of JSON.
    if (!is_of_json && at >= begin && lines <= kRefusalLinesMax)
      out.push_back(line.substr(0, kRefusalLineBytesMax));
  }
  return out;
}

std::optional<RefusalKind> kind_of(std::int64_t http_status) {
  if (std::ranges::find(kLimits, http_status) != kLimits.end()) return kLimited;
  if (std::ranges::find(kForAPerson, http_status) != kForAPerson.end()) return kUnauthorized;
  return std::nullopt;
}

const RefusalSigns::Line* sign_in(const RefusalSigns& signs, const std::vector<RefusalSigns::Line>& all,
                                  std::string_view line) {
  const auto found = std::ranges::find_if(all, [&](const auto& each) { return says(signs, line, each); });
  return found == all.end() ? nullptr : &*found;
}

std::optional<Refusal> refusal_by_event(const RefusalSigns& signs, const LastError& error,
                                        const EndTime& ended) {
  constexpr std::int64_t kMicros = 1'000'000;
  const auto* sign = error.status == 0 ? sign_in(signs, signs.errors, error.message) : nullptr;
  auto kind = error.is_of_credential ? kUnauthorized : kind_of(error.status);
  if (!kind && sign != nullptr) kind = sign->kind;
  if (!kind) return std::nullopt;
  const auto after = error.retry_after_seconds;
  const bool named = after && *after <= kRetryAfterSecondsMax;
  const auto reset = named ? std::optional(Reset{.at = {ended.at.micros + *after * kMicros}})
                           : reset_in(error.message, ended);
  return Refusal{.kind = *kind,
                 .status = sign != nullptr ? sign->status : error.status,
                 .reset = reset,
                 .line = error.message};
}

// The newest line counts: a program may go on after an earlier refusal, and end for another reason.
std::optional<Refusal> refusal_by_lines(const RefusalSigns& signs,
                                        const std::vector<std::string_view>& newest_first,
                                        const EndTime& ended) {
  std::optional<Refusal> out;
  for (const auto line : newest_first) {
    const auto* sign = sign_in(signs, signs.lines, line);
    if (sign == nullptr) continue;
    if (!out) out = Refusal{.kind = sign->kind, .status = sign->status, .line = std::string(line)};
    // A program may say the same in several lines, of which one names the time.
    if (out->kind == sign->kind) out->reset = reset_in(line, ended);
    if (out->reset) break;
  }
  return out;
}

}  // namespace

const RefusalSigns* refusal_signs(std::string_view program) {
  for (const auto& [name, signs] : signs_in_words())
    if (name == program) return &signs;
  for (const auto& [name, signs] : signs_in_events())
    if (name == program) return &signs;
  return nullptr;
}

std::size_t refusal_tail_bytes(const RefusalSigns& signs, std::int64_t exit_code) {
  if (exit_code == 0 && !signs.may_end_with_0) return 0;
  return signs.last_error != nullptr ? kEventTailBytes : kRefusalTailBytes;
}

std::optional<Refusal> refusal_in(const RefusalSigns& signs, std::int64_t exit_code, std::string_view tail,
                                  const EndTime& ended) {
  if (refusal_tail_bytes(signs, exit_code) == 0) return std::nullopt;
  const auto error = signs.last_error == nullptr ? std::nullopt : signs.last_error(tail);
  if (error)
    if (auto out = refusal_by_event(signs, *error, ended)) return out;
  // A program that names another error ended for that one, whatever other lines say.
  std::vector<std::string_view> lines;
  if (!error) lines = last_plain_lines(tail);
  if (error && error->status == 0) lines = {error->message};
  if (auto out = refusal_by_lines(signs, lines, ended)) return out;
  const auto exit = std::ranges::find(signs.exits, exit_code, &RefusalSigns::Exit::code);
  if (exit == signs.exits.end()) return std::nullopt;
  return Refusal{.kind = exit->kind, .status = exit->status};
}

std::string said_error(const RefusalSigns& signs, std::string_view tail) {
  const auto error = signs.last_error == nullptr ? std::nullopt : signs.last_error(tail);
  if (!error) return "";
  auto line = first_line(error->message);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string status = error->status == 0 ? "" : std::to_string(error->status);
  return (line.find(status) == line.npos ? status + ": " : "") + std::string(line);
}

}  // namespace pawl::agent
