// Base64 (RFC 4648) as text of bytes. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

enum class Base64 { kStandard, kUrl };  // sections 4 and 5: "+/" or "-_"

// In the standard alphabet, with padding.
std::string to_base64(std::string_view bytes);
// Accepts one spelling of the bytes only: padded, unused bits 0, no other characters. nullopt otherwise.
std::optional<std::string> from_base64(std::string_view text, Base64 alphabet = Base64::kStandard);

// The value of a digit of either alphabet; -1: the byte is not a digit.
inline constexpr std::array<std::int8_t, 256> kBase64Values = [] {
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
inline int base64_digit(char c) { return kBase64Values[static_cast<unsigned char>(c)]; }

}  // namespace pawl
