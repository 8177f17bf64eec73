// Labelled operations at which a test can end the process, so that crashes are enumerated instead of sampled.
//
// Only builds with PAWL_TEST_HOOKS contain it; in a release build every call is nothing. In the environment:
//   PAWL_CRASH_ROLE=executor|supervisor  which processes count (os::set_crash_role says which one this is)
//   PAWL_CRASH_COUNT=FILE                where all processes of the role count together, a byte a point
//   PAWL_CRASH_AT=N                      the N-th point (from 1) of the role ends its process with SIGKILL
//   PAWL_CRASH_LABEL=LABEL               counts points of this label only
//   PAWL_CRASH_SIGNAL=N                  instead of SIGKILL; SIGSTOP makes a holder that is continued too
//   late PAWL_CRASH_LOG=FILE                  appends "role label" for every point passed, whatever the role
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
