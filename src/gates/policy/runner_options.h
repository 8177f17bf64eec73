// Options of test runners, linters and compilers, by their effect on a gate: a runner takes other tests or code, a
// program ends without work, a runner takes more tests. Data from the tools' own documentation.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace pawl::gates {

// `programs`: one of these words of a command stands before the option; empty: any program. `options`: names without
// a value. `commands`: one of these commands of the program stands before the option, too.
struct RunnerOptions {
  std::vector<std::string_view> programs, options;
  bool with_own_path = false;  // they count only with a path of the work as their value
  bool takes_rest = false;     // the value of a letter may follow it without a space: "-kx"
  std::vector<std::string_view> commands = {};
};

// Options by which a runner takes other tests or code, or writes the values that its tests expect.
std::span<const RunnerOptions> choosing_options();

// Options by which a program only prints about itself or its work.
std::span<const RunnerOptions> idle_options();

// Options without which a runner takes fewer tests.
std::span<const RunnerOptions> widening_options();

// Whether a line of `table` names the word as a program or its command.
bool is_named_in(std::span<const RunnerOptions> table, std::string_view word);

// The name of the option in `table` that `word` is, after `programs`; "": `word` is not such an option. `value`: the
// option's.
std::string_view option_in(std::span<const RunnerOptions> table, std::string_view word,
                           std::string_view value, std::span<const std::string_view> programs);

}  // namespace pawl::gates
