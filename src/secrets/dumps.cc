#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "secrets/bytes.h"
#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

constexpr std::size_t kOffsetMin = 6, kOffsetMax = 16;  // digits of the offset at the beginning of a line
constexpr std::size_t kLineBytesMax = 64;               // bytes that one line of a dump shows
constexpr std::size_t kHalfLine = 8;   // bytes before the wider gap in a line of `hexdump -C`
constexpr std::size_t kGroupMax = 16;  // digits of a group of a dump
constexpr std::size_t kGroupsMin = 3;  // groups of base64 with blanks in between
constexpr std::size_t kGroupMin = 4;   // digits of such a group
constexpr std::size_t kBlanksMax = 4;  // between such groups

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

std::size_t count(std::string_view text, std::size_t at, std::size_t most, const auto& is_one) {
  std::size_t n = 0;
  while (n < most && at + n < text.size() && is_one(text[at + n])) ++n;
  return n;
}
bool is_hex_digit(char c) { return is(c, kHex); }
bool is_gap(char c) { return is_blank(c) || is(c, kEnd); }

// The size of an offset at the beginning of a line, with the blanks before and after it; 0: there is none.
std::size_t offset_at(std::string_view text, std::size_t at) {
  const std::size_t before = count(text, at, kBlanksMax, is_blank);
  const std::size_t digits = count(text, at + before, kOffsetMax + 1, is_hex_digit);
  if (digits < kOffsetMin || digits > kOffsetMax) return 0;
  std::size_t end = at + before + digits;
  if (end < text.size() && text[end] == ':') ++end;
  const std::size_t behind = count(text, end, kSeparatorsMax, is_blank);
  return behind == 0 ? 0 : end + behind - at;
}

// A group of digits in a line of a dump, and the bytes between it and what stands before it.
struct Group {
  std::size_t gap = 0, begin = 0, size = 0;
};

// The groups of hexadecimal digits of the line at `at`, after its offset. `end` is where its next line begins.
std::vector<Group> groups_at(std::string_view text, std::size_t at, std::size_t& end) {
  std::vector<Group> out;
  end = std::min(text.find('\n', at), text.size());
  const auto line = text.substr(0, end);
  end = std::min(end + 1, text.size());
  std::size_t bytes = 0;
  for (std::size_t gap = offset_at(line, at), begin = at + gap; gap > 0 && bytes < kLineBytesMax;) {
    const std::size_t size = count(line, begin, kGroupMax + 1, is_hex_digit);
    const std::size_t behind = count(line, begin + size, kSeparatorsMax, is_blank);
    const bool ends = begin + size == line.size() || line[begin + size] == '\r' || behind > 0;
    if (size < 2 || size > kGroupMax || size % 2 != 0 || !ends) break;
    out.push_back({.gap = gap, .begin = begin, .size = size});
    bytes += size / 2;
    // The text of the bytes stands after a wider gap.
    if (behind == 0 || (behind > 1 && (bytes != kHalfLine || size != 2))) break;
    gap = behind;
    begin += size + behind;
  }
  return out;
}

std::string bytes_of(std::string_view digits, bool swapped) {
  std::string out;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2)
    out += static_cast<char>(hex_digit(digits[at]) << 4 | hex_digit(digits[at + 1]));
  if (swapped) std::ranges::reverse(out);
  return out;
}

// The bytes of the lines of a dump that begin at `at`; `end` is where the dump ends. `swapped`: the lowest
// byte of each group comes last.
Decoded dump_at(std::string_view text, std::size_t at, bool swapped, std::size_t& end) {
  Decoded out(text, at);
  for (end = at; end < text.size();) {
    std::size_t next = end;
    const auto groups = groups_at(text, end, next);
    if (groups.empty()) break;
    for (const auto& group : groups) {
      if (group.begin > out.at()) out.replace(group.begin - out.at(), "");
      const auto digits = text.substr(group.begin, group.size);
      if (swapped)
        out.replace(group.size, bytes_of(digits, true));
      else
        for (std::size_t i = 0; i < digits.size(); i += 2)
          out.replace(2, bytes_of(digits.substr(i, 2), false));
    }
    end = next;
  }
  return out;
}

void add_dumps(std::string_view text, std::vector<Decoded>& out) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    Decoded dump = dump_at(text, at, false, end);
    if (end > at && dump.text().size() >= kHexBytesMin) {
      out.push_back(std::move(dump));
      out.push_back(dump_at(text, at, true, end));
    }
    at = end > at ? end : std::min(text.find('\n', at), text.size() - 1) + 1;
  }
}

// A number of a byte at `at`, in a list: its digits and value.
std::optional<std::pair<std::size_t, unsigned>> number_at(std::string_view text, std::size_t at,
                                                          unsigned base) {
  constexpr std::size_t kDigitsMax = 3;
  constexpr unsigned kByteMax = 255;
  unsigned value = 0;
  std::size_t n = 0;
  for (; n <= kDigitsMax && at + n < text.size() && text[at + n] >= '0' && text[at + n] <= '9'; ++n) {
    const auto digit = static_cast<unsigned>(text[at + n] - '0');
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
  }
  const bool is_whole = n > 0 && n <= kDigitsMax && (at + n == text.size() || !is_word(text[at + n]));
  const bool is_octal = base == 10 || n == kDigitsMax;  // od writes all digits
  return is_whole && is_octal && value <= kByteMax ? std::optional(std::pair(n, value)) : std::nullopt;
}

// The bytes between two numbers of a list; 0: the list ends. A line of a dump begins with an offset.
std::size_t between_numbers(std::string_view text, std::size_t at) {
  std::size_t n = 0;
  bool is_new_line = false;
  for (; n < kSeparatorsMax && at + n < text.size(); ++n) {
    if (is_new_line)
      if (const std::size_t offset = offset_at(text, at + n)) return n + offset;
    const char c = text[at + n];
    if (!is_gap(c) && c != ',' && c != ';') break;
    is_new_line = c == '\n';
  }
  return n;
}

// A list of numbers at `at`, as bytes. Only a list with printable bytes in a row can have a secret.
Decoded list_at(std::string_view text, std::size_t at, unsigned base, bool& may_tell) {
  Decoded out(text, at);
  std::size_t printable = 0;
  for (std::size_t gap = 0; const auto number = number_at(text, out.at() + gap, base);) {
    if (gap > 0) out.replace(gap, "");
    const char byte = static_cast<char>(number->second);
    out.replace(number->first, {&byte, 1});
    printable = number->second >= ' ' && number->second != 0x7F ? printable + 1 : 0;
    may_tell = may_tell || printable >= kHexBytesMin;
    gap = between_numbers(text, out.at());
    if (gap == 0) break;
  }
  return out;
}

void add_lists(std::string_view text, unsigned base, std::vector<Decoded>& out) {
  const auto behind_digits = [&](std::size_t at) {
    while (at < text.size() && is(text[at], kDigit)) ++at;
    return at;
  };
  for (std::size_t at = 0; (at += first_of(text.substr(at), kDigit)) < text.size();) {
    bool may_tell = false;
    if (at > 0 && is_word(text[at - 1])) {
      at = behind_digits(at);
      continue;
    }
    const auto first = number_at(text, at, base);
    if (first && between_numbers(text, at + first->first) > 0) {
      Decoded list = list_at(text, at, base, may_tell);
      at = list.at();
      if (may_tell) out.push_back(std::move(list));
    } else {
      at = behind_digits(at);
    }
  }
}

Decoded without_gaps(std::string_view text, const std::vector<Range>& groups) {
  Decoded out(text, groups.front().begin);
  for (const auto& group : groups) {
    if (group.begin > out.at()) out.replace(group.begin - out.at(), "");
    out.keep(group.end - group.begin);
  }
  return out;
}

// Groups of base64 of one width in a line, with blanks in between. The last one may have fewer.
void add_groups(std::string_view text, std::vector<Decoded>& out) {
  const auto is_digit = [](char c) { return is(c, kBase64); };
  std::vector<Range> groups;
  for (std::size_t at = 0; (at += first_of(text.substr(at), kBase64)) < text.size();) {
    const std::size_t width = count(text, at, text.size(), is_digit);
    std::size_t end = at + width;
    // Most words end here: only the last of three groups may be shorter than the first.
    const std::size_t next = end + count(text, end, kBlanksMax + 1, is_blank);
    if (width < kGroupMin || next == end || count(text, next, width + 1, is_digit) != width) {
      at = end;
      continue;
    }
    groups = {{.begin = at, .end = end}};
    for (bool is_last = false; !is_last;) {
      const std::size_t gap = count(text, end, kBlanksMax + 1, is_blank);
      const std::size_t size = gap == 0 ? 0 : count(text, end + gap, width + 1, is_digit);
      if (gap > kBlanksMax || size == 0 || size > width) break;
      groups.push_back({.begin = end + gap, .end = end + gap + size});
      is_last = size < width;
      // A shorter group may be the first of others.
      end = is_last ? end + gap : end + gap + size;
    }
    const std::size_t bytes = (groups.size() - 1) * width + groups.back().end - groups.back().begin;
    if (groups.size() >= kGroupsMin && bytes >= kRunMin) out.push_back(without_gaps(text, groups));
    at = end;
  }
}

}  // namespace

std::vector<Decoded> dumped(std::string_view text) {
  constexpr unsigned kDecimal = 10, kOctal = 8;
  std::vector<Decoded> out;
  add_dumps(text, out);
  add_lists(text, kDecimal, out);
  add_lists(text, kOctal, out);
  std::ranges::move(listed(text), std::back_inserter(out));
  return out;
}

std::vector<Decoded> grouped(std::string_view text) {
  std::vector<Decoded> out;
  add_groups(text, out);
  return out;
}

bool is_of_a_dump(std::string_view line) {
  constexpr std::string_view kOfLists = "0123456789abcdefABCDEFx'\", \t[{";
  if (ends_in_a_list(line)) return true;
  if (line.ends_with(','))
    return line.find_first_not_of(kOfLists) == line.npos && line.find_first_of("0123456789") != line.npos;
  const std::size_t first = offset_at(line, 0), size = count(line, first, kGroupMax + 1, is_hex_digit);
  if (first == 0 || size < 2 || size > kGroupMax) return false;
  const std::size_t next = first + size + count(line, first + size, kBlanksMax, is_blank);
  return next > first + size && count(line, next, kGroupMax + 1, is_hex_digit) == size;
}

}  // namespace pawl::secrets
