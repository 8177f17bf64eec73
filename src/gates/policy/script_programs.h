// The programs that a script runs, sorted by their role for a test: its runner, a program of the workspace, a linter
// or compiler. Pure. A detail of this folder.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

constexpr std::size_t kCommandsMax = 10'000;  // that are compared

// The commands of a script. Quotes and brackets are not followed.
std::vector<std::string> commands_of(std::string_view script);

// Facts about the programs of the workspace that a script runs.
struct Moves {
  bool of_tests = true;  // the script may run tests
  // Whether the work moved or deleted a program of base that the plan does not protect; null: it did not.
  std::function<bool(const std::string& path)> has_gone;
  // Whether base, or the work, has a file or a folder; null: that is not known.
  std::function<bool(const std::string& path)> in_base, in_work;
  // The text of a file of the work that base does not have, "" without such a file; null: the work has no new file.
  std::function<std::string(const std::string& path)> new_text;
};

// Why `after` runs another program than `before`, does not run its tests any more, or has them load a module first;
// "" when it does not. Both are the commands of a script, with the commands of the scripts that it runs.
std::string steered(const std::vector<std::string>& before, const std::vector<std::string>& after,
                    const Moves& moves);

// Says how `after` weakens the test runner of `before`: it does not run it (and no other runner replaces it),
// runs other tests, or loads something first. "" when it does not.
std::string lost_runner(const std::vector<std::string>& before, const std::vector<std::string>& after,
                        const Moves& moves);

// The name of a program, also of "node_modules/jest/bin/jest.js" and "node_modules/.bin/jest".
std::string_view program_name(std::string_view path);

// The file of the workspace that a command runs, as the command names it; "" when it runs no file, or a text.
std::string own_program(std::string_view command);

// The test runner that a command runs, with the word that makes it a runner: "jest", "node --test"; "": the command
// runs no test runner.
std::string runner_of(std::string_view command);

// Whether a command runs a test runner.
bool runs_tests(std::string_view command);

// Whether a command is a linter or a compiler of an installed package that writes to usual folders only, or
// removes such a folder.
bool is_tool(std::string_view command);

}  // namespace pawl::gates
