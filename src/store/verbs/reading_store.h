// The reads of a store over a Database, and the checks of their results: a store without its verbs. A detail of this
// room.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/columns.h"
#include "store/database.h"
#include "store/ledger_rows.h"
#include "store/limits.h"
#include "store/store.h"
#include "store/transition.h"
#include "store/verbs/memory.h"
#include "store/verbs/trust.h"

namespace pawl::store::verbs {

class ReadingStore : public Store {
 public:
  Result<Candidate> candidate(const ClaimRequest& request) override;
  Result<bool> holds(const Lease& lease) override;
  Result<std::vector<Unsettled>> unsettled(const std::string& run_id) override;
  Status read_together(const std::function<Status()>& reads) override;
  Result<RunRow> run(const std::string& run_id) override;
  Result<std::vector<RunRow>> runs(std::size_t most) override;
  Result<std::vector<std::string>> lost_runs() override;
  Result<std::string> plan_text(const std::string& run_id) override;
  Result<std::string> planned_common(const std::string& run_id) override;
  Result<std::string> planned_phase(const std::string& run_id, const std::string& phase_id) override;
  Result<std::string> resolve_run(const std::string& text) override;
  Result<std::optional<ForkPoint>> fork_of(const std::string& run_id) override;
  Result<std::vector<TierRow>> tiers(const std::string& run_id) override;
  Result<std::vector<BudgetRow>> budgets(const std::string& run_id) override;
  Result<std::vector<RefusalRow>> refusals(const std::string& run_id) override;
  Status check_storage() override { return database_->check_storage(); }
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
  Result<std::int64_t> unknown_usages(const std::string& run_id) override;
  Result<std::vector<std::string>> usage_rows(const std::string& run_id, std::int64_t skip) override;
  Result<std::optional<std::string>> inventory(const std::string& key) override;

 protected:
  ReadingStore(std::unique_ptr<Database> database, std::shared_ptr<const RowSealer> sealer)
      : database_(std::move(database)), sealer_(std::move(sealer)) {}

  // kConflict: the fence differs, or no worker holds the phase.
  Status check_lease(const Lease& lease);
  Result<ChainHead> chain_head(const std::string& run_id, const std::string& chain);

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
  // The next head lists `heads`, by name. A chain that the last head lists must be among them, or over.
  Status check_listed(const std::string& run_id, const std::vector<ChainHead>& heads);
  Result<ChainHead> checked_end(const std::string& run_id, const std::string& chain);
  Status check_seal_of_end(const std::string& run_id, const ChainHead& end);
  Status check_open_ends(const std::string& run_id);

  // --- tables against the trusted rows (trusted_tables.cc). kForged: they differ.
  Status check_claim(Claim& claim);
  Status check_run_row(const RunRow& row);
  Status check_tables(const std::string& run_id);
  Status check_source(const std::string& run_id, const Json& started);
  Status check_doctor_calls(const std::string& run_id);
  Status check_places(const std::string& run_id, const Json& started);
  Status check_spent(const std::string& run_id, const std::vector<BudgetRow>& budgets);
  Status check_reserved(const std::string& run_id, const std::vector<BudgetRow>& budgets);
  // The claim's attempt is unfinished, so no episode of it was judged.
  Status check_no_episodes(const AttemptRow& attempt);
  Status check_attempts(const PhaseRow& phase);  // REQUIRES: an unfinished attempt
  // Calls `visit` with each row of a phase's chain. kForged: the chain as a whole is not the trusted one.
  Status each_checked_row(const std::string& run_id, const std::string& phase_id,
                          const std::function<Status(const LedgerRow&)>& visit);
  Status check_ends(const std::string& run_id, const EndedPhases& ended);
  Status check_state(const std::string& run_id);

  // --- the order of phases by the trusted rows (phase_order.cc)
  // kForged: by the rows, `phase` has to wait for an earlier phase, which is open.
  Status check_order(const PhaseRow& phase);
  // Whether, by the rows, the phase has an unfinished attempt with a step.
  Result<bool> has_begun(const std::string& run_id, const std::string& phase_id);
  Result<bool> is_over(const std::string& run_id, const std::string& phase_id);
  // The place of the first phase that is open by the rows, in the order of the run's first row; the number of its
  // phases when all are over.
  Result<std::size_t> first_open(const std::string& run_id);
  Status check_seals(const std::string& run_id, const std::vector<PhaseRow>& phases,
                     const std::vector<ChainHead>& heads);
  Status check_goal(const Claim& claim);
  Result<std::vector<std::string>> goals_of(const std::string& run_id, const std::string& phase_id);
  Status check_steps(const Claim& claim);
  // Sets previous_agent.
  Status check_previous(Claim& claim);
  Status check_is_first(const Claim& claim);
  // The waits of the claim's attempt.
  Result<WaitsSoFar> waits_of(const Claim& claim);
  // The layers from which its agents continue, by checked rows.
  Result<KeptLayers> kept_of(const Claim& claim);

  // --- plan
  // nullopt: the plan has no such row.
  Result<std::optional<std::string>> planned_row(const PhaseRow& phase);

  // --- budget
  // The budgets as the transaction sees them. kForged: they differ from the ledger's rows.
  Result<std::vector<BudgetRow>> known_budgets(const std::string& run_id);
  // kBudget or kReserved when the budget stops `phase`; `row` is then the budget that stops it.
  Result<std::optional<NotClaimable>> held_by_budget(const PhaseRow& phase, BudgetRow& row);

  // --- claim
  Result<std::optional<TierRow>> open_tier(const std::string& run_id);
  Result<Candidate> candidate_from(const std::string& run_id, const TierRow& open,
                                   const ClaimRequest& request);
  Result<Candidate> candidate_in_tier(const std::string& run_id, const TierRow& tier_row,
                                      const ClaimRequest& request);
  // For a tier in which other live workers of the caller's process may hold many phases, which are not read. nullopt:
  // they hold all phases that are left.
  Result<std::optional<Candidate>> candidate_among_ours(const std::string& run_id, const TierRow& tier_row,
                                                        const ClaimRequest& request);
  Status remember_held(const std::string& run_id, Held held, std::optional<std::int64_t> first);
  Result<Candidate> candidate_that_began(const std::string& run_id, const ClaimRequest& request);
  Status consider(PhaseRow phase, const ClaimRequest& request, Candidate& out);
  // nullopt: as candidate_among_ours().
  Result<std::optional<Candidate>> quick_candidate_of(const std::string& run_id, const ClaimRequest& request);
  Result<Candidate> candidate_of(const std::string& run_id, const ClaimRequest& request);
  Result<std::vector<std::string>> open_runs_after(const std::string& run_id, std::int64_t most);
  Result<TierRow> tier(const std::string& run_id, std::int64_t tier_index);

  const std::unique_ptr<Database> database_;
  const std::shared_ptr<const RowSealer> sealer_;
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
void settle(std::vector<BudgetRow>& budgets, const StepRow& ended, std::int64_t spent_ms,
            const Reported& reported);

}  // namespace pawl::store::verbs
