// A plan of one phase, made from the command line: `pawl run --agent NAME --goal TEXT --gate CMD`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/context.h"

namespace pawl::cli {

struct PlanRequest {
  std::string agent, goal, gate;  // agent "": no plan is to be made
  std::string model, base_url;    // "": the profile's
  // NAME or NAME=VARIABLE: the agent gets NAME with the value of the environment's variable, as a credential, beside the
  // key of its program (executor/program_keys.h).
  std::vector<std::string> credentials;
  std::string folder;                      // the source; "": the current folder
  std::int64_t attempts = 0, best_of = 0;  // 0: the plan's default
};

void add_plan_request(const Command& command, PlanRequest& request);
// kInvalid: options that need another one. `plan`: the plan's file on the command line, "" when none is there.
Status check_plan_request(const PlanRequest& request, const std::string& plan);
// Writes the plan into a new folder below the state folder, which is made if needed, and returns its path.
// Durable when it returns. The plan mounts what its programs need. kInvalid: no such plan can be.
// kNotFound: the agent's program is not on this host. executor::lacks_credential(): it has no key.
// REQUIRES: check_plan_request(), and request.agent is not "".
Result<std::string> make_plan(const PlanRequest& request, const StateOptions& state);

}  // namespace pawl::cli
