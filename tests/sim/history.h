// One history: a plan, some executors and operators, and everything that can happen to them, from one seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace pawl::sim {

struct Told {
  std::optional<std::string> violation;
  std::vector<std::string> story;
  std::int64_t events = 0, steps = 0, crashes = 0, attempts = 0;
  // How near a phase came to what it may try at most, in percent.
  std::int64_t attempts_percent = 0, executions_percent = 0;
};

// Runs of earlier histories may be in `store`. The same seed tells the same story.
Told run_history(std::uint64_t seed, store::Store& store);

}  // namespace pawl::sim
