// What of the plan's folder steps see at /plan. A detail of this room; docs/plan-format.md says it for
// people.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "executor/start_run.h"
#include "workspace/workspace.h"

namespace pawl::executor {

// Paths relative to the plan's folder, sorted.
struct PlanFiles {
  bool is_whole = false;           // whether everybody sees all of the folder but `left_out`
  std::vector<std::string> shown;  // to gates and hooks; unless is_whole
  // What agents do not see of it: the plan, `gate_files`, and what a gate's `run` names and no agent's does.
  std::vector<std::string> of_gates;
  std::vector<std::string> left_out;  // keys and the like, which nobody sees
};
// `state`: the state folder, which nobody sees. kExhausted: the folder has too much.
Result<PlanFiles> plan_files(const RunInput& input, const std::string& source, const std::string& state);

// Keeps what gates and what agents see: ids of bases.
struct PlanFolder {
  std::string for_gates, for_agents;
};
Result<PlanFolder> keep_plan_folder(workspace::Workspaces& workspaces, const RunInput& input,
                                    const std::string& source);

}  // namespace pawl::executor
