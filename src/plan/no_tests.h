// Finds scripts that can pass, or end, without running a test or a command. Pure. Internal to this room.
#pragma once

#include <string>
#include <vector>

namespace pawl::plan {

// One sentence for each reason: `exit 0` stands before other commands, or each command stands after a question
// whose answer may be no.
std::vector<std::string> reasons_to_run_nothing(const std::vector<std::string>& argv);

// The same for the steps of a gate: the only commands of a test runner list tests or select none. A list in a
// step of its own, before the run, is a check.
std::vector<std::string> runners_that_only_list(const std::vector<std::vector<std::string>>& steps);

// why_not_all_runs() of script.h, and `make test` without -k, which ends at its first target that fails.
std::string why_a_failure_hides_others(const std::vector<std::string>& argv);

}  // namespace pawl::plan
