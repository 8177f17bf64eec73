// Builds the argument list for a `run` that is a string, and finds constructs in it that can hide a failure.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace pawl::plan {

// Returns the argument list that runs `script`. The first command that fails ends the script with its exit
// code: `-e` of POSIX.1-2017, XCU 2.8.1. bash also fails a pipeline when any part fails (`-o pipefail`), and
// ends a command substitution likewise (`inherit_errexit`, bash 4.4). kBest looks for bash inside the
// sandbox, since an image need not have the programs of the host.
std::vector<std::string> script_argv(Shell shell, const std::string& script);

// Whether each line of a script is blank or a comment. A shell exits with 0 after it, so a gate would take any work.
bool runs_no_command(std::string_view script);

// The script of such a list; no value for another argument list.
std::optional<std::string> script_of(const std::vector<std::string>& argv);

// The text of the plan that became an argument list: its script, or its words as one command. The words that
// script_argv() adds are not a part of it.
std::string text_of(const std::vector<std::string>& argv);

// The programs that a command always starts, as written, without duplicates: `npm` for `npm ci || exit 1`. Leaves out
// builtins and functions of shells, and words that only a shell can expand. Empty for a script that sets PATH or runs
// code that it does not show (`eval`, `.`).
std::vector<std::string> programs_of(const std::vector<std::string>& argv);

// The program that a command always starts first, as written: the step can't have made it. "": the first program
// depends on a condition or an expansion, or programs_of() leaves it out.
std::string first_program_of(const std::vector<std::string>& argv);

// The simple commands that a command starts in any case, as plain words, without programs that start another one
// (`env A=1`, `timeout 60`).
std::vector<std::vector<std::string>> commands_of(const std::vector<std::string>& argv);

// Says why `script` can end with 0 although one of its commands failed: one sentence for each reason, without
// duplicates. It checks the exceptions of `-e` and `pipefail`, and options like `make -i`. A script can hide
// a failure in ways that this function does not find. Time is proportional to the script's size.
// `host_has_bash`: kBest is bash, since a sandbox shows the programs of the host.
std::vector<std::string> hidden_failures(Shell shell, std::string_view script, bool host_has_bash = true);

// The same for the text of a file. `shell`: the words of the command before the file, `bash -u`. No reason for a text
// that looks at exit codes itself ($?, PIPESTATUS).
std::vector<std::string> failures_hidden_in_file(const std::vector<std::string>& shell,
                                                 const std::string& text);

// The same for an argument list: checks its options, or the script when it starts a shell on one.
std::vector<std::string> hidden_failures(const std::vector<std::string>& argv);

// Why a step under `-e` ends before its last command when a test fails; "": the tests are the last that it runs. It
// looks at the script alone: a Makefile or package.json may have the same.
std::string why_not_all_runs(const std::vector<std::string>& argv);

// Whether a test that fails keeps other tests of a script from running: the shell ends at a failure (`-e`, or `set -e`
// in the script), `&&` stands between them, or `|| exit 1` after the first. Only runners that Pawl knows are tests.
// Time is proportional to the script's size.
bool hides_tests(const std::vector<std::string>& argv);

// Whether a command of the script is a runner of tests that Pawl knows.
bool runs_tests(std::string_view script);

}  // namespace pawl::plan
