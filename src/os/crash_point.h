// Labelled operations at which a test can end the process, so that crashes are enumerated instead of sampled.
//
// Only builds with PAWL_TEST_HOOKS contain it; in a release build every call is nothing. In the environment:
//   PAWL_CRASH_ROLE=executor|supervisor  which process counts (os::set_crash_role says which one this is)
//   PAWL_CRASH_AT=N                      the N-th point (from 1) of that process ends it with SIGKILL
//   PAWL_CRASH_LOG=FILE                  appends "role label" for every point passed
//   PAWL_CRASH_ONCE=FILE                 crash only if FILE can be created anew: one crash among many
//   processes
#pragma once

#include <string_view>

namespace pawl::os {

#ifdef PAWL_TEST_HOOKS
void crash_point(std::string_view label);
void set_crash_role(std::string_view role);
#else
inline void crash_point(std::string_view) {}
inline void set_crash_role(std::string_view) {}
#endif

}  // namespace pawl::os
