// Counts over runs: attempts and how they ended, stuck phases, the cost of crashes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "views/views.h"

namespace pawl::views {

// A phase between or in attempts that no process works on.
struct StuckPhase {
  std::string run_id, phase_id, last_attempt_timestamp;
  std::string lease_owner;  // the executor that left it
  bool holder_is_dead = false;
};

struct Stats {
  std::int64_t runs = 0, phases = 0, attempts = 0, crash_loops = 0, doctor_calls = 0, replans = 0;
  std::int64_t steps = 0, lost_steps = 0, sandbox_ms = 0;
  std::map<std::int64_t, std::int64_t> attempts_used;                  // phases by their attempts_used
  std::map<std::pair<std::string, std::string>, std::int64_t> states;  // phases by state and cause
  std::map<std::string, std::int64_t> resumes;                         // by decision
  std::vector<StuckPhase> stuck;
  std::vector<std::pair<std::string, std::vector<store::BudgetRow>>> budgets;  // by run_id, only with a cap
  std::vector<std::pair<std::string, store::RefusalRow>> refusals;  // commits under lost leases, by run_id
};
// Reads all phases, attempts and steps of these runs.
Result<Stats> stats_of(const State& state, const std::vector<store::RunRow>& runs);

// The object of `pawl stats --json`, without the command of a stuck phase.
Json to_json(const Stats& stats);

}  // namespace pawl::views
