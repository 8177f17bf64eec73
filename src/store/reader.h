// The reads of the state of runs. A read has no effect, and sees committed rows only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/rows.h"

namespace pawl::store {

struct Candidate;  // these three: store/verbs.h
struct ClaimRequest;
struct Unsettled;

// The evidence of a run: rows that only grow.
class EvidenceReader {
 public:
  virtual ~EvidenceReader() = default;

  // "" first, then in plan order.
  virtual Result<std::vector<std::string>> chains(const std::string& run_id) = 0;
  // Rows of one chain in order, at most `most`, from `first_seq` on.
  virtual Result<std::vector<LedgerRow>> ledger(const std::string& run_id, const std::string& chain,
                                                std::int64_t first_seq, std::size_t most) = 0;
  virtual Result<std::optional<Head>> head(const std::string& run_id) = 0;
  // Lines of cost/sandbox.jsonl in order, without the first `skip`. Empty `run_id`: of all runs.
  virtual Result<std::vector<std::string>> cost_rows(const std::string& run_id, std::int64_t skip) = 0;
  // The same for cost/agent.jsonl.
  virtual Result<std::vector<std::string>> usage_rows(const std::string& run_id, std::int64_t skip) = 0;
  virtual Result<std::vector<RefusalRow>> refusals(const std::string& run_id) = 0;
  // Compares the database with itself: a table's indexes and constraints with its rows, and its schema with the
  // schema of this program. Other reads rely on both. kForged: they differ. The first call of an object reads the
  // whole database; later ones return at once.
  virtual Status check_storage() = 0;
};

// The reads of executors and of gc.
class WorkReader {
 public:
  virtual ~WorkReader() = default;

  // Returns the decision of Verbs::claim() at this moment.
  virtual Result<Candidate> candidate(const ClaimRequest& request) = 0;
  // The text about a gate on the base; the store does not interpret it. Absent: no text with this key that
  // this folder's key signed.
  virtual Result<std::optional<std::string>> inventory(const std::string& key) = 0;
  // Steps whose usage is unsettled: an operator, or a doctor that aborted the run, ended them. Before a caller
  // settles a step, it makes sure that the step's process is gone. Empty `run_id`: the steps of all runs.
  virtual Result<std::vector<Unsettled>> unsettled(const std::string& run_id) = 0;
  virtual Result<std::vector<StepRow>> open_steps() = 0;  // the steps of all runs; gc must not touch them
};

// The state of runs, their evidence, and the work that is left.
class Reader : public EvidenceReader, public WorkReader {
 public:
  // Runs `reads`, which may call only the reads of this class below. All see one state of the store, also while
  // another process writes.
  virtual Status read_together(const std::function<Status()>& reads) = 0;
  virtual Result<RunRow> run(const std::string& run_id) = 0;       // kNotFound
  virtual Result<std::vector<RunRow>> runs(std::size_t most) = 0;  // newest first
  // Ids of runs that have rows of evidence and no row of their own, sorted. Pawl removes no run.
  virtual Result<std::vector<std::string>> lost_runs() = 0;
  virtual Result<std::string> plan_text(const std::string& run_id) = 0;  // kCorrupt: it is gone
  // "" when an older version made the run and no claim has made its plan rows since.
  virtual Result<std::string> planned_common(const std::string& run_id) = 0;
  virtual Result<std::string> planned_phase(const std::string& run_id, const std::string& phase_id) = 0;
  // Full id, unique prefix or suffix of at least 4 characters, or "last". kNotFound; kInvalid: not unique.
  virtual Result<std::string> resolve_run(const std::string& text) = 0;
  virtual Result<std::optional<ForkPoint>> fork_of(const std::string& run_id) = 0;
  virtual Result<std::vector<TierRow>> tiers(const std::string& run_id) = 0;
  // How many executions of agents used an unknown amount (unknown_usage_line()).
  virtual Result<std::int64_t> unknown_usages(const std::string& run_id) = 0;
  virtual Result<std::vector<BudgetRow>> budgets(const std::string& run_id) = 0;
  virtual Result<std::vector<PhaseRow>> phases(const std::string& run_id) = 0;  // by tier_index, phase_index
  virtual Result<PhaseRow> phase(const std::string& run_id, const std::string& phase_id) = 0;  // kNotFound
  // Pages of long lists; a page costs as much as the rows that it returns. first_phases: in plan order.
  // attempts_before: numbers below `before`, newest first. steps_of_attempt: by step_index, execution.
  virtual Result<std::vector<PhaseRow>> first_phases(const std::string& run_id, std::size_t most) = 0;
  virtual Result<std::vector<AttemptRow>> attempts_before(const std::string& run_id,
                                                          const std::string& phase_id, std::int64_t before,
                                                          std::size_t most) = 0;
  virtual Result<std::vector<StepRow>> steps_of_attempt(const std::string& run_id,
                                                        const std::string& attempt_id) = 0;
  virtual Result<std::vector<AttemptRow>> attempts(const std::string& run_id,
                                                   const std::string& phase_id) = 0;
  virtual Result<std::vector<StepRow>> steps(const std::string& run_id, const std::string& phase_id) = 0;
  // By attempt_id, episode; only of finished attempts with several episodes.
  virtual Result<std::vector<EpisodeRow>> episodes(const std::string& run_id,
                                                   const std::string& phase_id) = 0;
  virtual Result<std::vector<LayerRow>> accepted_layers(const std::string& run_id) = 0;  // by merge_seq
  // The layers of an attempt's base, topmost first.
  virtual Result<std::vector<std::string>> base_layers(const AttemptRow& attempt) = 0;
  // Accepted layers after merge_seq `after` that are not empty and not in the attempt's base, by merge_seq.
  virtual Result<std::vector<LayerRow>> accepted_beside(const AttemptRow& attempt, std::int64_t after,
                                                        std::size_t most) = 0;
};

}  // namespace pawl::store
