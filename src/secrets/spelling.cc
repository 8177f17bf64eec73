#include "secrets/spelling.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/utf8.h"
#include "secrets/bytes.h"

namespace pawl::secrets {
namespace {

struct Escape {
  std::size_t size;
  std::string bytes;
};

// Between `least` and `most` digits of base 8 or 16 at `at`: their value and count.
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

// Digits of base 10 or 16 at `at`, with any number of zeros before them: their value and count. A value that
// is not a code point stays too large.
std::optional<std::pair<std::uint32_t, std::size_t>> long_number_at(std::string_view text, std::size_t at,
                                                                    unsigned base) {
  constexpr std::uint32_t kTooLarge = 0x110000;
  std::uint32_t value = 0;
  std::size_t n = 0;
  for (; at + n < text.size(); ++n) {
    const int digit = hex_digit(text[at + n]);
    if (digit < 0 || digit >= static_cast<int>(base)) break;
    value = std::min(value * base + static_cast<std::uint32_t>(digit), kTooLarge);
  }
  return n > 0 ? std::optional(std::pair(value, n)) : std::nullopt;
}

std::optional<Escape> code_point(std::uint32_t code, std::size_t size) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
  Escape out{.size = size, .bytes = {}};
  append_utf8(out.bytes, code);
  return out;
}

// Decodes \u0041, \ud83d\ude00, \u{1f600}, and %u0041 of JavaScript's escape(). `text` begins with \u or %u.
std::optional<Escape> unicode_escape(std::string_view text) {
  if (text.size() > 2 && text[2] == '{') {
    const auto number = long_number_at(text, 3, 16);
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

// \101 of C, and \0101 of `echo` and of printf's %b (POSIX), which has one digit more. C reads \010 and a digit there,
// but the value then begins with a control character, which no secret has.
std::optional<Escape> octal(std::string_view text) {
  constexpr std::uint32_t kByteMax = 0xFF;
  const auto longer = number_at(text, 1, 4, 4, 8);
  if (text[1] == '0' && longer && longer->first <= kByteMax) return byte_escape(longer, 1);
  return byte_escape(number_at(text, 1, 1, 3, 8), 1);
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
  if (c >= '0' && c <= '7') return octal(text);
  if (const auto letter = kLetters.find(c); letter != std::string_view::npos)
    return Escape{.size = 2, .bytes = std::string(1, kBytes[letter])};
  if (c == '\n') return Escape{.size = 2, .bytes = ""};  // the line continues
  return Escape{.size = 2, .bytes = std::string(1, c)};
}

std::optional<Escape> percent(std::string_view text) {
  if (text.size() > 1 && text[1] == 'u') return unicode_escape(text);
  return byte_escape(number_at(text, 1, 2, 2, 16), 1);
}

// The entities of XML, and those of HTML for printable ASCII (html.spec.whatwg.org, 13.5).
constexpr std::pair<std::string_view, char> kEntities[] = {{"AMP", '&'},      {"DiacriticalGrave", '`'},
                                                           {"GT", '>'},       {"Hat", '^'},
                                                           {"LT", '<'},       {"NewLine", '\n'},
                                                           {"QUOT", '"'},     {"Tab", '\t'},
                                                           {"UnderBar", '_'}, {"VerticalLine", '|'},
                                                           {"amp", '&'},      {"apos", '\''},
                                                           {"ast", '*'},      {"bsol", '\\'},
                                                           {"colon", ':'},    {"comma", ','},
                                                           {"commat", '@'},   {"dollar", '$'},
                                                           {"equals", '='},   {"excl", '!'},
                                                           {"grave", '`'},    {"gt", '>'},
                                                           {"hyphen", '-'},   {"lbrace", '{'},
                                                           {"lbrack", '['},   {"lcub", '{'},
                                                           {"lowbar", '_'},   {"lpar", '('},
                                                           {"lsqb", '['},     {"lt", '<'},
                                                           {"midast", '*'},   {"nbsp", ' '},
                                                           {"num", '#'},      {"percnt", '%'},
                                                           {"period", '.'},   {"plus", '+'},
                                                           {"quest", '?'},    {"quot", '"'},
                                                           {"rbrace", '}'},   {"rbrack", ']'},
                                                           {"rcub", '}'},     {"rpar", ')'},
                                                           {"rsqb", ']'},     {"semi", ';'},
                                                           {"sol", '/'},      {"verbar", '|'},
                                                           {"vert", '|'}};

// `text` begins with &#. HTML accepts a reference without its semicolon.
std::optional<Escape> numeric_reference(std::string_view text) {
  const bool hex = text.size() > 2 && (text[2] == 'x' || text[2] == 'X');
  const std::size_t first = hex ? 3 : 2;
  const auto number = long_number_at(text, first, hex ? 16 : 10);
  if (!number) return std::nullopt;
  const std::size_t end = first + number->second;
  return code_point(number->first, end + (text.substr(end).starts_with(';') ? 1 : 0));
}

// `text` begins with &.
std::optional<Escape> entity(std::string_view text) {
  constexpr std::size_t kNameMax = 18;
  constexpr std::string_view kWithoutEnd[] = {"AMP", "GT", "LT",   "QUOT", "amp",
                                              "gt",  "lt", "nbsp", "quot"};  // HTML's old names
  if (text.starts_with("&#")) return numeric_reference(text);
  const auto end = text.substr(0, kNameMax).find(';');
  std::string_view name = end == std::string_view::npos ? "" : text.substr(1, end - 1);
  const auto* found = std::ranges::find(kEntities, name, &std::pair<std::string_view, char>::first);
  if (found != std::end(kEntities)) return Escape{.size = end + 1, .bytes = std::string(1, found->second)};
  for (const auto known : kWithoutEnd) {
    if (!text.substr(1).starts_with(known)) continue;
    found = std::ranges::find(kEntities, known, &std::pair<std::string_view, char>::first);
    return Escape{.size = 1 + known.size(), .bytes = std::string(1, found->second)};
  }
  return std::nullopt;
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

// Decodes the escape or the soft end of a line at `at`; no value when there is none. A sign = is written =3D,
// so two of them end base64, and the line.
std::optional<Escape> quoted_printable(std::string_view whole, std::size_t at) {
  const auto text = whole.substr(std::min(at, whole.size()));
  const bool is_padding = at > 0 && at < whole.size() && whole[at - 1] == '=';
  if (is_padding && (text.starts_with("=\n") || text.starts_with("=\r\n"))) return std::nullopt;
  if (text.starts_with("=\n")) return Escape{.size = 2, .bytes = ""};
  if (text.starts_with("=\r\n")) return Escape{.size = 3, .bytes = ""};
  return byte_escape(number_at(text, 1, 2, 2, 16), 1);
}

bool has_quoted_printable(std::string_view text) {
  // A mail encodes these characters, or all characters. `x=10` is not an escape.
  constexpr std::string_view kEscaped = "=/+-_.:\"'";
  for (std::size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
    const auto escape = quoted_printable(text, at);
    if (!escape) continue;
    if (escape->bytes.empty() && at > 0 && base64_digit(text[at - 1]) >= 0) return true;
    if (escape->bytes.empty()) continue;
    if (kEscaped.find(escape->bytes.front()) != std::string_view::npos) return true;
    if (const auto next = quoted_printable(text, at + 3); next && !next->bytes.empty()) return true;
  }
  return false;
}

Decoded of_quoted_printable(std::string_view text) {
  Decoded out(text);
  while (!out.rest().empty()) {
    out.keep(std::min(out.rest().find('='), out.rest().size()));
    if (out.rest().empty()) break;
    if (const auto escape = quoted_printable(text, out.at()))
      out.replace(escape->size, escape->bytes);
    else
      out.keep(1);
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

bool Views::add(Decoded view) {
  if (!view.changed()) return false;
  views_.push_back(std::move(view));
  last_ = views_.back().text();
  return true;
}

Range Views::origin(std::size_t offset, std::size_t size) const {
  Range out{.begin = offset, .end = offset + size};
  for (auto view = views_.rbegin(); view != views_.rend(); ++view)
    out = view->origin(out.begin, out.end - out.begin);
  return out;
}

void decode(Views& views, int rounds, const std::function<void(Spelling, int)>& before,
            const std::function<void()>& after) {
  struct Step {
    Spelling spelling;
    bool (*may_have)(std::string_view text);
    Decoded (*decoded)(std::string_view text);
  };
  const auto has_escape = [](std::string_view text) {
    // Searching the bytes one after the other is faster than a check of each byte of the text.
    return std::ranges::any_of(std::string_view("\\%&"),
                               [&](char c) { return text.find(c) != std::string_view::npos; });
  };
  // The terminal comes first: the end of a control string, ESC \, is also an escape of unescaped().
  const Step steps[] = {{Spelling::kTerminal, has_terminal, without_terminal},
                        {Spelling::kInvisible, has_invisible, without_invisible},
                        {Spelling::kJoints, has_joints, without_joints},
                        {Spelling::kEscapes, has_escape, unescaped},
                        {Spelling::kQuotedPrintable, has_quoted_printable, of_quoted_printable}};
  for (bool changed = true; changed && rounds > 0; --rounds) {
    changed = false;
    for (const auto& step : steps) {
      if (!step.may_have(views.last())) continue;
      before(step.spelling, rounds - 1);
      if (!views.add(step.decoded(views.last()))) continue;
      after();
      changed = true;
    }
  }
}

std::string plainest(std::string_view text) {
  Views views(text);
  decode(
      views, kRoundsMax, [](Spelling, int) {}, [] {});
  return unquoted(views.last()).text();
}

std::optional<std::size_t> before_plain(std::string_view text, std::size_t wanted) {
  constexpr std::size_t kZerosMax = 8;  // zeros in \u{0000005a}
  Views views(text);
  decode(
      views, kRoundsMax, [](Spelling, int) {}, [] {});
  views.add(without_fillers(views.last()));
  views.add(unquoted(views.last()));
  const auto last = views.last();
  std::size_t at = last.size();
  for (std::size_t zeros = 0; wanted > 0 && at > 0;) {
    zeros = last[--at] == '0' ? zeros + 1 : 0;
    if (zeros <= kZerosMax) --wanted;
  }
  if (wanted > 0) return std::nullopt;
  return at < last.size() ? views.origin(at, 1).begin : text.size();
}

}  // namespace pawl::secrets
