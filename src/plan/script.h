// The argument list of a `run` that is a string, and the constructs in it that can hide a failure. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace pawl::plan {

// The argument list that runs `script`. The first command that fails ends the script with its exit code: `-e`
// of POSIX.1-2017, XCU 2.8.1. bash also fails a pipeline of which any part fails (`-o pipefail`), and ends a
// command substitution likewise (`inherit_errexit`, bash 4.4). kBest asks inside the sandbox whether bash is
// there, since an image need not have what the host has.
std::vector<std::string> script_argv(Shell shell, const std::string& script);

// Why `script` can end with 0 although a command of it failed: one sentence a reason, none twice. It reads
// what `-e` and `pipefail` leave out and options like `make -i`, in time in proportion to the script's size;
// a script can hide a failure in ways that it does not know. `host_has_bash`: kBest is bash, for a sandbox
// shows the programs of the host.
std::vector<std::string> hidden_failures(Shell shell, std::string_view script, bool host_has_bash = true);

// The same of an argument list: of its options, or of the script when it starts a shell on one.
std::vector<std::string> hidden_failures(const std::vector<std::string>& argv);

}  // namespace pawl::plan
