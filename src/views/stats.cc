#include "views/stats.h"

#include <algorithm>

#include "executor/executor.h"
#include "executor/recovery.h"
#include "os/clock.h"
#include "views/budget.h"
#include "views/decisions.h"

namespace pawl::views {
namespace {

// A step was lost too often. The name and the output of a step are not its outcome.
Result<bool> ended_by_crash_loop(const store::AttemptRow& attempt) {
  if (attempt.signals.empty()) return false;
  PAWL_TRY(const Json signals, parse_json(attempt.signals));
  return std::ranges::any_of(signals, [](const Json& signal) {
    const auto details = signal.find("details");
    return details != signal.end() && text_in(*details, "outcome") == name(executor::LostOutcome::kCrashLoop);
  });
}

// Returns the last executor of a phase that no process works on; "" when one does, or will. Such a phase is
// EXECUTING, and its holder is gone or let the lease run out. Or it is between two attempts, without a
// holder, and the executor of the last attempt is gone.
std::string left_by(const store::PhaseRow& phase, const std::vector<store::AttemptRow>& attempts,
                    const store::ClaimRequest& now) {
  if (phase.state != store::PhaseState::kExecuting || lease_is_live(phase, now)) return "";
  if (!phase.lease_owner.empty()) return phase.lease_owner;
  const bool waits = !phase.not_before.empty() && phase.not_before > rfc3339(now.now);
  if (waits || attempts.empty() || !now.owner_is_dead(attempts.back().executor)) return "";
  return attempts.back().executor;
}

// An attempt that an operator or another episode ended is not resumed.
bool is_resume(const Json& decision) {
  return decision_type(decision) == DecisionType::kResume &&
         text_in(decision, "found") != name(store::RecoveryFound::kOperator) &&
         text_in(decision, "decision") != name(store::RecoveryDecision::kCancelled);
}

Status add_phase(store::Reader& store, const store::PhaseRow& phase, const store::ClaimRequest& now,
                 Stats& to) {
  ++to.phases;
  ++to.attempts_used[phase.attempts_used];
  ++to.states[{std::string(name(phase.state)), phase.last_failure_reason}];
  to.doctor_calls += phase.doctor_calls;
  to.replans += phase.replans;
  PAWL_TRY(const auto attempts, store.attempts(phase.run_id, phase.phase_id));
  if (auto owner = left_by(phase, attempts, now); !owner.empty()) {
    const bool is_dead = now.owner_is_dead(owner);
    to.stuck.push_back({.run_id = phase.run_id,
                        .phase_id = phase.phase_id,
                        .last_attempt_timestamp = phase.last_attempt_timestamp,
                        .lease_owner = std::move(owner),
                        .holder_is_dead = is_dead});
  }
  to.attempts += static_cast<std::int64_t>(attempts.size());
  for (const auto& attempt : attempts) {
    PAWL_TRY(const bool crash_loop, ended_by_crash_loop(attempt));
    if (crash_loop) ++to.crash_loops;
  }
  PAWL_TRY(const auto steps, store.steps(phase.run_id, phase.phase_id));
  for (const auto& step : steps) {
    ++to.steps;
    const bool waited = has_waited(step);
    if (step.state == store::StepState::kLost && !waited) ++to.lost_steps;
  }
  PAWL_TRY(const Json decisions, decisions_of(store, phase.run_id, phase.phase_id));
  for (const auto& decision : decisions)
    if (is_resume(decision)) ++to.resumes[text_in(decision, "decision")];
  return {};
}

Status add_run(store::Reader& store, const std::string& run_id, const store::ClaimRequest& now, Stats& to) {
  PAWL_TRY(const auto phases, store.phases(run_id));
  PAWL_TRY(auto refusals, store.refusals(run_id));
  for (auto& row : refusals) to.refusals.emplace_back(run_id, std::move(row));
  PAWL_TRY(auto budgets, budgets_of(store, run_id));
  for (const auto& row : budgets)
    if (row.unit == store::kSandboxMs) to.sandbox_ms += row.spent;
  if (std::ranges::any_of(budgets, [](const auto& row) { return row.cap.has_value(); }))
    to.budgets.emplace_back(run_id, std::move(budgets));
  for (const auto& phase : phases) PAWL_OK(add_phase(store, phase, now, to));
  return {};
}

Json to_json(const StuckPhase& phase) {
  return {{"run_id", phase.run_id},
          {"phase_id", phase.phase_id},
          {"last_attempt_timestamp", phase.last_attempt_timestamp},
          {"lease_owner", phase.lease_owner},
          {"holder_is_dead", phase.holder_is_dead}};
}

Json to_json(const std::string& run_id, const store::RefusalRow& row) {
  return {{"run_id", run_id}, {"phase_id", row.phase_id}, {"at", row.at},
          {"verb", row.verb}, {"owner", row.owner},       {"fence", row.fence}};
}

}  // namespace

Result<Stats> stats_of(const State& state, const std::vector<store::RunRow>& runs) {
  const auto now = executor::request_now(os::SystemClock());
  Stats out{.runs = static_cast<std::int64_t>(runs.size())};
  for (const auto& run : runs) PAWL_OK(add_run(*state.store, run.run_id, now, out));
  return out;
}

Json to_json(const Stats& stats) {
  Json used = Json::object(), states = Json::array(), resumes = Json::object(), budgets = Json::object();
  Json stuck = Json::array(), refusals = Json::array();
  for (const auto& [attempts, phases] : stats.attempts_used) used[std::to_string(attempts)] = phases;
  for (const auto& [key, phases] : stats.states)
    states.push_back({{"state", key.first}, {"cause", key.second}, {"phases", phases}});
  for (const auto& [decision, times] : stats.resumes) resumes[decision] = times;
  for (const auto& [run_id, rows] : stats.budgets) budgets[run_id] = to_json(rows);
  for (const auto& phase : stats.stuck) stuck.push_back(to_json(phase));
  for (const auto& [run_id, row] : stats.refusals) refusals.push_back(to_json(run_id, row));
  return {{"runs", stats.runs},
          {"phases", stats.phases},
          {"attempts", stats.attempts},
          {"attempts_used", std::move(used)},
          {"states", std::move(states)},
          {"resumes", std::move(resumes)},
          {"crash_loops", stats.crash_loops},
          {"doctor_calls", stats.doctor_calls},
          {"replans", stats.replans},
          {"steps", stats.steps},
          {"lost_steps", stats.lost_steps},
          {"sandbox_milliseconds", stats.sandbox_ms},
          {"stuck", std::move(stuck)},
          {"budgets", std::move(budgets)},
          {"refusals", std::move(refusals)}};
}

}  // namespace pawl::views
