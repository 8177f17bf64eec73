#include <algorithm>

#include "base/mutant.h"
#include "store/cost_row.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

// Mutants (base/mutant.h).
bool drops_usage_of_ended_agents() { return mutant("usage_of_ended_agents_dropped"); }
bool leaves_ended_gates() { return mutant("gates_ended_by_operators_run_on"); }
bool keeps_cancelled_phases() { return mutant("cancelled_phases_stay"); }
bool keeps_spent_phases() { return mutant("spent_phases_stay"); }
bool keeps_the_fence() { return mutant("operator_keeps_the_fence"); }

}  // namespace

Status RunStore::create_run(const NewRun& run_input, WallTime now) {
  const RunRow& row = run_input.run;
  PAWL_TRY(auto transaction, begin("create_run", ""));
  RunBefore before;
  {
    PAWL_TRY(auto query, database_->query("newest_run_start"));
    PAWL_TRY(const bool found, query.next());
    if (found) before = {.run_id = query.text(0), .hash = query.text(1)};
  }
  {
    PAWL_TRY(auto query, database_->query("insert_run"));
    query.bind(row.run_id).bind(row.workflow_id).bind(row.plan_file).bind(row.plan_content);
    query.bind(row.source_path)
        .bind(row.base_id)
        .bind(row.base_commit)
        .bind(row.backend)
        .bind(row.created_at);
    PAWL_OK(query.run());
  }
  for (const auto& tier_row : run_input.tiers) {
    PAWL_TRY(auto query, database_->query("insert_tier"));
    query.bind(row.run_id).bind(tier_row.tier_index).bind(tier_row.name);
    PAWL_OK(query.bind(std::int64_t{tier_row.stop_on_failure}).bind(std::int64_t{tier_row.parallel}).run());
  }
  for (const auto& phase_row : run_input.phases) {
    PAWL_TRY(auto query, database_->query("insert_phase"));
    query.bind(row.run_id).bind(phase_row.phase_id).bind(phase_row.tier_index).bind(phase_row.phase_index);
    PAWL_OK(query.bind(phase_row.max_attempts).run());
  }
  PAWL_OK(insert_plan(run_input));
  PAWL_OK(create_budget(run_input));
  auto started = run_started_row(run_input, before);
  PAWL_OK(trust_new_run(row.run_id, started));
  PAWL_OK(append_row(row.run_id, "", std::move(started), now));
  if (run_input.fork) PAWL_OK(share_history(run_input, now));
  PAWL_OK(sign_head(row.run_id, now));
  return transaction.commit();
}

// Ends the unfinished attempt and the open steps of a phase, so that no later result is accepted.
Result<std::vector<std::string>> RunStore::end_work_of(const PhaseRow& phase_row,
                                                       const std::string& isolation_class, WallTime now) {
  std::optional<AttemptRow> attempt;
  {
    PAWL_TRY(auto query, database_->query("unfinished_attempt"));
    query.bind(phase_row.run_id).bind(phase_row.phase_id);
    PAWL_TRY(const bool row, query.next());
    if (!row) return std::vector<std::string>();
    PAWL_TRY(attempt, read_attempt(query));
  }
  std::vector<StepRow> open;
  {
    PAWL_TRY(auto query, database_->query("open_step_of_phase"));
    query.bind(phase_row.run_id).bind(phase_row.phase_id);
    for (;;) {
      PAWL_TRY(const bool row, query.next());
      if (!row) break;
      PAWL_TRY(auto step_row, read_step(query));
      open.push_back(std::move(step_row));
    }
  }
  std::vector<std::string> ended;
  PAWL_TRY(auto budgets, known_budgets(phase_row.run_id));
  for (const auto& step_row : open) {
    ended.push_back(step_row.sandbox_run_id);
    PAWL_TRY(const auto run_row, run(phase_row.run_id));
    const std::string cost = cost_row({.workflow_id = run_row.workflow_id,
                                       .run_id = run_row.run_id,
                                       .gate_id = step_row.gate_id,
                                       .sandbox_run_id = step_row.sandbox_run_id,
                                       .backend = run_row.backend,
                                       .gate_isolation_class = isolation_class,
                                       .emitted_at = now});
    const ResumeDecision decision{
        .sandbox_run_id = step_row.sandbox_run_id,
        .label = step_row.label,
        .found = RecoveryFound::kOperator,
        .decision = RecoveryDecision::kSkip,
        .lost_cost_row = cost,
        // True for a gate's step as well, which reports no usage: it runs until a process ends it, and the
        // operator's process may die before it does.
        .unsettled = step_row.gate_id == kAgentGate ? !drops_usage_of_ended_agents() : !leaves_ended_gates()};
    PAWL_OK(close_lost_step(step_row, decision, now, budgets));
  }
  PAWL_OK(write_budgets(phase_row.run_id, budgets));
  attempt->finished = true;
  attempt->ended_at = rfc3339(now);
  attempt->verdict = AttemptVerdict::kCancelled;
  attempt->signals = "[]";
  PAWL_OK(write_attempt_end(*attempt));
  PAWL_OK(append_row(phase_row.run_id, phase_row.phase_id, attempt_row(*attempt, {}), now));
  return ended;
}

// Returns the phases that were stopped because this one failed: they may run again.
Result<std::vector<PhaseRow>> RunStore::stopped_because_of(const std::string& run_id,
                                                           const std::string& phase_id) {
  const std::string cause = stopped_by(phase_id);
  std::vector<PhaseRow> out;
  PAWL_TRY(auto query, database_->query("phases_stopped_by"));
  query.bind(run_id).bind(cause);
  for (;;) {
    PAWL_TRY(const bool more, query.next());
    if (!more) return out;
    PAWL_TRY(auto row, read_phase(query));
    out.push_back(std::move(row));
  }
}

Status RunStore::change_by_operator(PhaseRow& row, PhaseEvent event, std::string_view action,
                                    const Operator& who, WallTime now) {
  PAWL_TRY(const auto transition, apply(row, event));
  if (row.state == PhaseState::kExecuting) {
    PAWL_TRY([[maybe_unused]] const auto steps, end_work_of(row, who.isolation_class, now));
  }
  PAWL_OK(append_row(row.run_id, row.phase_id, operator_row(std::string(action), who, row, transition.state),
                     now));
  row.state = transition.state;
  row.outcome = transition.outcome;
  row.lease_owner.clear();
  row.lease_expires_at.clear();
  if (!keeps_the_fence()) row.fence += 1;
  if (event == PhaseEvent::kOperatorRetry) {
    row.attempts_used = 0;
    row.not_before.clear();
    row.revision += 1;
    row.last_failure_reason.clear();
    PAWL_OK(open_chain(row.run_id, row.phase_id));
    trusted_.at(row.run_id).first_open = 0;
  } else {
    row.last_failure_reason = std::string(action) + " by uid " + std::to_string(who.uid) +
                              (who.reason.empty() ? "" : ": " + who.reason);
  }
  PAWL_OK(write_phase(row));
  return is_terminal(row.state) ? seal_phase(row, now) : Status();
}

static std::string_view action_of(PhaseEvent event) {
  if (event == PhaseEvent::kOperatorRetry) return "retry";
  return event == PhaseEvent::kOperatorSkip ? "skip" : "cancel";
}

Result<std::vector<std::string>> RunStore::operate(const std::string& run_id, const std::string& phase_id,
                                                   PhaseEvent event, const Operator& who, WallTime now) {
  const std::string_view action = action_of(event);
  PAWL_TRY(auto transaction, begin(action, run_id));
  PAWL_TRY(const auto run_row, run(run_id));
  PAWL_OK(check_tables(run_id));
  std::vector<PhaseRow> targets;
  if (phase_id.empty()) {
    PAWL_TRY(const auto all, phases(run_id));
    std::ranges::copy_if(all, std::back_inserter(targets),
                         [&](const PhaseRow& row) { return apply(row, event).has_value(); });
    if (targets.empty())
      return fail(ErrorKind::kInvalid, "no phase of run " + run_id + " is in a state to " +
                                           std::string(action) + "; see `pawl status " + run_id + "`");
  } else {
    PAWL_TRY(auto row, phase(run_id, phase_id));
    targets.push_back(std::move(row));
  }
  if (event == PhaseEvent::kOperatorRetry && targets.front().state == PhaseState::kCancelled &&
      keeps_cancelled_phases())
    return fail(ErrorKind::kInvalid, "mutant");
  if (event == PhaseEvent::kOperatorRetry && !phase_id.empty()) {
    PAWL_TRY(auto stopped, stopped_because_of(run_id, phase_id));
    std::ranges::move(stopped, std::back_inserter(targets));
  }
  // When a FAILED phase is skipped the run goes on, with the phases that were stopped because of it.
  std::vector<PhaseRow> go_on;
  if (event == PhaseEvent::kOperatorSkip && !phase_id.empty() &&
      targets.front().state == PhaseState::kFailed) {
    PAWL_TRY(go_on, stopped_because_of(run_id, phase_id));
  }
  std::vector<std::string> changed;
  for (auto& row : targets) {
    PAWL_OK(change_by_operator(row, event, action, who, now));
    changed.push_back(row.phase_id);
  }
  for (auto& row : go_on) {
    PAWL_OK(change_by_operator(row, PhaseEvent::kOperatorRetry, "retry", who, now));
    changed.push_back(row.phase_id);
  }
  if (event == PhaseEvent::kOperatorRetry) {
    PAWL_OK(set_run_state(run_id, RunState::kExecuting, ""));
  } else if (run_row.state == RunState::kExecuting) {
    PAWL_TRY([[maybe_unused]] const bool over, seal_run_if_over(run_id, now));
  } else {
    // The run was over. The skip of a FAILED phase may change the state in which the run ends.
    PAWL_OK(set_run_state(run_id, RunState::kExecuting, ""));
    PAWL_TRY([[maybe_unused]] const bool over, seal_run_if_over(run_id, now));
  }
  PAWL_OK(sign_head(run_id, now));
  PAWL_OK(transaction.commit());
  return changed;
}

Result<std::vector<std::string>> RunStore::operator_retry(const std::string& run_id,
                                                          const std::string& phase_id, const Operator& who,
                                                          WallTime now) {
  return operate(run_id, phase_id, PhaseEvent::kOperatorRetry, who, now);
}

Result<std::vector<std::string>> RunStore::operator_skip(const std::string& run_id,
                                                         const std::string& phase_id, const Operator& who,
                                                         WallTime now) {
  return operate(run_id, phase_id, PhaseEvent::kOperatorSkip, who, now);
}

Result<std::vector<std::string>> RunStore::operator_cancel(const std::string& run_id,
                                                           const std::string& phase_id, const Operator& who,
                                                           WallTime now) {
  return operate(run_id, phase_id, PhaseEvent::kOperatorCancel, who, now);
}

Result<std::vector<std::string>> RunStore::operator_go_on(const std::string& run_id, const Operator& who,
                                                          WallTime now) {
  PAWL_TRY(auto transaction, begin("go_on", run_id));
  PAWL_OK(check_tables(run_id));
  PAWL_TRY(const auto all, phases(run_id));
  std::vector<std::string> changed;
  for (auto row : all) {
    if (is_terminal(row.state) || row.not_before.empty()) continue;
    PAWL_OK(append_row(run_id, row.phase_id, operator_row("go_on", who, row, row.state), now));
    row.not_before.clear();
    PAWL_OK(write_phase(row));
    changed.push_back(row.phase_id);
  }
  if (!changed.empty()) PAWL_OK(sign_head(run_id, now));
  PAWL_OK(transaction.commit());
  return changed;
}

// True: the phase is between two attempts and has none left. Its last attempt would have ended it, with this
// limit.
Result<bool> RunStore::is_spent(const PhaseRow& row) {
  if (row.state != PhaseState::kExecuting || row.attempts_used < row.max_attempts || keeps_spent_phases())
    return false;
  PAWL_TRY(auto query, database_->query("unfinished_attempt_id"));
  query.bind(row.run_id).bind(row.phase_id);
  PAWL_TRY(const bool goes_on, query.next());
  return !goes_on;
}

Status RunStore::end_spent(PhaseRow row, WallTime now) {
  PAWL_TRY(const auto transition, apply(row, PhaseEvent::kAttemptRetryable));
  row.state = transition.state;
  row.outcome = transition.outcome;
  row.not_before.clear();
  row.fence += 1;
  PAWL_OK(write_phase(row));
  PAWL_OK(seal_phase(row, now));
  PAWL_TRY(const TierRow tier_row, tier(row.run_id, row.tier_index));
  return tier_row.stop_on_failure ? stop_queued(row, now) : Status();
}

Status RunStore::operator_max_attempts(const std::string& run_id, std::int64_t max_attempts,
                                       const Operator& who, WallTime now) {
  PAWL_TRY(auto transaction, begin("max_attempts", run_id));
  PAWL_OK(check_tables(run_id));
  PAWL_TRY(const auto all, phases(run_id));
  std::vector<PhaseRow> spent;
  for (auto row : all) {
    if (is_terminal(row.state)) continue;
    const auto before = row.max_attempts;
    // A limit below the attempts used means that no attempt is left.
    row.max_attempts = std::max(max_attempts, row.attempts_used);
    PAWL_TRY(const bool ends, is_spent(row));
    if (!ends && row.max_attempts == before) continue;
    PAWL_OK(append_row(run_id, row.phase_id,
                       operator_row("max_attempts " + std::to_string(max_attempts), who, row,
                                    ends ? PhaseState::kFailed : row.state),
                       now));
    PAWL_OK(write_phase(row));
    if (ends) spent.push_back(std::move(row));
  }
  // After all limits are written: a phase that is stopped now may be retried later.
  for (auto& row : spent) PAWL_OK(end_spent(std::move(row), now));
  if (!spent.empty()) {
    PAWL_TRY([[maybe_unused]] const bool over, seal_run_if_over(run_id, now));
  }
  PAWL_OK(sign_head(run_id, now));
  return transaction.commit();
}

}  // namespace pawl::store::verbs
