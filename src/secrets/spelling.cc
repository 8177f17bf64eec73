#include "secrets/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/escapes.h"

namespace pawl::secrets {
namespace {

constexpr std::size_t kRunMin = 16;      // digits of base64 that are looked into
constexpr std::size_t kHexBytesMin = 6;  // as few as a secret has
constexpr std::size_t kSeparatorsMax = 24;

// What a byte is, as bits.
enum Class : unsigned char {
  kEscape = 1,      // begins an escape that unescaped() knows
  kEnd = 2,         // of a line
  kAdded = 4,       // by quotes, forms and UTF-16
  kBase64 = 8,      // a digit of base64 or base64url
  kHex = 16,        // a hexadecimal digit
  kSeparator = 32,  // between two of them
  kTelling = 64,    // makes more than a word of a run of digits
};

constexpr std::array<unsigned char, 256> kClasses = [] {
  std::array<unsigned char, 256> out{};
  const auto add = [&](std::string_view bytes, unsigned char bit) {
    for (const char c : bytes) out[static_cast<unsigned char>(c)] |= bit;
  };
  add("\\%&", kEscape);
  add("\r\n", kEnd);
  add({"'\"\\+\0", 5}, kAdded);
  add("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_", kBase64);
  add("0123456789abcdefABCDEF", kHex);
  add(" \t\r\n:,;-\\x", kSeparator);
  add("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", kTelling);
  return out;
}();

bool is(char c, unsigned char classes) { return (kClasses[static_cast<unsigned char>(c)] & classes) != 0; }

// Where the first byte of these classes is; the end when there is none.
std::size_t first_of(std::string_view text, unsigned char classes) {
  std::size_t at = 0;
  while (at < text.size() && !is(text[at], classes)) ++at;
  return at;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Of base64 and base64url; -1: none of theirs.
constexpr std::array<std::int8_t, 256> kDigits = [] {
  std::array<std::int8_t, 256> out{};
  out.fill(-1);
  for (int i = 0; i < 26; ++i) {
    out[static_cast<std::size_t>('A' + i)] = static_cast<std::int8_t>(i);
    out[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(26 + i);
  }
  for (int i = 0; i < 10; ++i) out[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(52 + i);
  out['+'] = out['-'] = 62;
  out['/'] = out['_'] = 63;
  return out;
}();

int base64_digit(char c) { return kDigits[static_cast<unsigned char>(c)]; }

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6U);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12U);
    } else {
      add(0xF0 | code >> 18U);
      add(0x80 | (code >> 12U & 0x3F));
    }
    add(0x80 | (code >> 6U & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

struct Escape {
  std::size_t size;
  std::string bytes;
};

// `least` to `most` digits of base 8 or 16 at `at`.
std::optional<std::pair<std::uint32_t, std::size_t>> number_at(std::string_view text, std::size_t at,
                                                               std::size_t least, std::size_t most,
                                                               int base) {
  std::uint32_t value = 0;
  std::size_t n = 0;
  for (; n < most && at + n < text.size(); ++n) {
    const int digit = hex_digit(text[at + n]);
    if (digit < 0 || digit >= base) break;
    value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
  }
  if (n < least) return std::nullopt;
  return std::pair(value, n);
}

std::optional<Escape> code_point(std::uint32_t code, std::size_t size) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
  Escape out{.size = size, .bytes = {}};
  append_utf8(out.bytes, code);
  return out;
}

// \u0041, \ud83d\ude00, \u{1f600}, and %u0041 of JavaScript's escape(). `text` begins with \u or %u.
std::optional<Escape> unicode_escape(std::string_view text) {
  if (text.size() > 2 && text[2] == '{') {
    const auto number = number_at(text, 3, 1, 6, 16);
    const std::size_t end = number ? 3 + number->second : 0;
    if (!number || end >= text.size() || text[end] != '}') return std::nullopt;
    return code_point(number->first, end + 1);
  }
  const auto high = number_at(text, 2, 4, 4, 16);
  if (!high) return std::nullopt;
  constexpr std::size_t kUnit = 6;
  if (high->first >= 0xD800 && high->first < 0xDC00 && text.substr(kUnit).starts_with(text.substr(0, 2))) {
    const auto low = number_at(text, kUnit + 2, 4, 4, 16);
    if (low && low->first >= 0xDC00 && low->first < 0xE000)
      return code_point(0x10000 + ((high->first - 0xD800) << 10U) + (low->first - 0xDC00), 2 * kUnit);
  }
  return code_point(high->first, kUnit);
}

std::optional<Escape> byte_escape(const std::optional<std::pair<std::uint32_t, std::size_t>>& number,
                                  std::size_t before) {
  if (!number) return std::nullopt;
  return Escape{.size = before + number->second,
                .bytes = std::string(1, static_cast<char>(number->first & 0xFFU))};
}

// `text` begins with a backslash.
std::optional<Escape> backslash(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  constexpr std::string_view kLetters = "abfnrtveE", kBytes = "\a\b\f\n\r\t\v\x1b\x1b";
  const char c = text[1];
  if (c == 'u') return unicode_escape(text);
  if (c == 'U') {
    const auto number = number_at(text, 2, 8, 8, 16);
    return number ? code_point(number->first, 2 + number->second) : std::nullopt;
  }
  if (c == 'x') return byte_escape(number_at(text, 2, 1, 2, 16), 2);
  if (c >= '0' && c <= '7') return byte_escape(number_at(text, 1, 1, 3, 8), 1);
  if (const auto letter = kLetters.find(c); letter != std::string_view::npos)
    return Escape{.size = 2, .bytes = std::string(1, kBytes[letter])};
  if (c == '\n') return Escape{.size = 2, .bytes = ""};  // the line goes on
  return Escape{.size = 2, .bytes = std::string(1, c)};
}

std::optional<Escape> percent(std::string_view text) {
  if (text.size() > 1 && text[1] == 'u') return unicode_escape(text);
  return byte_escape(number_at(text, 1, 2, 2, 16), 1);
}

// Those of XML, and of HTML's what is printable in ASCII (html.spec.whatwg.org, 13.5).
constexpr std::pair<std::string_view, char> kEntities[] = {
    {"amp", '&'},    {"apos", '\''},  {"ast", '*'},    {"bsol", '\\'},  {"colon", ':'},    {"comma", ','},
    {"commat", '@'}, {"dollar", '$'}, {"equals", '='}, {"excl", '!'},   {"grave", '`'},    {"gt", '>'},
    {"Hat", '^'},    {"hyphen", '-'}, {"lbrace", '{'}, {"lbrack", '['}, {"lcub", '{'},     {"lowbar", '_'},
    {"lpar", '('},   {"lsqb", '['},   {"lt", '<'},     {"nbsp", ' '},   {"NewLine", '\n'}, {"num", '#'},
    {"percnt", '%'}, {"period", '.'}, {"plus", '+'},   {"quest", '?'},  {"quot", '"'},     {"rbrace", '}'},
    {"rbrack", ']'}, {"rcub", '}'},   {"rpar", ')'},   {"rsqb", ']'},   {"semi", ';'},     {"sol", '/'},
    {"Tab", '\t'},   {"verbar", '|'}, {"vert", '|'}};

// `text` begins with &.
std::optional<Escape> entity(std::string_view text) {
  constexpr std::size_t kNameMax = 12;
  const auto end = text.substr(0, kNameMax).find(';');
  if (end == std::string_view::npos || end < 3) return std::nullopt;
  const auto name = text.substr(1, end - 1);
  if (name.front() == '#') {
    const bool hex = name[1] == 'x' || name[1] == 'X';
    std::uint32_t code = 0;
    const auto digits = name.substr(hex ? 2 : 1);
    if (digits.empty()) return std::nullopt;
    for (const char c : digits) {
      const int digit = hex_digit(c);
      if (digit < 0 || digit >= (hex ? 16 : 10)) return std::nullopt;
      code = std::min<std::uint32_t>(code * (hex ? 16U : 10U) + static_cast<std::uint32_t>(digit), 0x110000);
    }
    return code_point(code, end + 1);
  }
  const auto* found = std::ranges::find(kEntities, name, &std::pair<std::string_view, char>::first);
  if (found == std::end(kEntities)) return std::nullopt;
  return Escape{.size = end + 1, .bytes = std::string(1, found->second)};
}

// How many digits of base64 end `line`, and whether they look like more than a word.
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

constexpr std::size_t kLeast = 2 * kHexBytesMin;  // bytes of the shortest run
static_assert(kLeast <= kRunMin);

// The bytes of these classes around `at`, not before `from`; none when that is none.
Range around(std::string_view text, std::size_t from, std::size_t at, unsigned char classes) {
  Range out{.begin = at, .end = at};
  if (!is(text[at], classes)) return out;
  while (out.begin > from && is(text[out.begin - 1], classes)) --out.begin;
  while (out.end < text.size() && is(text[out.end], classes)) ++out.end;
  return out;
}

bool is_hex(std::string_view text, const Range& run) {
  if (run.end - run.begin < kLeast) return false;
  std::size_t digits = 0;
  for (std::size_t at = run.begin; at < run.end && digits < kLeast; ++at)
    digits += is(text[at], kHex) ? 1 : 0;
  return digits >= kLeast;
}

bool is_base64(std::string_view text, const Range& run) {
  return run.end - run.begin >= kRunMin &&
         first_of(text.substr(run.begin, run.end - run.begin), kTelling) < run.end - run.begin;
}

Decoded base64_from(std::string_view text, std::size_t begin, std::size_t end) {
  Decoded out(text, begin);
  for (std::size_t at = begin; at < end; at += 4) {
    const std::size_t digits = std::min<std::size_t>(4, end - at);
    if (digits < 2) break;
    unsigned group = 0;
    for (std::size_t i = 0; i < 4; ++i)
      group = group << 6U | static_cast<unsigned>(i < digits ? base64_digit(text[at + i]) : 0);
    const std::array<char, 3> bytes = {static_cast<char>(group >> 16U), static_cast<char>(group >> 8U),
                                       static_cast<char>(group)};
    out.replace(digits, {bytes.data(), digits - 1});
  }
  return out;
}

// What stands between two bytes: ":", " ", ", 0x", "\x", the end of a line.
std::size_t separators_at(std::string_view text, std::size_t at) {
  std::size_t n = 0;
  while (n < kSeparatorsMax && at + n < text.size() && is(text[at + n], kSeparator) && text[at + n] != 'x')
    ++n;
  if (text.substr(std::min(at + n, text.size())).starts_with("0x")) n += 2;
  if (n > 0 && at + n < text.size() && text[at + n] == 'x') ++n;
  return n;
}

Decoded hex_from(std::string_view text, std::size_t begin) {
  Decoded out(text, begin);
  for (std::size_t at = begin;;) {
    const std::size_t first = at == begin ? at : at + separators_at(text, at);
    if (first + 1 >= text.size()) return out;
    const int high = hex_digit(text[first]), low = hex_digit(text[first + 1]);
    if (high < 0 || low < 0) return out;
    if (first > at) out.replace(first - at, "");
    const char byte = static_cast<char>(high << 4 | low);
    out.replace(2, {&byte, 1});
    at = first + 2;
  }
}

}  // namespace

Range Decoded::origin(std::size_t offset, std::size_t size) const {
  const auto step_of = [&](std::size_t at) {
    return *std::prev(std::ranges::upper_bound(steps_, at, {}, &Step::out));
  };
  const Step first = step_of(offset), last = step_of(offset + size - 1);
  return {.begin = first.unit > 0 ? first.in : first.in + (offset - first.out),
          .end = last.unit > 0 ? last.in + last.unit : last.in + (offset + size - last.out)};
}

void Decoded::begin_step(std::size_t unit) {
  const bool goes_on = unit == 0 && !steps_.empty() && steps_.back().unit == 0 &&
                       at_ - steps_.back().in == text_.size() - steps_.back().out;
  if (!goes_on) steps_.push_back({.out = text_.size(), .in = at_, .unit = unit});
}

void Decoded::keep(std::size_t size) {
  if (size == 0) return;
  begin_step(0);
  text_ += original_.substr(at_, size);
  at_ += size;
}

void Decoded::replace(std::size_t size, std::string_view bytes) {
  changed_ = true;
  if (!bytes.empty()) begin_step(size);
  text_ += bytes;
  at_ += size;
}

void Decoded::put(char c) {
  changed_ = true;
  begin_step(0);
  text_ += c;
  ++at_;
}

Decoded unescaped(std::string_view text) {
  Decoded out(text);
  while (!out.rest().empty()) {
    const auto rest = out.rest();
    if (const auto next = first_of(rest, kEscape); next > 0) {
      out.keep(next);
      continue;
    }
    const auto escape = rest.front() == '\\'  ? backslash(rest)
                        : rest.front() == '%' ? percent(rest)
                                              : entity(rest);
    if (escape)
      out.replace(escape->size, escape->bytes);
    else
      out.keep(1);
  }
  return out;
}

Decoded uncoloured(std::string_view text) {
  Decoded out(text);
  while (!out.rest().empty()) {
    const auto rest = out.rest();
    if (const auto escape = escape_bytes(rest); escape > 0)
      out.replace(escape, "");
    else
      out.keep(std::min(rest.find('\x1b'), rest.size()));
  }
  return out;
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
    const bool goes_on = next < rest.size() && base64_digit(rest[next]) >= 0 && may_go_on(line);
    if (goes_on)
      out.replace(next - line.size(), "");
    else
      out.keep(next - line.size());
  }
  return out;
}

Decoded unquoted(std::string_view text) {
  Decoded out(text);
  while (!out.rest().empty()) {
    const auto rest = out.rest();
    if (rest.front() == '+')
      out.put(' ');
    else if (is(rest.front(), kAdded))
      out.replace(1, "");
    else
      out.keep(first_of(rest, kAdded));
  }
  return out;
}

std::string plainest(std::string_view text) {
  std::string out(text);
  for (int round = 0; round < kRoundsMax; ++round) {
    const Decoded once = unescaped(out);
    if (!once.changed()) break;
    out = once.text();
  }
  return unquoted(uncoloured(out).text()).text();
}

std::optional<Range> next_packed(std::string_view text, std::size_t from) {
  // Every run that is long enough has one of the bytes that are looked at; the others cost nothing.
  for (std::size_t at = from + kLeast - 1; at < text.size();) {
    const Range run = around(text, from, at, kBase64), hex = around(text, from, at, kHex | kSeparator);
    if (is_hex(text, hex))
      return Range{.begin = std::min(run.begin, hex.begin), .end = std::max(run.end, hex.end)};
    if (is_base64(text, run)) return run;
    at = std::max(at + 1, std::min(run.end, hex.end)) + kLeast - 1;
  }
  return std::nullopt;
}

std::vector<Decoded> unpacked(std::string_view text) {
  std::vector<Decoded> out;
  for (std::size_t begin = 0; begin < text.size();) {
    if (base64_digit(text[begin]) < 0) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() && base64_digit(text[end]) >= 0) ++end;
    if (end - begin >= kRunMin)
      for (std::size_t shift = 0; shift < 4; ++shift) out.push_back(base64_from(text, begin + shift, end));
    begin = end;
  }
  for (std::size_t begin = 0; begin + 1 < text.size();) {
    const bool first = hex_digit(text[begin]) >= 0;
    Decoded even = first ? hex_from(text, begin) : Decoded(text, begin);
    const std::size_t end = std::max(even.at(), begin + 1);
    if (even.text().size() >= kHexBytesMin) {
      // In one run of digits it may begin at any of them.
      if (Decoded odd = hex_from(text, begin + 1); odd.text().size() >= kHexBytesMin)
        out.push_back(std::move(odd));
      out.push_back(std::move(even));
    }
    begin = end;
  }
  return out;
}

bool may_go_on(std::string_view line) { return digits_at_end(line) >= kRunMin; }

std::vector<std::string> base64_cores(std::string_view bytes) {
  constexpr std::string_view kOfBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::string> out;
  for (std::size_t before = 0; before < 3; ++before) {
    const std::string whole = std::string(before, '\0') + std::string(bytes);
    // The digits that depend on no neighbour.
    const std::size_t first = (before * 8 + 5) / 6, end = whole.size() * 8 / 6;
    std::string core;
    for (std::size_t digit = first; digit < end; ++digit) {
      unsigned value = 0;
      for (std::size_t bit = digit * 6; bit < digit * 6 + 6; ++bit)
        value = value << 1U | (static_cast<unsigned char>(whole[bit / 8]) >> (7 - bit % 8) & 1U);
      core += kOfBase64[value];
    }
    out.push_back(core);
    std::ranges::replace(core, '+', '-');
    std::ranges::replace(core, '/', '_');
    if (core != out.back()) out.push_back(std::move(core));
  }
  return out;
}

std::string hex_pattern(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    out += (out.empty() ? "(?i:" : R"([^0-9A-Za-z]{0,2}(?:0?x)?)") +
           fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out + ")";
}

}  // namespace pawl::secrets
