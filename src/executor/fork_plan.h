// Checks that the plan of a fork agrees with that of the run on everything that the fork shares with the run.
#pragma once

#include <string>

#include "base/error.h"
#include "plan/plan.h"

namespace pawl::executor {

// `run_plan`: the plan of the run that is forked. `fork_plan`: the plan of the fork, which begins with `phase_id`.
// Compares the phases before `phase_id`: their rows, their gates, and the keys that judged them (`ignored`,
// `protect`, `protect_existing`, `allow_shadowing`, `policy`). kInvalid, naming the phase and the key that
// differs. Does not check which phases exist: Store::create_run does that.
Status check_fork_plan(const plan::Plan& run_plan, const plan::Plan& fork_plan, const std::string& phase_id);

}  // namespace pawl::executor
