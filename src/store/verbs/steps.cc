// Steps, ledger rows and cost rows: the parts of every transaction of a lease holder.

#include "base/hash.h"
#include "base/mutant.h"
#include "store/cost_row.h"
#include "store/marker.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

// Mutants (base/mutant.h).
bool overwrites_a_cancel() { return mutant("cancel_is_overwritten"); }
bool checks_no_fence() { return mutant("fence_check_dropped"); }
bool charges_no_lost_step() { return mutant("lost_steps_cost_nothing"); }
bool charges_no_cancelled_step() { return mutant("cancelled_steps_cost_nothing"); }
bool counts_doctor_calls_in_memory() { return mutant("doctor_calls_in_memory"); }
bool waits_without_its_time() { return mutant("wait_without_its_time"); }

std::unexpected<Error> no_unfinished_attempt(const Lease& lease) {
  return fail(ErrorKind::kCorrupt, "phase " + lease.phase_id + " is leased without an unfinished attempt");
}

}  // namespace

Result<Transaction> RunStore::begin(std::string_view verb, std::string_view run_id) {
  PAWL_TRY(auto transaction, database_->begin(verb, run_id));
  look_at_epoch();
  ends_to_seal_.clear();  // the verb before may have been rolled back
  transaction.before_commit([this] { return seal_ends(); });
  return transaction;
}

void RunStore::look_at_epoch() {
  // Rows that the shared transaction wrote and has not signed yet are known only from trusted_ and memory_.
  // So neither is dropped for its size while heads are unsigned.
  const bool is_large = memory_.is_large() || trusted_.size() > kTrustedRunsMax;
  const bool forgets = is_large && heads_to_sign_.empty();
  if (memory_.epoch == database_->epoch() && !forgets) return;
  memory_ = Memory{.epoch = database_->epoch()};
  if (forgets) trusted_.clear();  // its chain ends are older than memory_.ends, which is dropped
}

Status ReadingStore::check_lease(const Lease& lease) {
  PAWL_TRY(auto query, database_->query("lease_of_phase"));
  query.bind(lease.run_id).bind(lease.phase_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return fail(ErrorKind::kNotFound, "run " + lease.run_id + " has no phase " + lease.phase_id);
  PAWL_TRY(const auto state, phase_state_from_name(query.view(0)));
  if (state == PhaseState::kCancelled && overwrites_a_cancel()) return {};
  const bool stale = query.number(1) != lease.fence && !checks_no_fence();
  if (stale || state != PhaseState::kExecuting || query.view(2).empty())
    return fail(ErrorKind::kConflict,
                "the lease on " + lease.phase_id + " is lost: somebody else has the phase, or it is over");
  return {};
}

Status RunStore::require_lease(const Lease& lease, std::string_view verb, WallTime now,
                               Transaction& transaction) {
  auto holds = check_lease(lease);
  if (holds || holds.error().kind != ErrorKind::kConflict) return holds;
  {
    const std::string at = rfc3339(now);
    PAWL_TRY(auto query, database_->query("insert_refusal"));
    query.bind(lease.run_id).bind(lease.phase_id).bind(at).bind(verb).bind(lease.owner).bind(lease.fence);
    PAWL_OK(query.run());
  }
  PAWL_OK(transaction.commit());
  return holds;
}

Result<AttemptRow> RunStore::unfinished_attempt(const Lease& lease) {
  const auto known = memory_.unfinished.find(key_of(lease.run_id, lease.phase_id));
  if (known != memory_.unfinished.end()) return known->second;
  PAWL_TRY(auto query, database_->query("unfinished_attempt"));
  query.bind(lease.run_id).bind(lease.phase_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return no_unfinished_attempt(lease);
  return read_attempt(query);
}

Status RunStore::write_phase(const PhaseRow& phase) {
  const std::string_view state = name(phase.state);
  const std::string_view outcome = name(phase.outcome);
  PAWL_TRY(auto query, database_->query("update_phase"));
  query.bind(phase.run_id).bind(phase.phase_id).bind(state).bind(outcome);
  query.bind(phase.attempts_used).bind(phase.max_attempts).bind(phase.last_attempt_timestamp);
  query.bind(phase.last_failure_reason)
      .bind(phase.not_before)
      .bind(phase.lease_owner)
      .bind(phase.lease_expires_at);
  query.bind(phase.fence).bind(phase.revision).bind(phase.attempts_total).bind(phase.escalation_level);
  query.bind(phase.doctor_calls).bind(phase.replans);
  if (!is_terminal(phase.state)) memory_.held.erase(phase.run_id);
  return query.run();
}

Result<ChainHead> ReadingStore::chain_head(const std::string& run_id, const std::string& chain) {
  if (const auto known = memory_.ends.find(key_of(run_id, chain)); known != memory_.ends.end())
    return known->second;
  return checked_end(run_id, chain);
}

Status RunStore::append_row(const std::string& run_id, const std::string& chain, JsonMembers content,
                            WallTime now) {
  PAWL_TRY(const auto last, chain_head(run_id, chain));
  if (last.rows == 0) PAWL_OK(open_chain(run_id, chain));
  auto sealed = sealer_->seal(std::move(content), last.rows + 1, now, last.head);
  PAWL_TRY(auto query, database_->query("insert_ledger"));
  PAWL_OK(query.bind(run_id).bind(chain).bind(last.rows + 1).bind(sealed.hash).bind(sealed.line).run());
  const std::string key = key_of(run_id, chain);
  auto& end = memory_.ends[key];
  end = {.chain = chain, .rows = last.rows + 1, .head = std::move(sealed.hash)};
  // Each row of the run's own chain is signed in the transaction that writes it.
  if (!chain.empty()) ends_to_seal_[key] = {.run_id = run_id, .end = end};
  return {};
}

// Once for each chain and transaction, whatever the number of its rows.
Status RunStore::seal_ends() {
  for (const auto& [key, each] : ends_to_seal_) {
    const auto& [chain, rows, head] = each.end;
    const std::string seal = sealer_->seal_of_end(each.run_id, chain, rows, head);
    PAWL_TRY(auto query, database_->query("seal_end"));
    PAWL_OK(query.bind(each.run_id).bind(chain).bind(seal).run());
  }
  ends_to_seal_.clear();
  return {};
}

Status RunStore::open_chain(const std::string& run_id, const std::string& chain) {
  PAWL_TRY(auto query, database_->query("open_chain"));
  return query.bind(run_id).bind(chain).run();
}

// Signs the open chains only: a seal in the run's chain, which is signed, has the end of a sealed chain. So
// the cost of an attempt does not grow with the number of ended phases.
Status RunStore::sign_head_now(const std::string& run_id, WallTime now) {
  PAWL_OK(database_->check_what_claims_read());
  PAWL_TRY(const auto budgets, known_budgets(run_id));
  std::vector<ChainHead> heads;
  PAWL_TRY(auto open, database_->query("open_chains_of_run"));
  open.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool row, open.next());
    if (!row) break;
    PAWL_TRY(auto head, chain_head(run_id, open.text(0)));
    heads.push_back(std::move(head));
  }
  PAWL_OK(check_listed(run_id, heads));
  const Head head = sealer_->sign(head_body(run_id, now, heads, budgets));
  trust_signed(run_id, head, heads, budgets);
  PAWL_TRY(auto query, database_->query("upsert_head"));
  return query.bind(run_id).bind(head.body).bind(head.public_key).bind(head.signature).run();
}

// A shared transaction signs once for each run, whatever the number of verbs.
Status RunStore::sign_head(const std::string& run_id, WallTime now) {
  if (!database_->shares_transaction()) return sign_head_now(run_id, now);
  heads_to_sign_[run_id] = now;
  return {};
}

Status RunStore::sign_heads() {
  look_at_epoch();  // the last verb may have been rolled back
  for (const auto& [run_id, now] : heads_to_sign_) PAWL_OK(sign_head_now(run_id, now));
  return {};
}

Status RunStore::put_cost(const std::string& run_id, const std::string& sandbox_run_id,
                          const std::string& line) {
  PAWL_TRY(auto query, database_->query("insert_cost"));
  return query.bind(run_id).bind(sandbox_run_id).bind(line).run();
}

Result<StepRow> RunStore::step(const std::string& run_id, const std::string& phase_id,
                               const std::string& sandbox_run_id) {
  if (const auto known = memory_.open_steps.find(sandbox_run_id); known != memory_.open_steps.end())
    return known->second;
  PAWL_TRY(auto query, database_->query("select_step"));
  query.bind(run_id).bind(phase_id).bind(sandbox_run_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return fail(ErrorKind::kInvalid, "no marker " + sandbox_run_id);
  return read_step(query);
}

Status RunStore::set_step_state(const StepRow& step, StepState state, std::string_view run, WallTime now) {
  const std::string at = rfc3339(now);
  const std::string_view word = name(state);
  PAWL_TRY(auto query, database_->query("end_step"));
  query.bind(step.run_id).bind(step.phase_id).bind(step.sandbox_run_id);
  PAWL_OK(query.bind(word).bind(run).bind(at).run());
  // A result that is recorded already, or a step that was given up, is never recorded again.
  if (database_->changes() == 0)
    return fail(ErrorKind::kConflict, "the marker " + step.sandbox_run_id + " is not open");
  memory_.open_steps.erase(step.sandbox_run_id);
  return {};
}

// Stores in the step's row what a later claim needs besides the result. With a single episode the attempt's
// row has it, and only a wait is stored here.
Status RunStore::end_step_of_episode(const StepRow& step, const Reported& reported,
                                     std::string_view decision) {
  if (step.episode == 0 && decision != name(RecoveryDecision::kWait)) return {};
  PAWL_TRY(auto query, database_->query("end_step_of_episode"));
  query.bind(step.run_id).bind(step.phase_id).bind(step.sandbox_run_id);
  return query.bind(reported.last_seq).bind(decision).run();
}

Status RunStore::record_end(const Lease& lease, const StepEnd& end, WallTime now,
                            std::vector<BudgetRow>& budgets) {
  PAWL_TRY(const auto row, step(lease.run_id, lease.phase_id, end.sandbox_run_id));
  PAWL_OK(set_step_state(row, StepState::kDone, end.run, now));
  if (!end.agent_layer.empty()) {
    PAWL_TRY(auto query, database_->query("set_agent_layer"));
    PAWL_OK(query.bind(row.run_id).bind(row.phase_id).bind(row.attempt_id).bind(end.agent_layer).run());
    memory_.unfinished.erase(key_of(row.run_id, row.phase_id));
  }
  PAWL_OK(put_cost(row.run_id, end.sandbox_run_id, end.cost_row));
  PAWL_OK(end_step_of_episode(row, end.reported, ""));
  settle(budgets, row, end.duration_ms, end.reported);
  PAWL_OK(record_reported(row, end.reported, now));
  return append_row(row.run_id, row.phase_id, executed_row(row, end), now);
}

Status RunStore::close_lost_step(const StepRow& row, const ResumeDecision& resume, WallTime now,
                                 std::vector<BudgetRow>& budgets) {
  if (resume.wait && resume.wait->number > kWaitsPerAttemptMax)
    return fail(ErrorKind::kExhausted, row.label + ": no wait of its attempt is left");
  PAWL_OK(set_step_state(row, StepState::kLost, "", now));
  const bool is_free =
      charges_no_lost_step() || (charges_no_cancelled_step() && resume.found == RecoveryFound::kOperator);
  if (!is_free) PAWL_OK(put_cost(row.run_id, resume.sandbox_run_id, resume.lost_cost_row));
  PAWL_OK(end_step_of_episode(row, resume.reported, name(resume.decision)));
  auto settled = row;
  if (resume.unsettled) {
    settled.reserved_tokens = settled.reserved_usd_nanos = 0;
    PAWL_TRY(auto query, database_->query("owe"));
    PAWL_OK(query.bind(row.sandbox_run_id).bind(row.run_id).bind(row.phase_id).run());
  }
  const std::int64_t spent_ms = charged_ms_of_lost(row, now);
  settle(budgets, settled, spent_ms, resume.reported);
  PAWL_OK(record_reported(row, resume.reported, now));
  PAWL_OK(append_row(row.run_id, row.phase_id, resume_row(row.attempt_id, resume, spent_ms), now));
  if (!resume.wait) return {};
  return append_row(row.run_id, row.phase_id, waited_row(row.attempt_id, resume), now);
}

Result<std::vector<BudgetRow>> RunStore::record_endings(const Lease& lease, const Endings& endings,
                                                        WallTime now, std::vector<BudgetRow>& budgets) {
  const auto before = budgets;
  if (endings.result) PAWL_OK(record_end(lease, *endings.result, now, budgets));
  if (const auto& resume = endings.resume) {
    PAWL_TRY(const auto lost, step(lease.run_id, lease.phase_id, resume->sandbox_run_id));
    PAWL_OK(close_lost_step(lost, *resume, now, budgets));
  }
  const auto warns = [](const BudgetRow& row) {
    return row.spent >= *row.cap / 100 * kWarnedPercent + *row.cap % 100 * kWarnedPercent / 100;
  };
  std::vector<BudgetRow> out;
  for (const auto& row : before) {
    if (!row.cap || warns(row)) continue;
    auto after = of_unit(budgets, row.unit);
    if (warns(after)) out.push_back(std::move(after));
  }
  return out;
}

Status RunStore::count(const Lease& lease, const StepStart& start) {
  PAWL_TRY(auto phase, this->phase(lease.run_id, lease.phase_id));
  if (start.counted == Counted::kReplan) {
    phase.replans += 1;
    return write_phase(phase);
  }
  if (phase.doctor_calls >= kDoctorCallsOfPhaseMax)
    return fail(ErrorKind::kExhausted, start.label + ": no call of the doctor is left for this phase");
  if (counts_doctor_calls_in_memory()) return {};
  PAWL_OK(check_doctor_calls(lease.run_id));
  phase.doctor_calls += 1;
  {
    PAWL_TRY(auto query, database_->query("count_doctor_call"));
    PAWL_OK(query.bind(phase.run_id).bind(kDoctorCallsOfRunMax).run());
    if (database_->changes() == 0)
      return fail(ErrorKind::kExhausted, start.label + ": no call of the doctor is left for this run");
  }
  return write_phase(phase);
}

Result<std::string> RunStore::unfinished_attempt_id(const Lease& lease) {
  const auto known = memory_.unfinished.find(key_of(lease.run_id, lease.phase_id));
  if (known != memory_.unfinished.end()) return known->second.attempt_id;
  PAWL_TRY(auto query, database_->query("unfinished_attempt_id"));
  query.bind(lease.run_id).bind(lease.phase_id);
  PAWL_TRY(const bool found, query.next());
  if (!found) return no_unfinished_attempt(lease);
  return query.text(0);
}

Status RunStore::insert_step(const StepRow& row) {
  PAWL_TRY(auto query, database_->query("insert_step"));
  query.bind(row.sandbox_run_id).bind(row.run_id).bind(row.phase_id).bind(row.attempt_id);
  query.bind(row.step_index).bind(row.gate_id).bind(row.step_name).bind(row.label).bind(row.execution);
  query.bind(row.sandbox_spec_hash).bind(row.started_at);
  query.bind(row.reserved_ms).bind(row.reserved_tokens).bind(row.reserved_usd_nanos);
  PAWL_OK(query.bind(row.episode).run());
  memory_.open_steps[row.sandbox_run_id] = row;
  return {};
}

Result<Begun> RunStore::begin_step(const Lease& lease, const StepStart& start, const Endings& endings,
                                   WallTime now) {
  if (start.execution < 1 || start.waits > kWaitsPerAttemptMax ||
      start.spent_executions() > kExecutionsPerStepMax)
    return fail(ErrorKind::kExhausted, start.label + ": no execution is left");
  PAWL_TRY(auto transaction, begin("begin_step", lease.run_id));
  PAWL_OK(require_lease(lease, "begin_step", now, transaction));
  PAWL_TRY(const std::string attempt_id, unfinished_attempt_id(lease));
  Begun out;
  PAWL_TRY(auto budgets, known_budgets(lease.run_id));
  PAWL_TRY(out.warnings, record_endings(lease, endings, now, budgets));
  StepRow row = row_of_marker(start, lease, attempt_id, now);
  reserve_for(budgets, start, row, out);
  PAWL_OK(write_budgets(lease.run_id, budgets));
  if (!out.started) {
    if (!start.others_run) PAWL_OK(give_back(lease));
    PAWL_OK(transaction.commit());
    return out;
  }
  if (start.execution == 1 && start.counted != Counted::kNothing) PAWL_OK(count(lease, start));
  PAWL_OK(insert_step(row));
  PAWL_OK(append_row(lease.run_id, lease.phase_id, pre_execute_row(row, start), now));
  PAWL_OK(transaction.commit());
  return out;
}

Result<std::vector<BudgetRow>> RunStore::end_step(const Lease& lease, const Endings& endings, WallTime now) {
  PAWL_TRY(auto transaction, begin("end_step", lease.run_id));
  PAWL_OK(require_lease(lease, "end_step", now, transaction));
  PAWL_TRY(auto budgets, known_budgets(lease.run_id));
  PAWL_TRY(auto warnings, record_endings(lease, endings, now, budgets));
  PAWL_OK(write_budgets(lease.run_id, budgets));
  PAWL_OK(transaction.commit());
  return warnings;
}

Status RunStore::wait(const Lease& lease, const Endings& endings, const std::string& not_before,
                      WallTime now) {
  PAWL_TRY(auto transaction, begin("wait", lease.run_id));
  PAWL_OK(require_lease(lease, "wait", now, transaction));
  PAWL_TRY(auto phase_row, phase(lease.run_id, lease.phase_id));
  PAWL_OK(check_attempts(phase_row));
  PAWL_TRY(auto budgets, known_budgets(lease.run_id));
  PAWL_TRY([[maybe_unused]] const auto warnings, record_endings(lease, endings, now, budgets));
  PAWL_OK(write_budgets(lease.run_id, budgets));
  PAWL_OK(check_tables(lease.run_id));
  if (!waits_without_its_time()) phase_row.not_before = not_before;
  phase_row.lease_owner.clear();
  phase_row.lease_expires_at.clear();
  PAWL_OK(write_phase(phase_row));
  PAWL_OK(sign_head(lease.run_id, now));
  return transaction.commit();
}

Status RunStore::note_resume(const Lease& lease, const ResumeDecision& resume, WallTime now) {
  PAWL_TRY(auto transaction, begin("note_resume", lease.run_id));
  PAWL_OK(require_lease(lease, "note_resume", now, transaction));
  PAWL_TRY(const auto row, step(lease.run_id, lease.phase_id, resume.sandbox_run_id));
  PAWL_OK(append_row(lease.run_id, lease.phase_id, resume_row(row.attempt_id, resume), now));
  return transaction.commit();
}

}  // namespace pawl::store::verbs
