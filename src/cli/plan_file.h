// Reading a plan from a file, as `run` and `check` do.
#pragma once

#include <string>

#include "base/error.h"
#include "plan/parse.h"

namespace pawl::cli {

struct PlanFile {
  std::string file;  // absolute
  std::string text;
  plan::Parsed parsed;
  std::string
      policy_text;  // of the policy file that the plan names; verified and valid when parsed.plan is there
};

// The plan's policy file is read, too. Never reads more than a plan may have; a larger file is a problem like
// any other. kNotFound, kDenied: as the file system says. Says on a terminal that it takes long, unless
// `silent`.
Result<PlanFile> read_plan(const std::string& path, bool silent);
// Adds what the plan's source makes a problem of, or a warning (workspace/workspace.h, check_source). Takes
// the plan away when there is a problem. Needs a plan.
void check_source(const std::string& path, PlanFile& file);
// Gates that judge by exit codes alone what the agent may change, which prove little: for `check` to tell.
std::vector<plan::Problem> unguarded_gates(const std::string& shown, const plan::Plan& plan);
// "file:line:column: message" lines on stderr.
void print_problems(const std::vector<plan::Problem>& problems, const char* severity);

}  // namespace pawl::cli
