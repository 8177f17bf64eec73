// The supervisors' program: the one of this build, or a copy that an ordinary user may run. And a key for it.
#pragma once

#include <string>
#include <utility>

#include "base/hash.h"
#include "base/seal.h"
#include "os/process.h"
#include "supervisor/supervisor.h"
#include "support/places.h"

namespace pawl::testing {

inline std::string supervisor_program() {
  return os::environment_value("PAWL_SUPERVISOR_COPY").value_or(kSupervisorProgram);
}

inline const std::string kKeyOfSteps(kHashKeySize, 'k');

inline supervisor::RunnerOptions runner_options(std::string folder) {
  return {.folder = std::move(folder), .executable = supervisor_program(), .key = kKeyOfSteps};
}

// The key with which a runner of these options seals what belongs to the step.
inline std::string key_of_step(const std::string& id) { return Seal(kKeyOfSteps, id).key_of_part(); }

}  // namespace pawl::testing
