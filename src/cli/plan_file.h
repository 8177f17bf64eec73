// Reads a plan from a file, for `run`, `check` and `fork`.
#pragma once

#include <string>

#include "base/error.h"
#include "executor/program_keys.h"
#include "plan/parse.h"

namespace pawl::cli {

struct PlanFile {
  std::string file;  // absolute
  std::string text;
  plan::Parsed parsed;
  // The text of the policy file that the plan names; verified and valid when parsed.plan is set.
  std::string policy_text;
  // Programs that the plan names by `use` or `acp` and that no step finds: no attempt of these agents can pass.
  std::vector<plan::Problem> unstartable;
};

// Also reads the plan's policy file. Reads at most the size that a plan may have; a larger file is a problem
// like any other. kNotFound, kDenied: from the file system. Says on a terminal that it takes long, unless
// `silent`.
Result<PlanFile> read_plan(const std::string& path, bool silent);
// Adds problems and warnings about the plan's source (workspace/workspace.h, check_source). Resets
// parsed.plan when there is a problem. REQUIRES: parsed.plan is set.
void check_source(const std::string& path, PlanFile& file);
// Returns a warning for each gate that lets an agent weaken its tests, since the plan protects no path.
// `check` reports them.
std::vector<plan::Problem> unguarded_gates(const std::string& shown, const plan::Plan& plan);
// Warnings of files of the source that decide what a gate runs, and that no list of the plan protects. `file`: the
// plan's path. `check` reports them.
std::vector<plan::Problem> defining_files(const std::string& shown, const std::string& file,
                                          const plan::Plan& plan);
// Warnings of runners that end at a failure, by an option or a setting of the source. `file`: the plan's path.
// `check` reports them.
std::vector<plan::Problem> early_stops(const std::string& shown, const std::string& file,
                                       const plan::Plan& plan);
// Warnings of phases whose gates all take a part of the work only, unless a phase beside them in a parallel tier
// has a gate that takes all. `check` reports them.
std::vector<plan::Problem> partial_gates(const std::string& shown, const plan::Plan& plan);
// Warnings of credentials that this host does not have. No value is read, and no command runs. `check` reports
// them.
std::vector<plan::Problem> unseen_credentials(const std::string& shown, const plan::Plan& plan);
// Problems of agents whose programs would have no key. `check` warns of them, and `run` does not begin.
std::vector<plan::Problem> without_keys(const std::string& shown,
                                        const std::vector<executor::LackingKey>& lacking);
// Prints "file:line:column: message" lines on stderr.
void print_problems(const std::vector<plan::Problem>& problems, const char* severity);

}  // namespace pawl::cli
