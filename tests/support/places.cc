#include "support/places.h"

namespace pawl::testing {

const char* const kSourceFolder = PAWL_SOURCE_FOLDER;
const char* const kSupervisorProgram = PAWL_SUPERVISOR_PROGRAM;

}  // namespace pawl::testing
