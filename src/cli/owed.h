// What operators' words leave to be done after them.
#pragma once

#include "cli/context.h"

namespace pawl::cli {

// Ends the agents that operators ended, and writes down what they told until they were gone.
Status pay_what_is_owed(const State& state);

}  // namespace pawl::cli
