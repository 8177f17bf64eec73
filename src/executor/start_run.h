// From a plan to a run: snapshots of the source and of the plan's folder, then the rows.
#pragma once

#include <string>

#include "base/error.h"
#include "executor/executor.h"
#include "executor/plans.h"
#include "plan/plan.h"
#include "workspace/workspace.h"

namespace pawl::executor {

// The absolute source folder of a plan in `plan_folder`. kNotFound when it is not there.
Result<std::string> source_folder(const plan::Plan& plan, const std::string& plan_folder);

struct RunInput {
  plan::Plan plan;
  std::string plan_text;
  std::string plan_file;    // absolute
  std::string policy_text;  // what plan.policy names, with the content that it pins
  std::string backend;      // resolved, never "auto"
};

// Workspaces::check_source() may say more, which is the caller's to ask. Creates the run, durably, and
// returns its id. Nothing is claimed. kInvalid, naming the field: a relative program of the first agent, or
// of a probe, that the source has not; a protected path that it has not. kForged: what was kept of the same
// source or plan before was changed since.
Result<std::string> start_run(store::Store& store, workspace::Workspaces& workspaces, os::Clock& clock,
                              os::Random& random, RunInput input);

struct ForkInput {
  store::Fork fork;              // same_plan is set here
  std::optional<RunInput> plan;  // another than that of the run
};

// Creates a run that goes on from a point of another (store/store.h), on the same base, durably, and returns
// its id. kNotFound: gc took what it would share.
Result<std::string> fork_run(store::Store& store, workspace::Workspaces& workspaces, os::Clock& clock,
                             os::Random& random, ForkInput input);

// Where the run's base was taken from.
workspace::Workspaces::Source source_of(const store::RunRow& run);

// kNotFound: gc took something that the run's next attempt would start from.
Status check_not_collected(store::Store& store, const workspace::Workspaces& workspaces,
                           const store::RunRow& run);

}  // namespace pawl::executor
