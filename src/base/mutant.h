// Injected faults: the simulator's tests enable one at a time, to show that the simulator finds it. Only
// builds with PAWL_TEST_HOOKS contain them. In other builds mutant() is false at compile time.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

#ifdef PAWL_TEST_HOOKS
inline std::string g_mutant;  // set by pawl-sim at its start
inline bool mutant(std::string_view bug) { return g_mutant == bug; }
#else
constexpr bool mutant(std::string_view) { return false; }
#endif

}  // namespace pawl
