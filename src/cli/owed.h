// Unsettled usage of agents that an operator's command ended.
#pragma once

#include "cli/context.h"

namespace pawl::cli {

// Ends the agents of steps that operators ended, and records what they reported until their end.
Status pay_what_is_owed(const State& state);

}  // namespace pawl::cli
