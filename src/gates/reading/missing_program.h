// Which program a step could not start, read from what a shell or a program that starts others says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

struct MissingProgram {
  std::string name;      // as it is written where it was called; "" when nobody says
  bool is_path = false;  // it was not looked for in PATH
};

// Whether nothing runs before the program that could make it, as `npm ci` does. false where `argv` does not
// say so.
bool is_run_first(const MissingProgram& program, const std::vector<std::string>& argv);

// Of a step that ended with 126 or 127.
MissingProgram missing_program(const std::vector<std::string>& argv, std::string_view output);

// The program that a step could not start although it failed with another code. make and its like say 127 of
// their own, Python names the runner's module that `-m` asks for, and a file of /plan may not be there.
// Nothing: the output says no such thing.
std::optional<MissingProgram> missing_behind(const std::vector<std::string>& argv, std::string_view output);

}  // namespace pawl::gates
