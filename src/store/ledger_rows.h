// What each ledger row says (design, section 5), before the sealer adds seq, at, prev_hash and hash. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "store/store.h"

namespace pawl::store {

Json run_started_row(const NewRun& run);
// `head`: of the other run's chain. `shared`: the phases that are taken over.
Json forked_row(const Fork& fork, const std::string& head, Json shared);
Json pre_execute_row(const StepRow& step);
Json executed_row(const StepRow& step, const Json& sandbox_run);
// `episodes`: none of an attempt that is one try.
Json attempt_row(const AttemptRow& attempt, const std::vector<EpisodeRow>& episodes);
Json to_json(const std::vector<EpisodeRow>& episodes);
Json resume_row(const std::string& attempt_id, const ResumeDecision& decision);
Json operator_row(const std::string& action, const Operator& who, const PhaseRow& before, PhaseState after);
Json run_operator_row(const std::string& action, const Operator& who, RunState state);
// `revision`: of a replan that is applied the one it starts, else 0.
Json advice_row(const std::string& attempt_id, const Advice& advice, std::int64_t revision);
Json agent_row(const std::string& attempt_id, const Told::Event& event);
// The sum of usage rows, and the hash of their lines: by it they are a part of the chain.
Json usage_row(const StepRow& step, const std::vector<Told::Usage>& usage);
Json phase_sealed_row(const PhaseRow& phase, std::int64_t rows, const std::string& head);

struct ChainHead {
  std::string chain;
  std::int64_t rows = 0;
  std::string head;  // hash of the last row; kZeroHash of an empty chain
};
Json run_sealed_row(RunState state, const std::vector<ChainHead>& phases);
// What is signed: canonical JSON.
std::string head_body(const std::string& run_id, WallTime signed_at, const std::vector<ChainHead>& chains);

}  // namespace pawl::store
