// The bytes of code points.
#pragma once

#include <cstdint>
#include <string>

namespace pawl {

// Adds the UTF-8 of a code point. Half of a surrogate pair becomes three bytes that are not UTF-8. REQUIRES: `code`
// is at most 0x10FFFF.
void append_utf8(std::string& out, std::uint32_t code);

}  // namespace pawl
