// Finds the program that a step could not start, in the output of a shell or of another program that starts
// programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

struct MissingProgram {
  std::string name;      // as the caller wrote it; "" when no line names it
  bool is_path = false;  // PATH was not searched for it
};

// Whether no earlier command could make the program, as `npm ci` could. False when `argv` does not show that.
bool is_run_first(const MissingProgram& program, const std::vector<std::string>& argv);

// How the work may bring a program that PATH was searched for.
struct WaysToBring {
  std::vector<std::string> paths;  // in the workspace: the command has their folders in PATH
  // The command sets PATH to a folder that it does not name, reads its settings from a file, or installs
  // something before the program.
  bool by_command = false;
};
WaysToBring ways_to_bring(const MissingProgram& program, const std::vector<std::string>& argv);

// For a step that ended with 126 or 127.
MissingProgram missing_program(const std::vector<std::string>& argv, std::string_view output);

// The program that a step could not start although it ended with another code. make and similar tools report
// the 127 in their output. Python names the missing module of a runner after `-m`, git and cargo name a
// subcommand, and prove names its --exec. A file of /plan may be missing. A script may end with a code of its own where
// the program is missing (fallback.h). nullopt when the output shows no such program.
std::optional<MissingProgram> missing_behind(const std::vector<std::string>& argv, std::string_view output);

}  // namespace pawl::gates
