// The escape sequences of terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl {

// The length of the terminal's escape sequence that `text` begins with; 0 when it begins with none. Control
// sequences and control strings are those of ECMA-48 (5.4, 5.6), the others of ECMA-35 (13.2). A sequence
// that is cut takes no byte of what follows it, a string without an end takes its line.
std::size_t escape_bytes(std::string_view text);

// Without the escape sequences of terminals: colours, moves, titles.
std::string without_escapes(std::string_view text);

}  // namespace pawl
