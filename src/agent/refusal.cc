#include "agent/refusal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/lines.h"

namespace pawl::agent {
namespace {

using enum RefusalKind;

constexpr std::int64_t kRetryAfterSecondsMax = 30LL * 24 * 3600;  // more than any provider's window

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

// Recorded lines of the programs:
// - github.com/anthropics/claude-code/issues/21111, 24687, 51981 and 77978,
// - github.com/openai/codex, codex-rs/core/src/error.rs.
// Gemini CLI ends with the lowest byte of the HTTP status, and retries for minutes before. Agents with the Agent
// Client Protocol have one error for a login (-32000), and say all else in the code or message of an error.
const std::array<NamedSigns, 4>& signs_in_words() {
  static const std::array<NamedSigns, 4> all = {{
      {"claude_code",
       {.provider = "anthropic", .lines = lines_of_claude_code(), .last_error = &last_error_of_claude_code}},
      {"codex",
       {.provider = "openai",
        .lines = {{kLimited, 429, {"hit your usage limit"}},
                  {kLimited, 429, {"last status: 429"}},
                  {kLimited, 529, {"last status: 529"}},
                  {kLimited, 503, {"last status: 503"}},
                  {kLimited, 429, {"Rate limit reached for", "try again in"}},
                  {kUnauthorized, 401, {"last status: 401"}},
                  {kUnauthorized, 401, {"unexpected status 401"}},
                  {kUnauthorized, 403, {"unexpected status 403"}}}}},
      {"gemini_cli",
       {.provider = "google",
        .exits = {{429 & 0xFF, kLimited, 429},
                  {503 & 0xFF, kLimited, 503},
                  {401 & 0xFF, kUnauthorized, 401},
                  {403 & 0xFF, kUnauthorized, 403}},
        .lines = {{kLimited, 429, {"RESOURCE_EXHAUSTED"}},
                  {kLimited, 429, {"\"code\": 429"}},
                  {kLimited, 429, {"Suggested retry after"}},
                  {kLimited, 429, {"quota will reset after"}}}}},
      {"acp",
       {.provider = "the agent's provider",
        .whole_behind = "acp: error ",
        .exits = {{27, kUnauthorized, 401}},
        .lines = {{kLimited, 429, {"429"}},
                  {kLimited, 429, {"rate limit"}},
                  {kLimited, 429, {"rate limits"}},
                  {kLimited, 429, {"rate limited"}},
                  {kLimited, 429, {"usage limit"}},
                  {kLimited, 429, {"hit your", "limit"}},
                  {kLimited, 429, {"resource_exhausted"}},
                  {kLimited, 529, {"529"}},
                  {kLimited, 529, {"overloaded"}},
                  {kUnauthorized, 401, {"-32000"}},
                  {kUnauthorized, 401, {"401"}},
                  {kUnauthorized, 403, {"403"}}}}},
  }};
  return all;
}

// Recorded events are in tests/agent/last_error_test.cc. pi and Qwen Code end with 0, whatever the provider says.
const std::array<NamedSigns, 3>& signs_in_events() {
  static const std::array<NamedSigns, 3> all = {{
      {"opencode", {.provider = "opencode's provider", .last_error = &last_error_of_opencode}},
      {"pi", {.provider = "pi's provider", .last_error = &last_error_of_pi, .may_end_with_0 = true}},
      {"qwen_code",
       {.provider = "Qwen Code's provider", .last_error = &last_error_of_qwen_code, .may_end_with_0 = true}},
  }};
  return all;
}

// All but ASCII is of a word, too.
bool is_of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_' || static_cast<unsigned char>(c) > 0x7F;
}

// Not in another word, nor in 1.429, 429.1 or host:429. A point or colon may end it.
bool has_whole(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const auto before = line.substr(0, at);
    auto after = line.substr(at + word.size());
    if (after.starts_with('.') || after.starts_with(':')) after.remove_prefix(1);
    const bool begins =
        before.empty() || !(is_of_word(before.back()) || before.ends_with('.') || before.ends_with(':'));
    if (begins && (after.empty() || !is_of_word(after.front()))) return true;
  }
  return false;
}

bool says(const RefusalSigns& signs, std::string_view line, const std::vector<std::string>& words) {
  if (signs.whole_behind.empty())
    return std::ranges::all_of(words, [&](const auto& word) { return line.find(word) != line.npos; });
  if (!line.starts_with(signs.whole_behind)) return false;
  std::string lower(line.substr(signs.whole_behind.size()));
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::ranges::all_of(words, [&](const auto& word) { return has_whole(lower, word); });
}

// The part of a line that says it: of a JSON object, the text that the word is in.
std::string said_in(std::string_view line, std::string_view word) {
  if (!line.starts_with('{')) return std::string(line);
  const auto at = line.find(word);
  const auto quote = at == 0 ? line.npos : line.rfind('"', at - 1);
  const auto begin = quote == line.npos ? at : quote + 1;
  auto end = line.find('"', at);
  while (end != line.npos && line[end - 1] == '\\') end = line.find('"', end + 1);
  return std::string(line.substr(begin, end == line.npos ? end : end - begin));
}

// The last lines of the text, the newest first, each cut.
std::vector<std::string_view> last_lines(std::string_view text) {
  if (text.size() > kRefusalTailBytes) text.remove_prefix(text.size() - kRefusalTailBytes);
  std::vector<std::string_view> out;
  for (const std::string_view line : TextLinesFromEnd(text)) {
    if (out.size() == kRefusalLinesMax) break;
    if (!line.empty()) out.push_back(line.substr(0, kRefusalLineBytesMax));
  }
  return out;
}

std::optional<RefusalKind> kind_of(std::int64_t http_status) {
  if (http_status == 429 || http_status == 503 || http_status == 529) return kLimited;
  if (http_status == 401 || http_status == 403) return kUnauthorized;
  return std::nullopt;
}

std::optional<Refusal> refusal_by_event(const RefusalSigns& signs, std::string_view tail,
                                        const EndTime& ended) {
  constexpr std::int64_t kMicros = 1'000'000;
  auto error = signs.last_error(tail);
  const auto kind = error ? kind_of(error->status) : std::nullopt;
  if (!kind) return std::nullopt;
  const auto after = error->retry_after_seconds;
  const bool named = after && *after <= kRetryAfterSecondsMax;
  auto reset = named ? std::optional(Reset{.at = {ended.at.micros + *after * kMicros}})
                     : reset_in(error->message, ended);
  return Refusal{.kind = *kind, .status = error->status, .reset = reset, .line = std::move(error->message)};
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
  std::optional<Refusal> out;
  if (signs.last_error != nullptr) out = refusal_by_event(signs, tail, ended);
  if (out) return out;
  // The newest line counts: a program may go on after an earlier refusal, and end for another reason.
  for (const auto line : last_lines(tail)) {
    const auto sign =
        std::ranges::find_if(signs.lines, [&](const auto& each) { return says(signs, line, each.words); });
    if (sign == signs.lines.end()) continue;
    if (!out)
      out = Refusal{.kind = sign->kind, .status = sign->status, .line = said_in(line, sign->words.front())};
    // A program may say the same in several lines, of which one names the time.
    if (out->kind == sign->kind) out->reset = reset_in(line, ended);
    if (out->reset) break;
  }
  if (out) return out;
  const auto exit = std::ranges::find(signs.exits, exit_code, &RefusalSigns::Exit::code);
  if (exit == signs.exits.end()) return std::nullopt;
  return Refusal{.kind = exit->kind, .status = exit->status};
}

}  // namespace pawl::agent
