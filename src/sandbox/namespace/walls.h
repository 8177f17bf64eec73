// Walls that a test can leave out, one at a time, to show that it is this wall that stops an attack.
//
// Only builds with PAWL_TEST_HOOKS look: PAWL_WALLS_OFF is a list of names with spaces between. In a release
// build every wall is up.
#pragma once

#include <string_view>

#ifdef PAWL_TEST_HOOKS
#include "os/process.h"
#endif

namespace pawl::sandbox {

enum class Wall { kSeccomp, kLandlock, kReadOnly, kMasks, kSession, kDescriptors };

#ifdef PAWL_TEST_HOOKS
inline bool is_up(Wall wall) {
  constexpr std::string_view kNames[] = {"seccomp", "landlock", "read_only",
                                         "masks",   "session",  "descriptors"};
  const std::string off = " " + os::environment_value("PAWL_WALLS_OFF").value_or("") + " ";
  return off.find(" " + std::string(kNames[static_cast<int>(wall)]) + " ") == std::string::npos;
}
#else
constexpr bool is_up(Wall) { return true; }
#endif

}  // namespace pawl::sandbox
