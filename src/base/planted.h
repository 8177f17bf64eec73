// Bugs that the tests of the simulator plant, one at a time, to see that it finds them. Only builds with
// PAWL_TEST_HOOKS have them; elsewhere every question is answered with no, at compile time.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

#ifdef PAWL_TEST_HOOKS
inline std::string g_planted;  // set by pawl-sim before anything runs
inline bool planted(std::string_view bug) { return g_planted == bug; }
#else
constexpr bool planted(std::string_view) { return false; }
#endif

}  // namespace pawl
