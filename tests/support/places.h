// Where a test finds what it is not made of. A file of its own: what names a folder is compiled anew in each
// clone.
#pragma once

namespace pawl::testing {

extern const char* const kSourceFolder;
extern const char* const kSupervisorProgram;

}  // namespace pawl::testing
