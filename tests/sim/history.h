// One history: a plan, some executors and operators, and every event that can happen to them, from one seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/machine.h"

namespace pawl::sim {

struct Reported {
  std::optional<std::string> violation;
  std::vector<std::string> story;
  std::int64_t events = 0, calls = 0, steps = 0, crashes = 0, power_losses = 0, attempts = 0;
  std::int64_t disturbances = 0;  // crashes, operators and all other events from outside
  // How near a phase came to its bounds, in percent.
  std::int64_t attempts_percent = 0, executions_percent = 0;
};

// The machine's store may contain runs of earlier histories. The same seed gives the same story, except for
// the disturbances in `without`: they are numbered from 0 and do not happen.
Reported run_history(std::uint64_t seed, Machine& machine, const std::set<std::int64_t>& without = {});

}  // namespace pawl::sim
