#include "cli/max_attempts.h"

#include <fmt/format.h>

namespace pawl::cli {

void add_max_attempts_options(const Command& command, MaxAttempts& options, const std::string& phases) {
  command.option("--max-attempts", options.number, "Instead of the plan's, for every " + phases, {1, 100});
  command.flag("--operator-ack", options.operator_ack, "Required when --max-attempts is above a phase's");
  command.option("--reason", options.reason, "The reason for --max-attempts, for the ledger");
}

Status check_max_attempts(const MaxAttempts& options) {
  PAWL_OK(check_reason(options.reason));
  if (options.reason.empty() || options.number > 0) return {};
  return fail(ErrorKind::kInvalid,
              "--reason needs --max-attempts; add --max-attempts N, or leave --reason out");
}

Status check_acknowledged(const MaxAttempts& options, const std::string& phase_id, std::int64_t limit) {
  if (options.number <= limit || options.operator_ack) return {};
  return fail(ErrorKind::kInvalid, fmt::format("--max-attempts {} is above the {} of phase {}; add "
                                               "--operator-ack to say that you mean it",
                                               options.number, limit, phase_id));
}

Status set_max_attempts(const MaxAttempts& options, const State& state, const std::string& run_id) {
  if (options.number == 0) return {};
  PAWL_TRY(const auto who, this_operator(state, options.reason));
  return state.store->operator_max_attempts(run_id, options.number, who, os::SystemClock().wall());
}

}  // namespace pawl::cli
