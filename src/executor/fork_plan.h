// Checks that both plans agree on everything that a fork shares with the run that it continues.
#pragma once

#include <string>

#include "base/error.h"
#include "plan/plan.h"

namespace pawl::executor {

// Compares the phases before `phase_id`: their rows, their gates, and the keys that judged them (`ignored`,
// `protect`, `protect_existing`, `allow_shadowing`, `policy`). kInvalid, naming the phase and the key that
// differs. Does not check which phases exist: Store::create_run does that.
Status check_fork_plan(const plan::Plan& there, const plan::Plan& here, const std::string& phase_id);

}  // namespace pawl::executor
