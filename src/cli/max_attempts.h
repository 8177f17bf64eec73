// --max-attempts N of `pawl run` and `pawl resume`: a decision of a person, for every phase of a run.
#pragma once

#include <cstdint>
#include <string>

#include "cli/context.h"

namespace pawl::cli {

struct MaxAttempts {
  std::int64_t number = 0;  // 0: the plan's
  bool operator_ack = false;
  std::string reason;
};

// `phases`: which, for --help.
void add_max_attempts_options(const Command& command, MaxAttempts& options, const std::string& phases);

// kInvalid: a reason for nothing, or that can't be kept.
Status check_max_attempts(const MaxAttempts& options);
// kInvalid: more than the limit that a phase has, and nobody said that it is meant.
Status check_acknowledged(const MaxAttempts& options, const std::string& phase_id, std::int64_t limit);

// Durable when it returns: for each phase that is not over a row with who, when and why.
Status set_max_attempts(const MaxAttempts& options, const State& state, const std::string& run_id);

}  // namespace pawl::cli
