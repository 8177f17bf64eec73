// Classes of single bytes for the spellings of spelling.h. A detail of this room. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/base64.h"

namespace pawl::secrets {

inline constexpr std::size_t kRunMin = 16;      // digits of base64 in the shortest run that is decoded
inline constexpr std::size_t kHexBytesMin = 6;  // as few as the shortest secret has
inline constexpr std::size_t kNestedMin = 4 * kHexBytesMin;  // in the shortest run that has digits of digits
inline constexpr std::size_t kSeparatorsMax = 24;

// The classes of a byte, as bits.
enum Class : std::uint16_t {
  kEscape = 1,       // begins an escape that unescaped() knows
  kEnd = 2,          // ends a line
  kAdded = 4,        // added by quotes, forms and UTF-16
  kBase64 = 8,       // a digit of base64 or base64url
  kHex = 16,         // a hexadecimal digit
  kSeparator = 32,   // between two hexadecimal digits
  kTelling = 64,     // a run of digits with one is more than a word
  kTerminal = 128,   // ESC and the set C1: a terminal's escape sequence begins
  kInvisible = 256,  // a control character, or begins a character without a width
  kDigit = 1024,
  kFiller = 512,  // may begin what stands between the parts of a secret
};

inline constexpr std::array<std::uint16_t, 256> kClasses = [] {
  std::array<std::uint16_t, 256> out{};
  const auto add = [&](std::string_view bytes, Class bit) {
    for (const char c : bytes) out[static_cast<unsigned char>(c)] |= bit;
  };
  add("\\%&", kEscape);
  add("\r\n", kEnd);
  add({"'\"\\+$\0", 6}, kAdded);
  add("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_", kBase64);
  add("0123456789abcdefABCDEF", kHex);
  add("0123456789", kDigit);
  add(" \t\r\n:,;-_\\x'\"", kSeparator);
  add("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", kTelling);
  out[0x1B] |= kTerminal;
  for (std::size_t c = 0x80; c < 0xA0; ++c) out[c] |= kTerminal;
  for (std::size_t c = 0; c < 0x20; ++c)
    if (std::string_view("\t\n\r\b\x1b").find(static_cast<char>(c)) == std::string_view::npos)
      out[c] |= kInvisible;
  add("\"'`$\r\b", kFiller);
  add("\x7F\xC2\xCD\xD8\xE1\xE2\xEF\xF3", kInvisible);
  return out;
}();

inline bool is(char c, unsigned classes) { return (kClasses[static_cast<unsigned char>(c)] & classes) != 0; }

// The offset of the first byte of these classes; the size of the text when there is none.
inline std::size_t first_of(std::string_view text, unsigned classes) {
  std::size_t at = 0;
  while (at < text.size() && !is(text[at], classes)) ++at;
  return at;
}

// Whether `text` has another byte than those of printable ASCII, tabs and ends of lines. Most text has none.
inline bool has_unplain(std::string_view text) {
  const auto is_plain = [](std::string_view part) {
    return std::ranges::none_of(part, [](char c) {
      // Bytes from 0x80 on are negative.
      return static_cast<signed char>(c) < 0x20 ? c != '\n' && c != '\t' && c != '\r' : c == 0x7F;
    });
  };
  // Eight bytes at once. The sign of a byte is set when it may be another one.
  constexpr std::uint64_t kOnes = 0x0101010101010101, kSigns = 0x80 * kOnes;
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    const std::uint64_t below = bytes - 0x20 * kOnes, above = bytes + kOnes;
    if (((bytes | below | above) & kSigns) != 0 && !is_plain(text.substr(at, sizeof bytes))) return true;
  }
  return !is_plain(text.substr(at));
}

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace pawl::secrets
