// --max-attempts N of `pawl run` and `pawl resume`: a person's decision for every open phase of a run.
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

// `phases` names the affected phases in --help.
void add_max_attempts_options(const Command& command, MaxAttempts& options, const std::string& phases);

// kInvalid: a reason without --max-attempts, or a reason that can't be stored.
Status check_max_attempts(const MaxAttempts& options);
// kInvalid: the number is above the limit of a phase, and --operator-ack is missing.
Status check_acknowledged(const MaxAttempts& options, const std::string& phase_id, std::int64_t limit);

// Durable when it returns: a row with who, when and why for each phase that is not over.
Status set_max_attempts(const MaxAttempts& options, const State& state, const std::string& run_id);

}  // namespace pawl::cli
