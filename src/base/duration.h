// Durations as text.
#pragma once

#include <cstdint>
#include <string>

namespace pawl {

// Seconds with one digit after the point, rounded to 0: "3.2".
std::string seconds_text(std::int64_t ms);

}  // namespace pawl
