// Decides which files of the plan's folder the steps see at /plan. A detail of this room; docs/plan-format.md
// describes it for users.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "executor/start_run.h"
#include "workspace/workspace.h"

namespace pawl::executor {

// Paths relative to the plan's folder, sorted.
struct PlanFiles {
  bool is_whole = false;           // all steps see the whole folder except `left_out`
  std::vector<std::string> shown;  // the files that gates and hooks see
  // Files that agents do not see: the plan, `gate_files`, and files that the `run` of a gate names and the `run` of no
  // agent names.
  std::vector<std::string> of_gates;
  std::vector<std::string> left_out;  // keys and the like, which no step sees
};
// `state`: the state folder, which no step sees. kExhausted: the folder has too many files.
Result<PlanFiles> plan_files(const RunInput& input, const std::string& source, const std::string& state);

// The state folders in the folder of `plan_file`, which no step sees; relative, sorted. Empty where steps see only the
// files that the plan names, and no file of the source.
std::vector<std::string> state_folders_beside(const std::string& plan_file, const std::string& source);

// Stores the files for gates and the files for agents. Each result is the id of a base.
struct PlanFolder {
  std::string for_gates, for_agents;
};
Result<PlanFolder> keep_plan_folder(workspace::Workspaces& workspaces, const RunInput& input,
                                    const std::string& source);

}  // namespace pawl::executor
