#include "base/duration.h"

#include <fmt/format.h>

namespace pawl {

std::string seconds_text(std::int64_t ms) { return fmt::format("{}.{}", ms / 1000, ms % 1000 / 100); }

}  // namespace pawl
