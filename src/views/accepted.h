// Evidence and accepted work of a run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "executor/plans.h"
#include "ledger/ledger.h"
#include "store/reader.h"
#include "views/views.h"
#include "workspace/workspace.h"

namespace pawl::views {

// Call this before any work of a run is used outside of it. Checks that the ledger verifies, that the tables
// agree with its rows, and that the objects on disk are unchanged, byte for byte. kForged: one of these does
// not hold.
Status check_evidence(const State& state, const store::RunRow& run);

// Makes what an older version lacks in the database, as far as that can be: a reading transaction can't
// write.
void make_readable(const State& state, const std::string& run_id);
// Only the last of these checks: the base, the accepted layers, and the files that steps see at /plan.
// kNotFound: one of them is gone.
Status check_content_of(const State& state, const store::RunRow& run);

// The accepted work of a run, as one state of the database says it. Work on files can take long. It uses this
// copy, since an open transaction would keep the database's log from being cut.
struct Evidence {
  store::RunRow run;
  plan::Common plan;
  std::string plan_text, head;  // head: the hash of the last row of the run
  ledger::Files files;
  std::vector<store::PhaseRow> phases;
  std::vector<store::LayerRow> layers;            // accepted, in the order of acceptance
  std::vector<workspace::AppliedPhase> accepted;  // the same
  struct Last {                                   // the phase that was accepted last
    store::PhaseRow row;
    plan::Phase planned;
    std::optional<store::AttemptRow> attempt;  // the newest
    std::vector<std::string> base;             // the layers below it
  };
  std::optional<Last> last;  // without accepted work: none
};
// kForged: the ledger does not verify, or the tables do not agree with its rows. Use the work after
// check_content() only. `also` may read more of the same state; its error is returned when the run verifies.
Result<Evidence> evidence_of(const State& state, const std::string& run_id,
                             const std::function<Status()>& also = {});
// As check_content_of().
Status check_content(const workspace::Workspaces& objects, const Evidence& evidence);

// Returns the accepted changes as a patch, for `git apply` anywhere in the work tree of the run's source.
// With kGiven, contents of Git LFS are put where its filters look for them.
enum class Purpose { kShown, kGiven };
Result<workspace::Patch> patch_of(const workspace::Workspaces& objects, const Evidence& evidence,
                                  Purpose purpose);

// Whether the work of the phase is missing from the accepted work of its run.
bool is_missing(const store::PhaseRow& phase);
// [{phase_id, state}] of those phases.
Json missing_json(const std::vector<store::PhaseRow>& phases);

// The work that was accepted last, and the phases with accepted work that no gate saw together with it.
struct NotJudgedWith {
  std::string phase_id;
  std::vector<std::string> phases;  // in the order of acceptance, never empty
};
// For people. nullopt: its gates saw all accepted work, there is none, or the run is not over. nullopt as well
// when the rows can't be read: other commands report that.
std::optional<NotJudgedWith> not_judged_with(store::Reader& store, const store::RunRow& run);

// kInvalid: no gate has judged the last accepted work on top of the rest. An older version accepted such work
// of phases that ran at once. Work that a person approved may have failed its gates, but they have seen the rest:
// a person who approves one phase does not answer for the gates of the phases beside it. kForged: its row names another
// stack.
Status check_judged(const Evidence& evidence);

// Returns the attempt whose work `pawl approve` takes: the newest one that is over. kInvalid: there is none,
// or the work of its agent is lost or was never begun.
Result<store::AttemptRow> work_to_approve(store::Reader& store, const std::string& run_id,
                                          const std::string& phase_id);

// Returns the commits that `pawl apply` makes of a run that is over. kInvalid says why there are none.
Result<workspace::Commits> commits_of(const Evidence& evidence);
// Returns the id of the last of them, whether or not they are made. The error says why `pawl apply` makes none.
Result<std::string> commit_id_of(const workspace::Workspaces& objects, const Evidence& evidence);

}  // namespace pawl::views
