// Turns a plan into a run: takes snapshots of the source and of the plan's folder, then writes the rows.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "executor/executor.h"
#include "executor/plans.h"
#include "plan/plan.h"
#include "workspace/workspace.h"

namespace pawl::executor {

// The absolute source folder of a plan in `plan_folder`. kNotFound: the path does not exist. kInvalid: it is
// not a folder, or it is a state folder.
Result<std::string> source_folder(const plan::Plan& plan, const std::string& plan_folder);
// The state folders in the source and in the plan's folder that no step sees, whatever their names; absolute.
// Folders named .pawl are not among them. A commit has no such folder (Workspaces::snapshot_git()).
std::vector<std::string> unseen_state_folders(const plan::Plan& plan, const std::string& plan_file);

struct RunInput {
  plan::Plan plan;  // for a run with its keys (program_keys.h); a fork adds them itself
  std::string plan_text;
  std::string plan_file;    // absolute
  std::string policy_text;  // the text of plan.policy, with the pinned content
  std::string backend;      // resolved, never "auto"
};

// Creates the run, durably, and returns its id. No phase is claimed. The caller may check more with
// Workspaces::check_source(). kInvalid, naming the field: the source has no file for a relative program of a
// first agent or of a probe, or for a protected path. kForged: an object that was stored earlier from the
// same source or plan was changed since.
Result<std::string> start_run(store::Store& store, workspace::Workspaces& workspaces, os::Clock& clock,
                              os::Random& random, RunInput input);

struct ForkInput {
  store::Fork fork;              // same_plan is set here
  std::optional<RunInput> plan;  // set when it is not the run's plan
};

// Creates a run that continues from a point of another run (store/store.h), on the same base, durably, and
// returns its id. kNotFound: gc removed an object that the fork would share. lacks_credential() of credentials.h: a
// program that has work to do has no key.
Result<std::string> fork_run(store::Store& store, workspace::Workspaces& workspaces, os::Clock& clock,
                             os::Random& random, ForkInput input);

// The path at which the steps of a plan see the objects of its source's history; "": they do not see them.
std::string history_at(const plan::Common& plan);

// Where the run's base was taken from.
workspace::Workspaces::Source source_of(const store::RunRow& run);

// kNotFound: gc removed an object that the run's next attempt would start from.
Status check_not_collected(store::Store& store, const workspace::Workspaces& workspaces,
                           const store::RunRow& run);

}  // namespace pawl::executor
