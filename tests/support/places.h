// Paths that a test needs besides its own program. They are in a file of their own, because a file that
// contains a folder's name is compiled again in each clone.
#pragma once

namespace pawl::testing {

extern const char* const kSourceFolder;
extern const char* const kSupervisorProgram;

}  // namespace pawl::testing
