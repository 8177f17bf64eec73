// Runs workers until their runs are over. Shared by `pawl run` and `pawl resume`.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/context.h"

namespace pawl::cli {

struct LoopOptions {
  StateOptions state;
  std::vector<std::string> run_ids;
  std::int64_t workers = 1;
};

// Blocks until every run is over, no run can go on, or a person interrupts. Prints progress, then a summary
// (with --json: one object for each run on stdout, progress on stderr). Returns the exit code: 12 wins over
// 11.
int run_loop(const State& state, const LoopOptions& options);

}  // namespace pawl::cli
