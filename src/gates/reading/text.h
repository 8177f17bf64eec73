// Functions on characters and on the ends of texts that several readers share.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace pawl::gates {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// True for letters, digits, "_" and every byte of a character that is not ASCII.
inline bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The text without white space at its ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// The part after the last slash.
inline std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The part before the last slash; "" without one.
inline std::string_view folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace pawl::gates
