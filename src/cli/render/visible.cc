#include "cli/render/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "secrets/shapes.h"

namespace pawl::cli {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// Decodes the first character, by the table of RFC 3629: no overlong form, no surrogate, no code above
// U+10FFFF.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {.code = lead, .bytes = 1, .valid = true};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {.code = code, .bytes = bytes, .valid = true};
}

struct Span {
  char32_t first, last;
};

bool among(const auto& spans, char32_t code) {
  return std::ranges::any_of(spans,
                             [&](const Span& span) { return span.first <= code && code <= span.last; });
}

// Controls, soft hyphen, fillers, joiners, marks and overrides of direction (UAX 9; the "Trojan Source"
// attack uses them), separators of lines, byte order marks, tags.
constexpr std::array<Span, 14> kHidden = {{{0x00, 0x1F},
                                           {0x7F, 0x9F},
                                           {0xAD, 0xAD},
                                           {0x61C, 0x61C},
                                           {0x115F, 0x1160},
                                           {0x17B4, 0x17B5},
                                           {0x180E, 0x180E},
                                           {0x200B, 0x200F},
                                           {0x2028, 0x202E},
                                           {0x2060, 0x206F},
                                           {0x3164, 0x3164},
                                           {0xFEFF, 0xFEFF},
                                           {0xFFF9, 0xFFFB},
                                           {0xE0000, 0xE007F}}};
// Follows the East Asian Width of Unicode (UAX 11), as far as terminals agree on it.
constexpr std::array<Span, 12> kWide = {{{0x1100, 0x115E},
                                         {0x2E80, 0x303E},
                                         {0x3041, 0x33FF},
                                         {0x3400, 0x4DBF},
                                         {0x4E00, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0xFFE0, 0xFFE6},
                                         {0x1F300, 0x1F9FF},
                                         {0x20000, 0x3FFFD}}};
constexpr std::array<Span, 6> kCombining = {{{0x300, 0x36F},
                                             {0x1AB0, 0x1AFF},
                                             {0x1DC0, 0x1DFF},
                                             {0x20D0, 0x20FF},
                                             {0xFE00, 0xFE0F},
                                             {0xFE20, 0xFE2F}}};

std::size_t columns_of(const Character& character) {
  if (among(kCombining, character.code)) return 0;
  return among(kWide, character.code) ? 2 : 1;
}

}  // namespace

void each_part(std::string_view text, const VisitText& plain, const VisitText& escape) {
  std::size_t shown = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_of(text.substr(at));
    const bool kept = character.code == '\n' || character.code == '\t';
    if (character.valid && (kept || !among(kHidden, character.code))) {
      at += character.bytes;
      continue;
    }
    if (at > shown) plain(text.substr(shown, at - shown));
    if (!character.valid)
      escape(fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at])));
    else if (character.code < 0x80)
      escape(fmt::format("\\x{:02x}", static_cast<unsigned>(character.code)));
    else
      escape(fmt::format("\\u{:04x}", static_cast<unsigned>(character.code)));
    at += character.bytes;
    shown = at;
  }
  if (shown < text.size()) plain(text.substr(shown));
}

std::string spelled(std::string_view text) {
  std::string out;
  const auto append = [&](std::string_view part) { out += part; };
  each_part(text, append, append);
  return out;
}

std::string spelled_json(std::string_view json) {
  std::string out;
  each_part(
      json, [&](std::string_view plain) { out += plain; },
      [&](std::string_view escape) {
        const auto digits = escape.substr(2);
        unsigned code = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (code > 0xFFFF) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", 0xD7C0 + (code >> 10U));
          code = 0xDC00 + (code & 0x3FFU);
        }
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
      });
  return out;
}

std::string visible(std::string_view text) {
  std::string out;
  each_part(
      text,
      [&](std::string_view plain) {
        for (const char c : plain) {
          if (c == '\n')
            out += "\\n";
          else if (c == '\t')
            out += "    ";
          else
            out += c;
        }
      },
      [&](std::string_view escape) { out += escape; });
  return out;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,@%:";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string without_secrets(std::string text) {
  auto found = secrets::find(text);
  std::ranges::sort(found, std::ranges::greater(), &secrets::Found::offset);
  for (const auto& each : found) text.replace(each.offset, each.size, "<a secret>");
  return text;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_of(text.substr(at));
    columns += columns_of(character);
    at += character.bytes;
  }
  return columns;
}

std::size_t fitting_bytes(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_of(text.substr(at));
    used += columns_of(character);
    if (used > columns && at > 0) return at;
    at += character.bytes;
  }
  return text.size();
}

}  // namespace pawl::cli
