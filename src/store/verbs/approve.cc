// An operator approves: the work of an attempt that did not pass becomes part of the run.
#include <algorithm>

#include "base/mutant.h"
#include "store/overlap.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

// A mutant (base/mutant.h).
bool loses_ended_work() { return mutant("ended_work_counts_as_lost"); }

}  // namespace

Status RunStore::check_approved(const PhaseRow& phase, const Approved& what, const Overlaps& overlaps) {
  AttemptRow attempt;
  {
    PAWL_TRY(auto query, database_->query("newest_finished_attempt"));
    query.bind(phase.run_id).bind(phase.phase_id);
    PAWL_TRY(const bool row, query.next());
    if (!row) return fail(ErrorKind::kInvalid, "phase " + phase.phase_id + " has no attempt to approve");
    PAWL_TRY(attempt, read_attempt(query));
    if (attempt.attempt_id != what.attempt_id)
      return fail(ErrorKind::kConflict, "the newest attempt of " + phase.phase_id + " is " +
                                            attempt.attempt_id + ", not " + what.attempt_id + "; look again");
  }
  PAWL_TRY(const auto steps, steps_of_attempt(phase.run_id, attempt.attempt_id));
  const bool there = std::ranges::any_of(steps, [](const StepRow& step) {
    return step.gate_id == kAgentGate && step.state == StepState::kDone;
  });
  if (!there || loses_ended_work())
    return fail(ErrorKind::kNotFound, "what the agent of " + attempt.attempt_id +
                                          " did was lost: there is no work to take; `pawl retry` or `pawl "
                                          "skip` the phase");
  PAWL_TRY(const auto looked, look_beside(*this, attempt, what.layer, 0, overlaps));
  if (looked.overlapping)
    return fail(ErrorKind::kConflict, "it changes what phase " + looked.overlapping->phase_id +
                                          " changed since; `pawl retry` it instead");
  return {};
}

Result<std::vector<std::string>> RunStore::operator_approve(const std::string& run_id, const Approved& what,
                                                            const Overlaps& overlaps, const Operator& who,
                                                            WallTime now) {
  PAWL_TRY(auto transaction, begin("approve", run_id));
  PAWL_OK(check_tables(run_id));
  PAWL_TRY(auto row, phase(run_id, what.phase_id));
  PAWL_TRY([[maybe_unused]] const auto transition, apply(row, PhaseEvent::kOperatorApprove));
  PAWL_OK(check_approved(row, what, overlaps));
  PAWL_OK(accept_layer(row, what.layer));  // before the seal of the phase, which names it
  PAWL_OK(change_by_operator(row, PhaseEvent::kOperatorApprove, "approve " + what.attempt_id, who, now));
  std::vector<std::string> changed{row.phase_id};
  PAWL_TRY(auto stopped, stopped_because_of(run_id, what.phase_id));
  for (auto& other : stopped) {
    PAWL_OK(change_by_operator(other, PhaseEvent::kOperatorRetry, "retry", who, now));
    changed.push_back(other.phase_id);
  }
  PAWL_OK(set_run_state(run_id, RunState::kExecuting, ""));
  PAWL_TRY([[maybe_unused]] const bool over, seal_run_if_over(run_id, now));
  PAWL_OK(sign_head(run_id, now));
  PAWL_OK(transaction.commit());
  return changed;
}

}  // namespace pawl::store::verbs
