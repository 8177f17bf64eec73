#include "base/base64.h"

#include <algorithm>

namespace pawl {
namespace {

constexpr std::string_view kDigitsOfBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
    const auto byte = [&](std::size_t i) {
      return i < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i])) : 0U;
    };
    const unsigned bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kDigitsOfBase64[bits >> 18];
    out += kDigitsOfBase64[bits >> 12 & 63];
    out += bytes.size() > 1 ? kDigitsOfBase64[bits >> 6 & 63] : '=';
    out += bytes.size() > 2 ? kDigitsOfBase64[bits & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text, Base64 alphabet) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::string_view others = alphabet == Base64::kUrl ? "+/" : "-_";
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  unsigned bits = 0;
  for (std::size_t i = 0; i < text.size() - padding; ++i) {
    const int value = base64_digit(text[i]);
    if (value < 0 || others.contains(text[i])) return std::nullopt;
    bits = bits << 6 | static_cast<unsigned>(value);
    if (i % 4 == 1) out += static_cast<char>(bits >> 4);
    if (i % 4 == 2) out += static_cast<char>(bits >> 2);
    if (i % 4 == 3) out += static_cast<char>(bits);
  }
  // The unused bits must be 0, or two texts would decode to the same bytes.
  const unsigned unused = padding == 2 ? bits & 15 : padding == 1 ? bits & 3 : 0;
  if (unused != 0) return std::nullopt;
  return out;
}

}  // namespace pawl
