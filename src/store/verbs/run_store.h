// The verbs of a store over a Database. store/verbs.h has the contract of each. A detail of this room.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/verbs/reading_store.h"

namespace pawl::store::verbs {

class RunStore : public ReadingStore {
 public:
  RunStore(std::unique_ptr<Database> database, std::shared_ptr<const RowSealer> sealer)
      : ReadingStore(std::move(database), std::move(sealer)) {}

  Status create_run(const NewRun& run, WallTime now) override;
  Status put_plan(const std::string& run_id, const PlanRows& plan) override;
  Result<ClaimResult> claim(const ClaimRequest& request) override;
  Result<Begun> begin_step(const Lease& lease, const StepStart& start, const Endings& endings,
                           WallTime now) override;
  Result<std::vector<BudgetRow>> end_step(const Lease& lease, const Endings& endings, WallTime now) override;
  Status wait(const Lease& lease, const Endings& endings, const std::string& not_before,
              WallTime now) override;
  Status note_resume(const Lease& lease, const ResumeDecision& resume, WallTime now) override;
  Result<Finished> finish(const Lease& lease, const Endings& endings, const AttemptEnd& end,
                          const Overlaps& overlaps, WallTime now) override;
  Result<JudgedAgain> judge_again(const Lease& lease, const Endings& endings, WallTime now) override;
  Status heartbeat(const Lease& lease, WallTime now, MonoTime mono, std::int64_t lease_ms) override;
  Status release(const Lease& lease) override;
  Result<std::vector<std::string>> operator_retry(const std::string& run_id, const std::string& phase_id,
                                                  const Operator& who, WallTime now) override;
  Result<std::vector<std::string>> operator_skip(const std::string& run_id, const std::string& phase_id,
                                                 const Operator& who, WallTime now) override;
  Result<std::vector<std::string>> operator_cancel(const std::string& run_id, const std::string& phase_id,
                                                   const Operator& who, WallTime now) override;
  Result<std::vector<std::string>> operator_approve(const std::string& run_id, const Approved& what,
                                                    const Overlaps& overlaps, const Operator& who,
                                                    WallTime now) override;
  Status operator_max_attempts(const std::string& run_id, std::int64_t max_attempts, const Operator& who,
                               WallTime now) override;
  Result<std::vector<std::string>> operator_go_on(const std::string& run_id, const Operator& who,
                                                  WallTime now) override;
  Status operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                         const Operator& who, WallTime now) override;
  Status check_run(const std::string& run_id) override;
  Status settle_usage(const Unsettled& unsettled, const Reported& reported, WallTime now) override;
  Status put_inventory(const std::string& key, const std::string& text) override;

  // Signs the heads of the runs that verbs changed in the open shared transaction.
  Status sign_heads();
  void forget_heads() { heads_to_sign_.clear(); }

 private:
  Result<Transaction> begin(std::string_view verb, std::string_view run_id);  // as Database::begin()
  void look_at_epoch();  // drops cached rows that another commit may have changed

  // --- shared by the verbs; the caller's transaction is open
  // As check_lease(). REQUIRES: `transaction` has no changes yet. With a lost lease it commits only a row of the
  // refusals.
  Status require_lease(const Lease& lease, std::string_view verb, WallTime now, Transaction& transaction);
  Result<AttemptRow> unfinished_attempt(const Lease& lease);
  Status append_attempt(const AttemptRow& attempt, const AttemptEnd& end, WallTime now);
  Result<std::string> unfinished_attempt_id(const Lease& lease);
  Status insert_step(const StepRow& row);
  Status write_phase(const PhaseRow& phase);
  Status write_claim(const PhaseRow& phase);
  Status append_row(const std::string& run_id, const std::string& chain, JsonMembers content, WallTime now);
  Status open_chain(const std::string& run_id, const std::string& chain);
  Status seal_ends();
  Status sign_head_now(const std::string& run_id, WallTime now);
  Status sign_head(const std::string& run_id, WallTime now);

  // --- ends of steps
  Status put_cost(const std::string& run_id, const std::string& sandbox_run_id, const std::string& line);
  Status record_end(const Lease& lease, const StepEnd& end, WallTime now, std::vector<BudgetRow>& budgets);
  Status end_step_of_episode(const StepRow& step, const Reported& reported, std::string_view decision);
  Status close_lost_step(const StepRow& row, const ResumeDecision& resume, WallTime now,
                         std::vector<BudgetRow>& budgets);
  // Settles the ended steps in `budgets`, which the caller writes. Returns the budgets that pass the warning
  // level.
  Result<std::vector<BudgetRow>> record_endings(const Lease& lease, const Endings& endings, WallTime now,
                                                std::vector<BudgetRow>& budgets);
  Status count(const Lease& lease, const StepStart& start);
  Status give_back(const Lease& lease);
  Status write_attempt_end(const AttemptRow& attempt);
  Result<StepRow> step(const std::string& run_id, const std::string& phase_id,
                       const std::string& sandbox_run_id);
  Status set_step_state(const StepRow& step, StepState state, std::string_view run, WallTime now);
  Status seal_phase(const PhaseRow& phase, WallTime now);
  Result<bool> seal_run_if_over(const std::string& run_id, WallTime now);
  Status set_run_state(const std::string& run_id, RunState state, std::string_view ended_at);
  Status stop_queued(const PhaseRow& failed, WallTime now);

  // The new ends of open chains, by run and chain: the transaction seals them before it commits.
  struct UnsealedEnd {
    std::string run_id;
    ChainHead end;
  };
  std::unordered_map<std::string, UnsealedEnd> ends_to_seal_;

  // --- fork
  Status share_history(const NewRun& run, WallTime now);
  Result<Json> share_phase(const PhaseRow& from, const std::string& run_id,
                           const std::vector<LayerRow>& layers);
  Result<std::vector<LayerRow>> layers_to_share(const std::string& from_run,
                                                const std::vector<PhaseRow>& shared);
  Status share_layers(const std::vector<LayerRow>& layers, const std::string& run_id);
  Status check_attempt(const ForkPoint& from);
  Status inherit_goal(const ForkPoint& from, const std::string& run_id);
  Status inherit_level(const ForkPoint& from, const std::string& run_id);

  // --- plan
  Status insert_plan(const NewRun& run);
  Status insert_planned_phases(const std::string& run_id, const PlanRows& plan);

  // --- budget
  Status create_budget(const NewRun& run);
  // Writes the rows of `after` that differ from known_budgets().
  Status write_budgets(const std::string& run_id, const std::vector<BudgetRow>& after);

  // --- told
  // Writes ledger and usage rows for the reports of the agent of `ended`. kConflict: they are recorded
  // already.
  Status record_reported(const StepRow& ended, const Reported& reported, WallTime now);

  // --- claim
  Result<Claim> take(PhaseRow phase, std::string planned, const ClaimRequest& request);
  // Returns the attempt of the phase that `statement` selects. No value: it selects no row.
  Result<std::optional<AttemptRow>> attempt_of(const PhaseRow& phase, std::string_view statement);
  Result<AttemptRow> reserve(PhaseRow& phase, const Claim& claim, const ClaimRequest& request);
  Status fix_base(const PhaseRow& phase, AttemptRow& attempt);

  // --- finish
  Status accept_layer(const PhaseRow& phase, const std::string& layer);
  Status record_episodes(const AttemptRow& attempt, const AttemptEnd& end);
  Status record_advice(const PhaseRow& phase, const AttemptRow& attempt, const AttemptEnd& end, WallTime now);
  Status settle_terminal(const PhaseRow& phase, const AttemptEnd& end, Finished& out, WallTime now);
  Status cancel_others(const PhaseRow& aborting, const AttemptEnd& end, Finished& out, WallTime now);

  // --- operators
  Result<std::vector<std::string>> operate(const std::string& run_id, const std::string& phase_id,
                                           PhaseEvent event, const Operator& who, WallTime now);
  Status check_approved(const PhaseRow& phase, const Approved& what, const Overlaps& overlaps);
  Result<std::vector<PhaseRow>> stopped_because_of(const std::string& run_id, const std::string& phase_id);
  Status change_by_operator(PhaseRow& row, PhaseEvent event, std::string_view action, const Operator& who,
                            WallTime now);
  // Returns the sandbox_run_ids of the steps that were open.
  Result<std::vector<std::string>> end_work_of(const PhaseRow& phase, const std::string& isolation_class,
                                               WallTime now);
  Result<bool> is_spent(const PhaseRow& row);
  Status end_spent(PhaseRow row, WallTime now);
};

}  // namespace pawl::store::verbs
