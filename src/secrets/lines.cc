#include "base/lines.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "secrets/bytes.h"
#include "secrets/shapes.h"
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
constexpr std::size_t kWaitMin = 8;    // digits of a line that waits for the next: most words are shorter
constexpr std::size_t kTurnsMin = 3;   // turns in a shorter line that waits: see turns_in()
constexpr std::size_t kLeadMax = 16;   // bytes before them: "> ", "+", "    # "
constexpr std::size_t kTailMax = 4;    // bytes after them: `" +`, `\`
constexpr std::size_t kJointMax = 80;  // bytes between two strings that are joined
constexpr std::size_t kWordMin = 3;    // bytes before a quote within a word

bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool joins(char c) {
  return is_blank(c) || c == '$' || c == '+' || c == '.' || c == '&' || c == '|' || c == '\\' || is(c, kEnd);
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

// Lines of digits, one after the other, that have the same prefix.
struct Stack {
  std::vector<Strip> strips;
  std::size_t lead = 0, digits = 0;
  std::size_t end = 0;               // the line after it
  std::optional<std::size_t> other;  // a line whose sign may be a prefix and was taken for a digit
  bool is_even = true;               // all lines but the last have one size

  // Whether unwrapped() does not join the lines.
  bool is_hidden() const {
    const bool is_narrow = strips.front().end - strips.front().begin < kRunMin;
    return strips.size() > 1 && digits >= kRunMin && (is_narrow || lead > 0 || !is_even);
  }
};

Stack stack_at(std::string_view text, const Strip& first) {
  Stack out{.strips = {first},
            .lead = first.begin - first.line.begin,
            .digits = first.end - first.begin,
            .end = first.line.next};
  const auto has_padding = [&](const Strip& strip) {
    return strip.end < strip.line.end && text[strip.end] == '=';
  };
  for (bool is_last = has_padding(first); !is_last && out.end < text.size();) {
    const Line line = line_at(text, out.end);
    auto strip = strip_of(text, line, kNarrowMin);
    is_last = !strip;
    if (!strip) strip = last_strip_of(text, line, out.lead);
    if (!strip) break;
    is_last = is_last || has_padding(*strip);
    const std::size_t both = common_lead(text, first, *strip, out.lead);
    if (!begins_with_digits(text, first, both) || !begins_with_digits(text, *strip, both)) break;
    if (both < strip->begin - line.begin && !out.other) out.other = line.begin;
    out.is_even = out.is_even && out.strips.back().line.size() == first.line.size();
    out.lead = both;
    out.digits += strip->end - strip->begin;
    out.strips.push_back(*strip);
    out.end = line.next;
  }
  return out;
}

// The length of the joint that begins with the quote at `at`, between two strings that a program puts
// together; 0 when it is not a joint.
std::size_t joint_at(std::string_view text, std::size_t at) {
  const auto digit_at = [&](std::size_t next) { return next < text.size() && is(text[next], kBase64); };
  if (at == 0 || !digit_at(at - 1)) return 0;
  // bash's `$''` and `$""`.
  if (text[at] == '$' && at + 2 < text.size() && is_quote(text[at + 1]))
    return text[at + 1] == text[at + 2] && digit_at(at + 3) ? 3 : 0;
  if (!is_quote(text[at])) return 0;
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

// How a line that may be one of many short lines of digits belongs to them.
enum class Place { kNone, kFirst, kInside };

Place place_of(std::string_view line) {
  if (may_go_on(line) || is_of_a_dump(line) || opens_value(line)) return Place::kFirst;
  const auto strip = strip_of(line, {.end = line.size()}, kNarrowMin);
  // A terminal shows words at once. A short line waits only when it looks like none, or after one that waits.
  const std::size_t turns = strip ? turns_in(line.substr(strip->begin, strip->end - strip->begin)) : 0;
  return turns >= kTurnsMin ? Place::kFirst : turns > 0 ? Place::kInside : Place::kNone;
}

// How many bytes at the end of `lines` are lines of digits that may continue in the next line. The last line may be
// open.
std::size_t packed_end(std::string_view lines) {
  std::size_t first = lines.size();
  int empty = 0;  // lines before which the name of a value may stand
  for (std::string_view line : TextLinesFromEnd(lines)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const Place place = place_of(line);
    const bool is_between = is_empty_line(line) && (place == Place::kNone || empty > 0);
    if (is_between && ++empty <= kEmptyLinesMax) continue;
    if (place == Place::kNone || (empty > 0 && !opens_value(line))) break;
    empty = 0;
    if (place == Place::kFirst) first = static_cast<std::size_t>(line.data() - lines.data());
  }
  return lines.size() - first;
}

// The first and last lines of private keys: of OpenSSL and OpenPGP, and of ssh.com.
constexpr std::pair<std::string_view, std::string_view> kKeys[] = {{"-----BEGIN ", "-----END "},
                                                                   {"---- BEGIN ", "---- END "}};

}  // namespace

// Not at a capital that begins a word, nor at the number that ends one. `line-3`, `Test1` and `README` have no
// turns, `readFile` has one.
std::size_t turns_in(std::string_view digits) {
  enum Kind : unsigned char { kSign, kLower, kUpper, kNumber };
  const auto kind_of = [](char c) {
    if (c >= 'a' && c <= 'z') return kLower;
    if (c >= 'A' && c <= 'Z') return kUpper;
    return c >= '0' && c <= '9' ? kNumber : kSign;
  };
  std::size_t turns = 0;
  Kind before = kSign;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    const Kind now = kind_of(digits[at]);
    const bool is_capital = before == kUpper && now == kLower;
    const auto number_end = now == kNumber ? digits.find_first_not_of("0123456789", at) : 0;
    const bool ends_a_word =
        now == kNumber && (number_end == digits.npos || kind_of(digits[number_end]) == kSign);
    if (before != kSign && now != kSign && now != before && !is_capital && !ends_a_word) ++turns;
    before = now;
  }
  return turns;
}

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
    const std::size_t joint = is_quote(text[at]) || text[at] == '$' ? joint_at(text, at) : 0;
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
  std::size_t covered = 0;  // by the stack whose lines are searched again
  for (Line line = line_at(text, 0); line.next < text.size();) {
    const auto first = strip_of(text, line, kNarrowMin);
    if (!first) {
      line = line_at(text, line.next);
      continue;
    }
    const Stack stack = stack_at(text, *first);
    if (stack.is_hidden()) out.push_back(without_leads(text, stack.strips, stack.lead));
    // Each line is read twice at most, whatever its prefix looks like.
    const bool again = stack.other && line.begin >= covered;
    const std::size_t end = std::max(stack.end, covered);
    covered = again ? end : covered;
    line = line_at(text, again ? *stack.other : end);
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

Range with_value(std::string_view text, Range line) {
  int empty = kEmptyLinesMax;  // no line has opened a value
  for (std::size_t begin = line.begin;;) {
    const auto last = text.substr(begin, line.end - begin);
    if (opens_value(last))
      empty = 0;
    else if (empty == kEmptyLinesMax || !is_empty_line(last))
      break;
    else
      ++empty;
    begin = line.end + (text.substr(line.end).starts_with("\r\n") ? 2 : 1);
    if (begin >= text.size()) break;
    line.end = std::min(text.find_first_of("\n\r", begin), text.size());
  }
  return line;
}

std::size_t safe_cut(std::string_view text) {
  // Not after \r alone: a secret may have it in between.
  const auto line = text.rfind('\n');
  std::size_t cut = line == std::string_view::npos ? 0 : line + 1;
  const std::string_view lines = text.substr(0, cut);
  for (const auto& [first, last] : kKeys)
    if (const auto begin = find_last(lines, first); begin < cut && lines.find(last, begin) == lines.npos)
      cut = begin;
  return cut - packed_end(text.substr(0, cut));
}

}  // namespace pawl::secrets
