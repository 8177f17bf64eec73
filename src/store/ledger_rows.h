// What each ledger row says (design, section 5), before the sealer adds seq, at, prev_hash and hash. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_members.h"
#include "store/store.h"

namespace pawl::store {

// The first row of the folder's newest run, which a new one names; "" when there is none.
struct RunBefore {
  std::string run_id, hash;
};
JsonMembers run_started_row(const NewRun& run, const RunBefore& before);
// `head`: of the other run's chain. `shared`: the phases that are taken over.
JsonMembers forked_row(const Fork& fork, const std::string& head, const Json& shared);
JsonMembers pre_execute_row(const StepRow& step);
JsonMembers executed_row(const StepRow& step, const StepEnd& end);
// `episodes`: none of an attempt that is one try.
// Beside the attempt itself: what it was judged by. "" is not in the row.
struct JudgedBy {
  std::string stack, inventories;
};
JsonMembers attempt_row(const AttemptRow& attempt, const std::vector<EpisodeRow>& episodes,
                        const JudgedBy& by = {});
std::string json_text(const std::vector<EpisodeRow>& episodes);  // as JSON
// `beside`: the phases whose work it is judged on top of for the first time.
JsonMembers judged_again_row(const AttemptRow& attempt, const std::vector<std::string>& beside);
// `spent_ms`: of a step that is given up, how long it is taken to have run.
JsonMembers resume_row(const std::string& attempt_id, const ResumeDecision& decision,
                       std::optional<std::int64_t> spent_ms = std::nullopt);
JsonMembers operator_row(const std::string& action, const Operator& who, const PhaseRow& before,
                         PhaseState after);
JsonMembers run_operator_row(const std::string& action, const Operator& who, RunState state);
// `revision`: of a replan that is applied the one it starts, else 0.
JsonMembers advice_row(const std::string& attempt_id, const Advice& advice, std::int64_t revision);
JsonMembers agent_row(const std::string& attempt_id, const Told::Event& event);
// The sum of usage rows, and the hash of their lines: by it they are a part of the chain.
JsonMembers usage_row(const StepRow& step, const std::vector<Told::Usage>& usage);

struct ChainHead {
  std::string chain;
  std::int64_t rows = 0;
  std::string head;  // hash of the last row; kZeroHash of an empty chain
};
// `end`: of the phase's chain. `layer`: the work of it that is part of the run; "" when none is.
JsonMembers phase_sealed_row(const PhaseRow& phase, const ChainHead& end, const std::string& layer);
JsonMembers run_sealed_row(RunState state, const std::vector<ChainHead>& phases);
// What is signed: canonical JSON. Of `budgets` what is spent by then.
std::string head_body(const std::string& run_id, WallTime signed_at, const std::vector<ChainHead>& chains,
                      const std::vector<BudgetRow>& budgets);

}  // namespace pawl::store
