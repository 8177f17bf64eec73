// Evidence and accepted work of a run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "ledger/ledger.h"
#include "store/store.h"
#include "views/views.h"
#include "workspace/workspace.h"

namespace pawl::views {

// Call this before any work of a run is used outside of it. Checks that the ledger verifies, that the tables
// agree with its rows, and that the objects on disk are unchanged, byte for byte. kForged: one of these does
// not hold.
Status check_evidence(const State& state, const store::RunRow& run);

// Calls `use` with the run when check_evidence() holds. The check and all reads of `use` see one state of the
// database, so nobody can change it in between. REQUIRES: `use` writes nothing to the database.
Status with_evidence(const State& state, const std::string& run_id,
                     const std::function<Status(const store::RunRow&)>& use);
// Makes what an older version lacks in the database, as far as that can be: with_evidence() can't write.
void make_readable(const State& state, const std::string& run_id);

// Only the last of these checks: the base, the accepted layers, and the files that steps see at /plan.
// kNotFound: one of them is gone.
Status check_content_of(const State& state, const store::RunRow& run);

// Returns the accepted phases in the order of acceptance.
Result<std::vector<workspace::AppliedPhase>> accepted_phases(store::Store& store, const store::RunRow& run);
// Their layers, the newest first. Phases that changed no file have none.
std::vector<std::string> layers_topmost_first(const std::vector<workspace::AppliedPhase>& phases);

// Returns the changes of these phases as a patch, for `git apply` anywhere in the work tree of the run's
// source. With kGiven, contents of Git LFS are put where its filters look for them.
enum class Purpose { kShown, kGiven };
Result<workspace::Patch> patch_of(const State& state, const store::RunRow& run,
                                  const std::vector<workspace::AppliedPhase>& accepted, Purpose purpose);

// Whether the work of the phase is missing from the accepted work of its run.
bool is_missing(const store::PhaseRow& phase);
// [{phase_id, state}] of those phases.
Json missing_json(const std::vector<store::PhaseRow>& phases);

// kInvalid: no gate has judged the last accepted work on top of the rest. An older version accepted such work
// of phases that ran at once. Work that a person approved passes this check. kForged: its row names another
// stack. REQUIRES: `files` are the run's, and verify.
Status check_judged(store::Store& store, const store::RunRow& run, const ledger::Files& files);

// Returns the attempt whose work `pawl approve` takes: the newest one that is over. kInvalid: there is none,
// or the work of its agent is lost or was never begun.
Result<store::AttemptRow> work_to_approve(store::Store& store, const std::string& run_id,
                                          const std::string& phase_id);

// Returns the commits that `pawl apply` makes of a run that is over. kInvalid says why there are none.
Result<workspace::Commits> commits_of(store::Store& store, const store::RunRow& run,
                                      std::vector<workspace::AppliedPhase> accepted);

}  // namespace pawl::views
