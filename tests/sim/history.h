// One history: a plan, some executors and operators, and everything that can happen to them, from one seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/machine.h"

namespace pawl::sim {

struct Told {
  std::optional<std::string> violation;
  std::vector<std::string> story;
  std::int64_t events = 0, calls = 0, steps = 0, crashes = 0, power_losses = 0, attempts = 0;
  std::int64_t disturbances = 0;  // crashes, operators and all else that came from outside
  // How near a phase came to what it may try at most, in percent.
  std::int64_t attempts_percent = 0, executions_percent = 0;
};

// Runs of earlier histories may be in the machine's store. The same seed tells the same story, but for what
// is `without`: disturbances by their number, from 0, that do not happen.
Told run_history(std::uint64_t seed, Machine& machine, const std::set<std::int64_t>& without = {});

}  // namespace pawl::sim
