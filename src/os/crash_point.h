// Labelled operations at which a test can end the process, so that crashes are enumerated instead of sampled.
//
// Only builds with PAWL_TEST_HOOKS contain them; in a release build every call is empty. Environment
// variables:
//   PAWL_CRASH_ROLE=executor|supervisor  which processes count (os::set_crash_role sets this process's role)
//   PAWL_CRASH_COUNT=FILE                where all processes of the role count together, one byte per point
//   PAWL_CRASH_AT=N                      the N-th point (from 1) of the role ends its process with SIGKILL
//   PAWL_CRASH_LABEL=LABEL               counts only points of this label
//   PAWL_CRASH_SIGNAL=N                  replaces SIGKILL; SIGSTOP makes a holder that continues too late
//   PAWL_CRASH_LOG=FILE                  appends "role label" for every point passed, whatever the role
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
