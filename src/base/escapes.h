// Escape sequences of terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl {

// The length of the escape sequence at the start of `text`; 0 if there is none. Control sequences and control
// strings follow ECMA-48 (5.4, 5.6), other sequences ECMA-35 (13.2). A truncated sequence does not include
// bytes that cannot belong to it. An unterminated string ends with its line.
std::size_t escape_bytes(std::string_view text);

// `text` without escape sequences: colours, cursor moves, titles.
std::string without_escapes(std::string_view text);

// `text` without colours and the other sequences that stay in their place: control sequences (ESC [) and
// choices of a character set (ESC ( B). Control strings stay: they can contain words.
std::string without_colours(std::string_view text);

}  // namespace pawl
