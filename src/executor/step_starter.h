// The right to start steps, in a World that all of this room shares.
#pragma once

#include "supervisor/step_runner.h"

namespace pawl::executor {

// A step starts after its marker is durable. So only code that names the type of the runner gets it, and tests/house
// lists the files that may name it.
class StepStarter {
 public:
  StepStarter(supervisor::StepRunner& runner) : runner_(runner) {}
  explicit operator supervisor::StepRunner&() const { return runner_; }

 private:
  supervisor::StepRunner& runner_;
};

}  // namespace pawl::executor
