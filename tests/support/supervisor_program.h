// The supervisors' program: the one of this build, or a copy that an ordinary user may run.
#pragma once

#include <string>

#include "os/process.h"
#include "support/places.h"

namespace pawl::testing {

inline std::string supervisor_program() {
  return os::environment_value("PAWL_SUPERVISOR_COPY").value_or(kSupervisorProgram);
}

}  // namespace pawl::testing
