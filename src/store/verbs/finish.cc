#include <algorithm>

#include "base/mutant.h"
#include "store/overlap.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

// Mutants (base/mutant.h).
bool seals_no_work() { return mutant("seal_without_its_work"); }
bool sees_no_others() { return mutant("accepted_without_the_others"); }
bool writes_no_seal() { return mutant("end_without_its_seal"); }
bool finishes_in_two_transactions() { return mutant("finish_in_two_transactions"); }
bool writes_no_attempt_row() { return mutant("attempt_without_its_row"); }
bool reserves_at_the_end() { return mutant("reserved_after_the_run"); }
bool resets_attempts_total() { return mutant("replan_resets_attempts_total"); }
bool signs_no_end() { return mutant("end_without_a_signature"); }

PhaseEvent event_of(const AttemptEnd& end) {
  PAWL_CHECK(end.action == Action::kNone || end.verdict != AttemptVerdict::kPassed);
  switch (end.action) {
    case Action::kNone:
      break;
    case Action::kReplan:
      return PhaseEvent::kReplanned;
    case Action::kSkipPhase:
      return PhaseEvent::kDoctorSkip;
    case Action::kMarkFailed:
    case Action::kAbortRun:
      return PhaseEvent::kAttemptUnrecoverable;
  }
  if (end.verdict == AttemptVerdict::kPassed) return PhaseEvent::kAttemptPassed;
  if (end.verdict == AttemptVerdict::kFailedRetryable) return PhaseEvent::kAttemptRetryable;
  if (end.verdict == AttemptVerdict::kFailedUnrecoverable) return PhaseEvent::kAttemptUnrecoverable;
  PAWL_CHECK(end.verdict == AttemptVerdict::kEscalate);
  return PhaseEvent::kAttemptEscalate;
}

}  // namespace

std::string stopped_by(const std::string& phase_id) { return "stopped: " + phase_id + " failed"; }

Status RunStore::write_attempt_end(const AttemptRow& attempt) {
  const std::string failing = canonical(Json(attempt.failing_signals));
  PAWL_TRY(auto query, database_->query("write_attempt_end"));
  query.bind(attempt.run_id).bind(attempt.phase_id).bind(attempt.number).bind(attempt.ended_at);
  query.bind(name(attempt.verdict))
      .bind(attempt.signals)
      .bind(failing)
      .bind(attempt.summary)
      .bind(attempt.feedback);
  memory_.unfinished.erase(key_of(attempt.run_id, attempt.phase_id));
  return query.bind(attempt.executor).bind(attempt.build).bind(attempt.failure).run();
}

Status RunStore::seal_phase(const PhaseRow& phase, WallTime now) {
  PAWL_TRY(const auto head, chain_head(phase.run_id, phase.phase_id));
  {
    PAWL_TRY(auto query, database_->query("close_chain"));
    PAWL_OK(query.bind(phase.run_id).bind(phase.phase_id).run());
  }
  ends_to_seal_.erase(key_of(phase.run_id, phase.phase_id));  // a signed row says where it ends
  std::string layer;
  {
    PAWL_TRY(auto query, database_->query("accepted_layer"));
    query.bind(phase.run_id).bind(phase.phase_id);
    PAWL_TRY(const bool found, query.next());
    if (found && !seals_no_work()) layer = query.text(0);
  }
  if (!writes_no_seal()) PAWL_OK(append_row(phase.run_id, "", phase_sealed_row(phase, head, layer), now));
  trusted_.at(phase.run_id)
      .own_ended.seal(phase.phase_id, {.state = std::string(name(phase.state)),
                                       .outcome = std::string(name(phase.outcome)),
                                       .layer = std::move(layer),
                                       .end = head});
  return {};
}

Status RunStore::set_run_state(const std::string& run_id, RunState state, std::string_view ended_at) {
  const std::string_view word = name(state);
  PAWL_TRY(auto query, database_->query("set_run_state"));
  return query.bind(run_id).bind(word).bind(ended_at).run();
}

Result<bool> RunStore::seal_run_if_over(const std::string& run_id, WallTime now) {
  {
    PAWL_TRY(auto query, database_->query("any_open_phase"));
    query.bind(run_id);
    PAWL_TRY(const bool open, query.next());
    if (open) return false;
  }
  PAWL_TRY(const auto all, phases(run_id));
  std::vector<ChainHead> heads;
  for (const auto& row : all) {
    PAWL_TRY(auto head, chain_head(run_id, row.phase_id));
    heads.push_back(std::move(head));
  }
  PAWL_OK(check_seals(run_id, all, heads));
  const RunState state = run_state_of(all);
  PAWL_OK(append_row(run_id, "", run_sealed_row(state, heads), now));
  PAWL_OK(set_run_state(run_id, state, rfc3339(now)));
  for (const auto& row : all) memory_.ends.erase(key_of(run_id, row.phase_id));
  memory_.held.erase(run_id);
  return true;
}

Status RunStore::check_run(const std::string& run_id) {
  PAWL_TRY(auto transaction, begin("check_run", run_id));
  PAWL_OK(database_->check_what_claims_read());
  return check_state(run_id);
}

// on_failure: stop. Skips every QUEUED phase of the run.
Status RunStore::stop_queued(const PhaseRow& failed, WallTime now) {
  std::vector<PhaseRow> queued;
  {
    PAWL_TRY(auto query, database_->query("queued_phases"));
    query.bind(failed.run_id);
    for (;;) {
      PAWL_TRY(const bool row, query.next());
      if (!row) break;
      PAWL_TRY(auto phase_row, read_phase(query));
      queued.push_back(std::move(phase_row));
    }
  }
  for (auto& phase_row : queued) {
    PAWL_TRY(const auto transition, apply(phase_row, PhaseEvent::kTierStopped));
    phase_row.state = transition.state;
    phase_row.outcome = transition.outcome;
    phase_row.last_failure_reason = stopped_by(failed.phase_id);
    PAWL_OK(write_phase(phase_row));
    PAWL_OK(seal_phase(phase_row, now));
  }
  return {};
}

Status RunStore::accept_layer(const PhaseRow& phase, const std::string& layer) {
  std::int64_t merge_seq = 0;
  {
    PAWL_TRY(auto query, database_->query("next_merge_seq"));
    query.bind(phase.run_id);
    PAWL_TRY(const bool row, query.next());
    PAWL_CHECK(row);
    merge_seq = query.number(0);
  }
  PAWL_TRY(auto query, database_->query("insert_accepted"));
  return query.bind(phase.run_id).bind(merge_seq).bind(phase.phase_id).bind(layer).run();
}

Status RunStore::append_attempt(const AttemptRow& attempt, const AttemptEnd& end, WallTime now) {
  PAWL_OK(check_tables(attempt.run_id));
  PAWL_TRY(const auto run_row, run(attempt.run_id));
  PAWL_TRY(const auto layers, base_layers(judged_on(attempt)));
  const JudgedBy by{.stack = stack_hash(run_row.base_id, layers), .inventories = end.inventories};
  return append_row(attempt.run_id, attempt.phase_id, attempt_row(attempt, end.episodes, by), now);
}

Status RunStore::record_episodes(const AttemptRow& attempt, const AttemptEnd& end) {
  for (const auto& row : end.episodes) {
    PAWL_TRY(auto query, database_->query("insert_episode"));
    query.bind(attempt.run_id).bind(attempt.phase_id).bind(attempt.attempt_id).bind(row.episode);
    query.bind(row.outcome).bind(row.gates_passed).bind(row.failing_signals);
    if (row.changed_lines)
      query.bind(*row.changed_lines);
    else
      query.bind_null();
    PAWL_OK(query.bind(row.kept_by).run());
  }
  if (end.agent_layer.value_or(attempt.agent_layer) == attempt.agent_layer) return {};
  PAWL_TRY(auto query, database_->query("set_agent_layer"));
  return query.bind(attempt.run_id)
      .bind(attempt.phase_id)
      .bind(attempt.attempt_id)
      .bind(*end.agent_layer)
      .run();
}

Status RunStore::record_advice(const PhaseRow& phase, const AttemptRow& attempt, const AttemptEnd& end,
                               WallTime now) {
  const bool replanned = end.action == Action::kReplan;
  for (const auto& advice : end.advice)
    PAWL_OK(append_row(phase.run_id, phase.phase_id,
                       advice_row(attempt.attempt_id, advice, replanned ? phase.revision : 0), now));
  if (!replanned) return {};
  PAWL_TRY(auto query, database_->query("insert_revision"));
  query.bind(phase.run_id).bind(phase.phase_id).bind(phase.revision).bind(attempt.attempt_id);
  return query.bind(end.goal).bind(end.action_reason).run();
}

Status RunStore::settle_terminal(const PhaseRow& phase, const AttemptEnd& end, Finished& out, WallTime now) {
  if (phase.state == PhaseState::kComplete) PAWL_OK(accept_layer(phase, end.accepted_layer));
  PAWL_OK(seal_phase(phase, now));
  PAWL_TRY(const TierRow tier_row, tier(phase.run_id, phase.tier_index));
  if (end.action == Action::kAbortRun) {
    PAWL_OK(cancel_others(phase, end, out, now));
  } else if (phase.state == PhaseState::kFailed && tier_row.stop_on_failure) {
    PAWL_OK(stop_queued(phase, now));
  }
  PAWL_TRY(out.run_ended, seal_run_if_over(phase.run_id, now));
  return {};
}

// Cancels every other phase that is not terminal. Their workers lose their leases.
Status RunStore::cancel_others(const PhaseRow& aborting, const AttemptEnd& end, Finished& out, WallTime now) {
  PAWL_TRY(const auto all, phases(aborting.run_id));
  for (auto row : all) {
    if (is_terminal(row.state)) continue;
    PAWL_TRY(const auto transition, apply(row, PhaseEvent::kRunAborted));
    if (row.state == PhaseState::kExecuting) {
      PAWL_TRY(auto steps, end_work_of(row, end.isolation_class, now));
      std::ranges::move(steps, std::back_inserter(out.ended_steps));
    }
    row.state = transition.state;
    row.outcome = transition.outcome;
    row.lease_owner.clear();
    row.lease_expires_at.clear();
    row.fence += 1;
    row.last_failure_reason = "aborted by " + aborting.phase_id + ": " + end.action_reason;
    PAWL_OK(write_phase(row));
    PAWL_OK(seal_phase(row, now));
  }
  return {};
}

static void end_as(const AttemptEnd& end, const std::string& owner, WallTime now, AttemptRow& attempt) {
  attempt.finished = true;
  attempt.ended_at = rfc3339(now);
  attempt.verdict = end.verdict;
  attempt.signals = end.signals;
  attempt.failing_signals = end.failing_signals;
  attempt.failure = end.failure;
  attempt.summary = end.summary;
  attempt.feedback = end.feedback.is_null() ? "" : canonical(end.feedback);
  attempt.executor = owner;
  attempt.build = end.build;
}

Result<Finished> RunStore::finish(const Lease& lease, const Endings& endings, const AttemptEnd& end,
                                  const Overlaps& overlaps, WallTime now) {
  PAWL_TRY(auto transaction, begin("finish", lease.run_id));
  PAWL_OK(require_lease(lease, "finish", now, transaction));
  PAWL_TRY(auto phase_row, phase(lease.run_id, lease.phase_id));
  PAWL_TRY(auto attempt, unfinished_attempt(lease));
  PAWL_OK(check_attempts(phase_row));
  PAWL_TRY(const auto transition, apply(phase_row, event_of(end)));
  Finished out{.state = transition.state, .outcome = transition.outcome};
  if (transition.state == PhaseState::kComplete) {
    PAWL_TRY(auto looked,
             look_beside(*this, judged_on(attempt), end.accepted_layer, end.looked_up_to, overlaps));
    if (looked.overlapping) {
      out.overlapping = std::move(looked.overlapping);
      return out;
    }
    PAWL_TRY(const auto beside, accepted_beside(judged_on(attempt), 0, 1));
    out.behind = !beside.empty() && !sees_no_others();
    if (out.behind) return out;
  }
  PAWL_TRY(auto budgets, known_budgets(lease.run_id));
  PAWL_TRY(out.warnings, record_endings(lease, endings, now, budgets));
  PAWL_OK(write_budgets(lease.run_id, budgets));

  end_as(end, lease.owner, now, attempt);
  PAWL_OK(write_attempt_end(attempt));
  PAWL_OK(record_episodes(attempt, end));
  attempt.agent_layer = end.agent_layer.value_or(attempt.agent_layer);
  if (finishes_in_two_transactions()) {
    PAWL_OK(transaction.commit());
    PAWL_TRY(transaction, begin("finish", lease.run_id));
  }
  if (!writes_no_attempt_row()) PAWL_OK(append_attempt(attempt, end, now));

  if (reserves_at_the_end()) phase_row.attempts_used += 1;
  phase_row.state = transition.state;
  phase_row.outcome = transition.outcome;
  phase_row.last_failure_reason = end.action == Action::kNone ? end.reason : end.action_reason;
  phase_row.lease_owner.clear();
  phase_row.lease_expires_at.clear();
  if (phase_row.state == PhaseState::kExecuting) phase_row.not_before = end.not_before;
  if (end.action == Action::kReplan) {
    phase_row.revision += 1;
    phase_row.attempts_used = 0;
    if (resets_attempts_total()) phase_row.attempts_total = 0;
  }
  PAWL_OK(record_advice(phase_row, attempt, end, now));
  PAWL_OK(write_phase(phase_row));
  if (is_terminal(phase_row.state)) PAWL_OK(settle_terminal(phase_row, end, out, now));
  if (!signs_no_end()) PAWL_OK(sign_head(lease.run_id, now));
  PAWL_OK(transaction.commit());
  return out;
}

Result<JudgedAgain> RunStore::judge_again(const Lease& lease, const Endings& endings, WallTime now) {
  constexpr std::size_t kPhasesNamed = 1000;
  PAWL_TRY(auto transaction, begin("judge_again", lease.run_id));
  PAWL_OK(require_lease(lease, "judge_again", now, transaction));
  JudgedAgain out;
  PAWL_TRY(out.attempt, unfinished_attempt(lease));
  PAWL_TRY(auto budgets, known_budgets(lease.run_id));
  PAWL_TRY(out.warnings, record_endings(lease, endings, now, budgets));
  PAWL_OK(write_budgets(lease.run_id, budgets));
  PAWL_OK(check_tables(lease.run_id));
  PAWL_TRY(const auto layers, accepted_beside(judged_on(out.attempt), 0, kPhasesNamed));
  std::vector<std::string> beside;
  for (const auto& layer : layers) beside.push_back(layer.phase_id);
  out.attempt.joined_round += 1;
  {
    PAWL_TRY(auto query, database_->query("newest_merge_seq"));
    query.bind(lease.run_id);
    PAWL_TRY(const bool row, query.next());
    PAWL_CHECK(row);
    out.attempt.joined_merge_seq = query.number(0);
  }
  {
    PAWL_TRY(auto query, database_->query("judge_again"));
    query.bind(lease.run_id).bind(lease.phase_id).bind(out.attempt.number);
    PAWL_OK(query.bind(out.attempt.joined_round).bind(out.attempt.joined_merge_seq).run());
  }
  memory_.unfinished.erase(key_of(lease.run_id, lease.phase_id));
  PAWL_TRY(out.layers, base_layers(judged_on(out.attempt)));
  PAWL_OK(append_row(lease.run_id, lease.phase_id, judged_again_row(out.attempt, beside), now));
  PAWL_OK(sign_head(lease.run_id, now));
  PAWL_OK(transaction.commit());
  return out;
}

}  // namespace pawl::store::verbs
