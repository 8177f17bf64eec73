// Store over one SQLite file. store/store.h has the contract of each verb. A detail of this room.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/ledger_rows.h"
#include "store/limits.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/memory.h"
#include "store/sqlite/trust.h"
#include "store/store.h"
#include "store/transition.h"

namespace pawl::store::sqlite {

class SqliteStore : public Store {
 public:
  SqliteStore(std::unique_ptr<Connection> connection, std::shared_ptr<const RowSealer> sealer)
      : connection_(std::move(connection)), sealer_(std::move(sealer)) {}

  Status create_run(const NewRun& run, WallTime now) override;
  Status put_plan(const std::string& run_id, const PlanRows& plan) override;
  Result<ClaimResult> claim(const ClaimRequest& request) override;
  Result<Candidate> candidate(const ClaimRequest& request) override;
  Result<Begun> begin_step(const Lease& lease, const StepStart& start, const std::optional<StepEnd>& previous,
                           const std::optional<ResumeDecision>& resume, WallTime now) override;
  Result<std::vector<BudgetRow>> end_step(const Lease& lease, const std::optional<StepEnd>& previous,
                                          const std::optional<ResumeDecision>& resume, WallTime now) override;
  Status note_resume(const Lease& lease, const ResumeDecision& resume, WallTime now) override;
  Result<Finished> finish(const Lease& lease, const std::optional<StepEnd>& last,
                          const std::optional<ResumeDecision>& resume, const AttemptEnd& end,
                          const Overlaps& overlaps, WallTime now) override;
  Result<JudgedAgain> judge_again(const Lease& lease, const std::optional<StepEnd>& last,
                                  const std::optional<ResumeDecision>& resume, WallTime now) override;
  Result<bool> holds(const Lease& lease) override;
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
  Status operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                         const Operator& who, WallTime now) override;

  Result<std::vector<Owed>> owed() override;
  Status pay(const Owed& owed, const Told& told, WallTime now) override;

  Status read_together(const std::function<Status()>& reads) override;
  Result<RunRow> run(const std::string& run_id) override;
  Result<std::vector<RunRow>> runs(std::size_t most) override;
  Result<std::string> plan_text(const std::string& run_id) override;
  Result<std::string> planned_common(const std::string& run_id) override;
  Result<std::string> planned_phase(const std::string& run_id, const std::string& phase_id) override;
  Result<std::string> resolve_run(const std::string& text) override;
  Result<std::optional<ForkPoint>> fork_of(const std::string& run_id) override;
  Result<std::vector<TierRow>> tiers(const std::string& run_id) override;
  Result<std::vector<BudgetRow>> budgets(const std::string& run_id) override;
  Result<std::vector<RefusalRow>> refusals(const std::string& run_id) override;
  Result<std::vector<PhaseRow>> phases(const std::string& run_id) override;
  Result<PhaseRow> phase(const std::string& run_id, const std::string& phase_id) override;
  Result<std::vector<PhaseRow>> first_phases(const std::string& run_id, std::size_t most) override;
  Result<std::vector<AttemptRow>> attempts_before(const std::string& run_id, const std::string& phase_id,
                                                  std::int64_t before, std::size_t most) override;
  Result<std::vector<StepRow>> steps_of_attempt(const std::string& run_id,
                                                const std::string& attempt_id) override;
  Result<std::vector<AttemptRow>> attempts(const std::string& run_id, const std::string& phase_id) override;
  Result<std::vector<StepRow>> steps(const std::string& run_id, const std::string& phase_id) override;
  Result<std::vector<EpisodeRow>> episodes(const std::string& run_id, const std::string& phase_id) override;
  Result<std::vector<StepRow>> open_steps() override;
  Result<std::vector<LayerRow>> accepted_layers(const std::string& run_id) override;
  Result<std::vector<std::string>> base_layers(const AttemptRow& attempt) override;
  Result<std::vector<LayerRow>> accepted_beside(const AttemptRow& attempt, std::int64_t after,
                                                std::size_t most) override;
  Result<std::vector<std::string>> chains(const std::string& run_id) override;
  Result<std::vector<LedgerRow>> ledger(const std::string& run_id, const std::string& chain,
                                        std::int64_t first_seq, std::size_t most) override;
  Result<std::optional<Head>> head(const std::string& run_id) override;
  Result<std::vector<std::string>> cost_rows(const std::string& run_id, std::int64_t skip) override;
  Result<std::vector<std::string>> usage_rows(const std::string& run_id, std::int64_t skip) override;
  Result<std::optional<std::string>> inventory(const std::string& key) override;
  Status put_inventory(const std::string& key, const std::string& text) override;

  // Signs the heads of the runs that verbs changed in the open shared transaction.
  Status sign_heads();
  void forget_heads() { heads_to_sign_.clear(); }

 private:
  Result<Transaction> begin(std::string_view verb);
  void look_at_epoch();  // drops cached rows that another commit may have changed
  // --- shared by the verbs; the caller's transaction is open
  // kConflict: the fence differs, or no worker holds the phase.
  Status check_lease(const Lease& lease);
  // The same. REQUIRES: `transaction` has no changes yet. With a lost lease it commits only a row of the
  // refusals.
  Status check_lease(const Lease& lease, std::string_view verb, WallTime now, Transaction& transaction);
  Result<AttemptRow> unfinished_attempt(const Lease& lease);
  Status append_attempt(const AttemptRow& attempt, const AttemptEnd& end, WallTime now);
  Result<std::string> unfinished_attempt_id(const Lease& lease);
  Status insert_step(const StepRow& row);
  Status write_phase(const PhaseRow& phase);
  Status write_claim(const PhaseRow& phase);
  Status append_row(const std::string& run_id, const std::string& chain, JsonMembers content, WallTime now);
  Result<ChainHead> chain_head(const std::string& run_id, const std::string& chain);
  Status open_chain(const std::string& run_id, const std::string& chain);
  Status sign_head_now(const std::string& run_id, WallTime now);
  Status sign_head(const std::string& run_id, WallTime now);

  // --- trust (trust.cc). kForged: the ledger differs from what was signed.
  // REQUIRES: no ledger row of the run is written yet. `started` becomes its first row.
  Status trust_new_run(const std::string& run_id, const JsonMembers& started);
  // `forked` becomes its second row.
  Status trust_fork(const std::string& run_id, const JsonMembers& forked);
  void trust_signed(const std::string& run_id, const Head& head, const std::vector<ChainHead>& ends,
                    const std::vector<BudgetRow>& budgets);
  Result<const Trusted*> trust(const std::string& run_id);
  bool writes_unsigned(const std::string& run_id) const;
  Status check_again(const std::string& run_id, Trusted& known);
  Status check_run_chain(const std::string& run_id, Trusted& known);
  Status note_row_of_run(const std::string& run_id, const LedgerRow& row, Trusted& known);
  Result<bool> has_row(const std::string& run_id, const ChainHead& end);
  Result<ChainHead> checked_end(const std::string& run_id, const std::string& chain);

  // --- tables against the trusted rows (trusted_tables.cc). kForged: they differ.
  Status check_claim(const Claim& claim);
  Status check_tables(const std::string& run_id);
  Status check_source(const std::string& run_id, const Json& started);
  Status check_doctor_calls(const std::string& run_id);
  Status check_places(const std::string& run_id, const Json& started);
  Status check_spent(const std::string& run_id, const std::vector<BudgetRow>& budgets);
  Status check_attempts(const PhaseRow& phase);  // REQUIRES: an unfinished attempt
  // Calls `visit` with each row of a phase's chain. kForged: the chain as a whole is not the trusted one.
  Status each_checked_row(const std::string& run_id, const std::string& phase_id,
                          const std::function<Status(const LedgerRow&)>& visit);
  Status check_ends(const std::string& run_id, const EndedPhases& ended);
  Status check_seals(const std::string& run_id, const std::vector<PhaseRow>& phases,
                     const std::vector<ChainHead>& heads);
  Status check_goal(const Claim& claim);
  Result<std::vector<std::string>> goals_of(const std::string& run_id, const std::string& phase_id);
  Status check_previous(const Claim& claim);

  Status put_cost(const std::string& run_id, const std::string& sandbox_run_id, const std::string& line);
  Status end_step(const Lease& lease, const StepEnd& end, WallTime now, std::vector<BudgetRow>& budgets);
  Status end_step_of_episode(const StepRow& step, const Told& told, const std::string& decision);
  Status close_lost_step(const StepRow& row, const ResumeDecision& resume, WallTime now,
                         std::vector<BudgetRow>& budgets);
  // Settles the ended steps in `budgets`, which the caller writes. Returns the budgets that pass the warning
  // level.
  Result<std::vector<BudgetRow>> record_endings(const Lease& lease, const std::optional<StepEnd>& last,
                                                const std::optional<ResumeDecision>& resume, WallTime now,
                                                std::vector<BudgetRow>& budgets);
  Status count(const Lease& lease, const StepStart& start);
  Status give_back(const Lease& lease);
  Status finish_attempt(const AttemptRow& attempt);
  Result<StepRow> step(const std::string& run_id, const std::string& phase_id,
                       const std::string& sandbox_run_id);
  Status set_step_state(const StepRow& step, StepState state, std::string_view run, WallTime now);
  Status seal_phase(const PhaseRow& phase, WallTime now);
  Result<bool> seal_run_if_over(const std::string& run_id, WallTime now);
  Status set_run_state(const std::string& run_id, RunState state, std::string_view ended_at);
  Status stop_queued(const PhaseRow& failed, WallTime now);

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
  // nullopt: the plan has no such row.
  Result<std::optional<std::string>> planned_row(const PhaseRow& phase);

  // --- budget
  Status create_budget(const NewRun& run);
  // The budgets as the transaction sees them. kForged: they differ from the ledger's rows.
  Result<std::vector<BudgetRow>> known_budgets(const std::string& run_id);
  // Writes the rows of `after` that differ from known_budgets().
  Status write_budgets(const std::string& run_id, const std::vector<BudgetRow>& after);
  // kBudget or kReserved when the budget stops `phase`; `row` is then the budget that stops it.
  Result<std::optional<Nothing>> held_by_budget(const PhaseRow& phase, BudgetRow& row);

  // --- told
  // Writes ledger and usage rows for the reports of the agent of `ended`. kConflict: they are recorded
  // already.
  Status record_told(const StepRow& ended, const Told& told, WallTime now);

  // --- claim
  Result<std::optional<TierRow>> open_tier(const std::string& run_id);
  Result<Candidate> candidate_from(const std::string& run_id, const TierRow& open,
                                   const ClaimRequest& request);
  Result<Candidate> candidate_in_tier(const std::string& run_id, const TierRow& tier_row,
                                      const ClaimRequest& request);
  // For a tier in which other live workers of the caller's process may hold many phases: reads none of those.
  // nullopt: they hold all phases that are left.
  Result<std::optional<Candidate>> candidate_among_ours(const std::string& run_id, const TierRow& tier_row,
                                                        const ClaimRequest& request);
  Status remember_held(const std::string& run_id, Held held, std::optional<std::int64_t> first);
  Result<Candidate> candidate_that_began(const std::string& run_id, const ClaimRequest& request);
  Status consider(PhaseRow phase, const ClaimRequest& request, Candidate& out);
  // nullopt: as candidate_among_ours().
  Result<std::optional<Candidate>> quick_candidate_of(const std::string& run_id, const ClaimRequest& request);
  Result<Candidate> candidate_of(const std::string& run_id, const ClaimRequest& request);
  Result<std::vector<std::string>> open_runs_after(const std::string& run_id, std::int64_t most);
  Result<Claim> take(PhaseRow phase, std::string planned, const ClaimRequest& request);
  // Returns the attempt of the phase that a statement of this name selects; none when it selects no row.
  Result<std::optional<AttemptRow>> attempt_of(const PhaseRow& phase, std::string_view statement);
  Result<AttemptRow> reserve(PhaseRow& phase, const Claim& claim, const ClaimRequest& request);
  Status fix_base(const PhaseRow& phase, AttemptRow& attempt);
  Result<TierRow> tier(const std::string& run_id, std::int64_t tier_index);

  // --- finish
  Status accept_layer(const PhaseRow& phase, const std::string& layer);
  Status record_tries(const AttemptRow& attempt, const AttemptEnd& end);
  Status record_advice(const PhaseRow& phase, const AttemptRow& attempt, const AttemptEnd& end, WallTime now);
  Status settle_terminal(const PhaseRow& phase, const AttemptEnd& end, Finished& out, WallTime now);
  Status cancel_others(const PhaseRow& aborting, const std::string& reason, Finished& out, WallTime now);

  // --- operators
  Result<std::vector<std::string>> operate(const std::string& run_id, const std::string& phase_id,
                                           PhaseEvent event, const Operator& who, WallTime now);
  Status check_approved(const PhaseRow& phase, const Approved& what, const Overlaps& overlaps);
  Result<std::vector<PhaseRow>> stopped_because_of(const std::string& run_id, const std::string& phase_id);
  Status change_by_operator(PhaseRow& row, PhaseEvent event, std::string_view action, const Operator& who,
                            WallTime now);
  // Returns the sandbox_run_ids of the steps that were open.
  Result<std::vector<std::string>> end_work_of(const PhaseRow& phase, WallTime now);
  Result<bool> is_spent(const PhaseRow& row);
  Status end_spent(PhaseRow row, WallTime now);

  std::unique_ptr<Connection> connection_;
  std::shared_ptr<const RowSealer> sealer_;
  std::map<std::string, WallTime> heads_to_sign_;
  Memory memory_;
  std::unordered_map<std::string, Trusted> trusted_;  // by run_id
  // By key: hash of a row whose signature was checked.
  std::map<std::string, std::string> signed_inventories_;
};

// last_failure_reason of a phase that was SKIPPED because `phase_id` failed.
std::string stopped_by(const std::string& phase_id);

// Reserves in `budgets` and in the row `step`, and sets the amounts of `out`. out.started becomes false when
// a budget is used up.
void reserve_for(std::vector<BudgetRow>& budgets, const StepStart& start, StepRow& step, Begun& out);
// Frees the reservations of `ended`, and adds its spent amounts.
void settle(std::vector<BudgetRow>& budgets, const StepRow& ended, std::int64_t spent_ms, const Told& told);

// Reads a row whose columns are in the order of PhaseRow (attempts, steps and runs likewise).
Result<PhaseRow> read_phase(const Query& query);
Result<AttemptRow> read_attempt(const Query& query);
Result<StepRow> read_step(const Query& query);
Result<RunRow> read_run(const Query& query);

}  // namespace pawl::store::sqlite
