// A plan of one phase, made from the command line: `pawl run --agent NAME --goal TEXT --gate CMD`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/context.h"
#include "cli/max_attempts.h"

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
// kInvalid: options that need another one, or that no plan can have. executor::lacks_credential(): --credential names
// a variable that is not set. `plan`: the plan's file on the command line, "" when none is there. A person may give a
// secret in the place of its variable, so that no message has a word of --credential that may be one.
Status check_plan_request(const PlanRequest& request, const std::string& plan);
// kInvalid: --max-attempts is above the limit of the plan that would be made, without --operator-ack.
Status check_made_attempts(const PlanRequest& request, const MaxAttempts& attempts);

// The source, and what steps have to see of the host besides.
struct PlanNeeds {
  std::string source;
  std::vector<std::string> mounts;
};
// Checks all that can be checked before anything is written. kInvalid: no such plan can be. kNotFound: no step can
// find the agent's program. executor::lacks_credential(): the program has no key, or a credential has no value.
// REQUIRES: check_plan_request(), and request.agent is not "".
Result<PlanNeeds> plan_needs(const PlanRequest& request);
// Writes the plan into a new folder below the state folder, which is made if needed, and returns its path.
// Durable when it returns. REQUIRES: plan_needs() returned `needs`.
Result<std::string> make_plan(const PlanRequest& request, const PlanNeeds& needs, const StateOptions& state);

}  // namespace pawl::cli
