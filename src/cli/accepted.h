// The accepted phases of a run, as diff, apply and attest need them.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/context.h"
#include "store/store.h"
#include "workspace/workspace.h"

namespace pawl::cli {

// Before anything of a run is used outside of it: its ledger verifies, the tables say what its rows say, and
// its objects are on disk, byte for byte. kForged: it is not so.
Status check_evidence(const State& state, const store::RunRow& run);

// The last of it alone: its base, its accepted layers, and what its steps see at /plan. kNotFound: one is
// gone.
Status check_content_of(const State& state, const store::RunRow& run);

// In the order of acceptance.
Result<std::vector<workspace::AppliedPhase>> accepted_phases(store::Store& store, const store::RunRow& run);
std::vector<std::string> layers_topmost_first(const std::vector<workspace::AppliedPhase>& phases);

// The changes of these phases as a patch, for `git apply` anywhere in the work tree of the run's source. When
// it is given to somebody, contents of Git LFS are put where its filters look for them.
enum class Purpose { kShown, kGiven };
Result<workspace::Patch> patch_of(const State& state, const store::RunRow& run,
                                  const std::vector<workspace::AppliedPhase>& accepted, Purpose purpose);

// On stderr: the phases whose work is not in what diff and apply give, and why.
void tell_missing(const std::vector<store::PhaseRow>& phases);
Json missing_json(const std::vector<store::PhaseRow>& phases);

// kInvalid: the last accepted work was never judged on top of the rest, as an older version accepted those of
// phases that had run at once. What a person approved is judged by him. kForged: its row names another stack.
// REQUIRES: `files` are the run's, and verify.
Status check_judged(store::Store& store, const store::RunRow& run, const ledger::Files& files);

// The attempt whose work `pawl approve` takes: the newest that is over. kInvalid: there is none, or what its
// agent did was lost.
Result<store::AttemptRow> work_to_approve(store::Store& store, const std::string& run_id,
                                          const std::string& phase_id);

// The commits that `pawl apply` makes of a run that is over. kInvalid: there are none to make, and why.
Result<workspace::Commits> commits_of(store::Store& store, const store::RunRow& run,
                                      std::vector<workspace::AppliedPhase> accepted);

}  // namespace pawl::cli
