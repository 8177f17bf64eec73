// What a fork shares with the run that it goes on from must be the same in both plans.
#pragma once

#include <string>

#include "base/error.h"
#include "plan/plan.h"

namespace pawl::executor {

// Of the phases before `phase_id`: they, their gates, `ignored`, `protect` and `policy`, which judged them.
// kInvalid, naming the phase and the key that differs. Which phases there are is not looked at:
// Store::create_run does that.
Status check_shared(const plan::Plan& there, const plan::Plan& here, const std::string& phase_id);

}  // namespace pawl::executor
