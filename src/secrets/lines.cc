#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "secrets/bytes.h"
#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

// How many digits of base64 end `line`; 0 when they look like a word.
std::size_t digits_at_end(std::string_view line) {
  std::size_t n = 0;
  bool upper = false, lower = false, number = false;
  for (; n < line.size(); ++n) {
    const char c = line[line.size() - 1 - n];
    if (base64_digit(c) < 0 && c != ':') break;
    upper = upper || (c >= 'A' && c <= 'Z');
    lower = lower || (c >= 'a' && c <= 'z');
    number = number || (c >= '0' && c <= '9');
  }
  return number || (upper && lower) ? n : 0;
}

constexpr std::size_t kNarrowMin = 4;  // digits of a line that others may follow; the last one has fewer
constexpr std::size_t kTwoMin = 8;     // digits of the first of two lines: half of the shortest run
constexpr std::size_t kWaitMin = 8;    // digits of a line that waits for the next: most words are shorter
constexpr std::size_t kLeadMax = 16;   // bytes before them: "> ", "+", "    # "
constexpr std::size_t kTailMax = 4;    // bytes after them: `" +`, `\`
constexpr std::size_t kJointMax = 80;  // bytes between two strings that are joined
constexpr std::size_t kWordMin = 3;    // bytes before a quote within a word

bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool joins(char c) {
  return is_blank(c) || c == '+' || c == '.' || c == '&' || c == '|' || c == '\\' || is(c, kEnd);
}

bool is_alphanumeric(char c) { return is(c, kBase64) && c != '+' && c != '-' && c != '/' && c != '_'; }

struct Line {
  std::size_t begin = 0, end = 0, next = 0;  // `end`: without the newline; `next`: where the next line begins
  std::size_t size() const { return end - begin; }
};

Line line_at(std::string_view text, std::size_t begin) {
  const auto newline = text.find('\n', begin);
  Line out{.begin = begin, .end = std::min(newline, text.size()), .next = text.size()};
  if (newline != std::string_view::npos) out.next = newline + 1;
  if (out.end > begin && text[out.end - 1] == '\r') --out.end;
  return out;
}

// A line of base64 digits, with only signs before and after them.
struct Strip {
  Line line;
  std::size_t begin = 0, end = 0;  // its digits, from the first letter or number on
};

std::optional<Strip> strip_of(std::string_view text, const Line& line, std::size_t least) {
  Strip out{.line = line, .begin = line.begin};
  while (out.begin < line.end && !is_alphanumeric(text[out.begin])) ++out.begin;
  if (out.begin - line.begin > kLeadMax) return std::nullopt;
  out.end = out.begin;
  while (out.end < line.end && base64_digit(text[out.end]) >= 0) ++out.end;
  if (out.end - out.begin < least || line.end - out.end > kTailMax) return std::nullopt;
  const auto tail = text.substr(out.end, line.end - out.end);
  return std::ranges::any_of(tail, is_alphanumeric) ? std::nullopt : std::optional(out);
}

// The last line of a stack whose prefix has at most `lead` bytes: it may have a single digit, also a sign.
std::optional<Strip> last_strip_of(std::string_view text, const Line& line, std::size_t lead) {
  if (const auto strip = strip_of(text, line, 1)) return strip;
  Strip out{.line = line, .begin = line.begin + std::min(lead, line.size())};
  out.end = out.begin;
  while (out.end < line.end && base64_digit(text[out.end]) >= 0) ++out.end;
  const bool has_end = out.end > out.begin && line.end - out.end <= kTailMax;
  const auto tail = text.substr(out.end, line.end - out.end);
  return !has_end || std::ranges::any_of(tail, is_alphanumeric) ? std::nullopt : std::optional(out);
}

// Whether the two lines may begin a stack. All lines of a stack but the last have one size. When the second
// line is shorter, the first must end within a run.
bool begins_a_stack(std::string_view text, const Line& first, const Line& second) {
  if (first.size() < kNarrowMin || second.size() > first.size()) return false;
  if (first.size() == second.size()) return true;
  const auto digit_before = [&](std::size_t n) { return base64_digit(text[first.end - n]) >= 0; };
  return first.size() >= kTwoMin && digit_before(kTailMax + 1) && digit_before(kTwoMin);
}

// How many of the first `lead` bytes are the same in both lines before their digits.
std::size_t common_lead(std::string_view text, const Strip& a, const Strip& b, std::size_t lead) {
  const auto of_a = text.substr(a.line.begin, lead);
  const auto of_b = text.substr(b.line.begin, b.begin - b.line.begin);
  return static_cast<std::size_t>(std::ranges::mismatch(of_a, of_b).in1 - of_a.begin());
}

// Whether all bytes after a lead of that size are digits: "+" and "/" may be a lead or digits.
bool begins_with_digits(std::string_view text, const Strip& strip, std::size_t lead) {
  const std::size_t begin = strip.line.begin + lead;
  return std::ranges::all_of(text.substr(begin, strip.begin - begin),
                             [](char c) { return base64_digit(c) >= 0; });
}

Decoded without_leads(std::string_view text, const std::vector<Strip>& strips, std::size_t lead) {
  Decoded out(text, strips.front().line.begin + lead);
  for (const auto& strip : strips) {
    const std::size_t begin = strip.line.begin + lead;
    if (begin > out.at()) out.replace(begin - out.at(), "");
    out.keep(strip.end - out.at());
  }
  return out;
}

// The length of the joint that begins with the quote at `at`, between two strings that a program puts
// together; 0 when it is not a joint.
std::size_t joint_at(std::string_view text, std::size_t at) {
  const auto digit_at = [&](std::size_t next) { return next < text.size() && is(text[next], kBase64); };
  if (at == 0 || !digit_at(at - 1)) return 0;
  std::size_t end = at + 1;
  const std::size_t most = std::min(text.size(), at + kJointMax);
  while (end < most && joins(text[end])) ++end;
  const bool is_put_together =
      end == at + 1 || text.substr(at + 1, end - at - 1).find_first_not_of(" \t") != std::string_view::npos;
  if (is_put_together && end < most && is_quote(text[end]) && digit_at(end + 1)) return end + 1 - at;
  // A shell's word continues after a quote. A letter before a string of Python is a prefix and not a word.
  const bool is_word = at >= kWordMin && is_alphanumeric(text[at - 1]) && digit_at(at - kWordMin);
  return is_word && at + 1 < text.size() && is_alphanumeric(text[at + 1]) ? 1 : 0;
}

// Like rfind, for a text that rarely contains `what`: memmem(3) is many times faster.
std::size_t find_last(std::string_view text, std::string_view what) {
  std::size_t last = std::string_view::npos;
  for (std::size_t at = 0;;) {
    const void* found = memmem(text.data() + at, text.size() - at, what.data(), what.size());
    if (found == nullptr) return last;
    last = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    at = last + 1;
  }
}

// How many bytes at the end of `lines` are lines of digits that may continue in the next line.
std::size_t packed_end(std::string_view lines) {
  std::size_t begin = lines.size();
  while (begin > 0) {
    std::size_t end = begin - 1;
    if (end > 0 && lines[end] == '\n' && lines[end - 1] == '\r') --end;
    const auto before = lines.substr(0, end).find_last_of("\n\r");
    const std::size_t line = before == std::string_view::npos ? 0 : before + 1;
    if (!may_go_on(lines.substr(line, end - line))) break;
    begin = line;
  }
  return lines.size() - begin;
}

// The first and last lines of private keys: of OpenSSL and OpenPGP, and of ssh.com.
constexpr std::pair<std::string_view, std::string_view> kKeys[] = {{"-----BEGIN ", "-----END "},
                                                                   {"---- BEGIN ", "---- END "}};

}  // namespace

Decoded unwrapped(std::string_view text) {
  Decoded out(text);
  while (!out.rest().empty()) {
    const auto rest = out.rest();
    const auto line = rest.substr(0, first_of(rest, kEnd));
    out.keep(line.size());
    if (line.size() == rest.size()) break;
    std::size_t next = line.size();
    while (next < rest.size() && is(rest[next], kEnd)) ++next;
    while (next < rest.size() && is_blank(rest[next])) ++next;
    const bool goes_on =
        next < rest.size() && base64_digit(rest[next]) >= 0 && digits_at_end(line) >= kRunMin;
    if (goes_on)
      out.replace(next - line.size(), "");
    else
      out.keep(next - line.size());
  }
  return out;
}

Decoded joined(std::string_view text, std::size_t begin) {
  Decoded out(text, begin);
  for (std::size_t at = begin; at < text.size() && !is(text[at], kEnd);) {
    const std::size_t joint = is_quote(text[at]) ? joint_at(text, at) : 0;
    if (joint == 0) {
      ++at;
      continue;
    }
    out.keep(at - out.at());
    out.replace(joint, "");
    at = out.at();
  }
  if (out.changed()) out.keep(first_of(out.rest(), kEnd));
  return out;
}

std::vector<Decoded> stacked(std::string_view text) {
  std::vector<Decoded> out;
  for (Line line = line_at(text, 0); line.next < text.size();) {
    const Line after = line_at(text, line.next);
    const auto first = begins_a_stack(text, line, after) ? strip_of(text, line, kNarrowMin) : std::nullopt;
    line = after;
    if (!first) continue;
    std::vector<Strip> strips = {*first};
    std::size_t lead = first->begin - first->line.begin, digits = first->end - first->begin;
    for (bool is_last = false; !is_last && line.begin < text.size();) {
      is_last = line.size() < first->line.size();
      const auto strip = is_last ? last_strip_of(text, line, lead) : strip_of(text, line, kNarrowMin);
      if (!strip || line.size() > first->line.size()) break;
      const std::size_t both = common_lead(text, *first, *strip, lead);
      if (!begins_with_digits(text, *first, both) || !begins_with_digits(text, *strip, both)) break;
      lead = both;
      digits += strip->end - strip->begin;
      strips.push_back(*strip);
      line = line_at(text, line.next);
    }
    const bool is_narrow = first->end - first->begin < kRunMin;
    if (strips.size() > 1 && digits >= kRunMin && (is_narrow || lead > 0))
      out.push_back(without_leads(text, strips, lead));
  }
  return out;
}

bool may_go_on(std::string_view line) {
  const std::size_t digits = digits_at_end(line);
  if (digits >= kRunMin) return true;
  if (line.ends_with('=')) return true;  // also the soft end of a line
  if (const auto strip = strip_of(line, {.end = line.size()}, kNarrowMin))
    return digits_at_end(line.substr(0, strip->end)) >= kWaitMin;
  // A string that the next line continues, or may continue.
  const auto string = line.substr(0, line.find_last_not_of(" \t\\+.&|") + 1);
  if (string.empty() || !is_quote(string.back())) return false;
  const bool is_open = line.find_first_of("+.&|\\", string.size()) != std::string_view::npos;
  return is_open || digits_at_end(string.substr(0, string.size() - 1)) >= kWaitMin;
}

std::size_t safe_cut(std::string_view text) {
  const auto line = text.find_last_of("\n\r");
  std::size_t cut = line == std::string_view::npos ? 0 : line + 1;
  const std::string_view lines = text.substr(0, cut);
  for (const auto& [first, last] : kKeys)
    if (const auto begin = find_last(lines, first); begin < cut && lines.find(last, begin) == lines.npos)
      cut = begin;
  return cut - packed_end(text.substr(0, cut));
}

}  // namespace pawl::secrets
