// The content of each ledger row, before the sealer adds seq, at, prev_hash and hash. docs/ledger-format.md
// describes the rows. Pure: no function here reads or writes the store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_members.h"
#include "store/store.h"

namespace pawl::store {

// The newest run of the database and the hash of its first row. A new run's first row names both. "" when
// there is no earlier run.
struct RunBefore {
  std::string run_id, hash;
};
JsonMembers run_started_row(const NewRun& run, const RunBefore& before);
// `head`: hash of the last row of the other run's chain. `shared`: the phases that the fork takes over.
JsonMembers forked_row(const Fork& fork, const std::string& head, const Json& shared);
JsonMembers pre_execute_row(const StepRow& step, const StepStart& start);
JsonMembers executed_row(const StepRow& step, const StepEnd& end);
// The inputs of a verdict besides the attempt itself. A row leaves out an empty member.
struct JudgedBy {
  std::string stack, inventories;
};
// `episodes`: empty for an attempt with one episode.
JsonMembers attempt_row(const AttemptRow& attempt, const std::vector<EpisodeRow>& episodes,
                        const JudgedBy& by = {});
std::string json_text(const std::vector<EpisodeRow>& episodes);  // as a JSON array
// `beside`: the phases whose work this round sees for the first time.
JsonMembers judged_again_row(const AttemptRow& attempt, const std::vector<std::string>& beside);
// `spent_ms`: for a step that is given up, the time that is charged for it.
JsonMembers resume_row(const std::string& attempt_id, const ResumeDecision& decision,
                       std::optional<std::int64_t> spent_ms = std::nullopt);
// Adds the layer from which, by the row, an agent of the attempt continues, or that it begins anew. Removes the layer of a step that the row
// ends. kCorrupt: the row is not JSON.
Status note_kept_layer(const LedgerRow& row, std::string_view attempt_id, KeptLayers& to);
// REQUIRES: decision.wait.
JsonMembers waited_row(const std::string& attempt_id, const ResumeDecision& decision);
// The wait of such a row; no value: `row` is of another type.
std::optional<Wait> wait_in(const Json& row);
JsonMembers operator_row(const std::string& action, const Operator& who, const PhaseRow& before,
                         PhaseState after);
JsonMembers run_operator_row(const std::string& action, const Operator& who, RunState state);
// `revision`: the revision that an applied replan starts; 0 for all other advice.
JsonMembers advice_row(const std::string& attempt_id, const Advice& advice, std::int64_t revision);
JsonMembers agent_row(const std::string& attempt_id, const Reported::Event& event);
// Carries the sum of the usage lines and the hash of their bytes. The hash makes the lines a part of the
// chain.
JsonMembers usage_row(const StepRow& step, const std::vector<Reported::Usage>& usage);

struct ChainHead {
  std::string chain;
  std::int64_t rows = 0;
  std::string head;  // hash of the last row; kZeroHash of an empty chain
};
// `end`: the end of the phase's chain. `layer`: its accepted work; "" when no work of it is accepted.
JsonMembers phase_sealed_row(const PhaseRow& phase, const ChainHead& end, const std::string& layer);
JsonMembers run_sealed_row(RunState state, const std::vector<ChainHead>& phases);
// Returns the text of a head that is signed: canonical JSON with the end of each chain, and the amount that
// each of `budgets` has spent.
std::string head_body(const std::string& run_id, WallTime signed_at, const std::vector<ChainHead>& chains,
                      const std::vector<BudgetRow>& budgets);

}  // namespace pawl::store
