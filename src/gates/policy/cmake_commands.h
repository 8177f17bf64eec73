// The commands of a file of CMake, as far as the check of a gate's programs needs them. Pure. A detail of this
// folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

struct CmakeCommand {
  std::string name;                // in lower case
  std::vector<std::string> words;  // without quotes; variables stay
  std::size_t begin = 0, end = 0;  // its place in the text
  bool is_sure = false;            // under no condition, and in no loop, function or macro
  bool is_of_release = false;      // under a condition that names a build of release
};

struct CmakeFile {
  std::vector<CmakeCommand> commands;
  bool is_cut = false;  // the text has more commands or words than are read
};

// The commands of a text. Comments are left out. cmake.org, cmake-language(7)
CmakeFile cmake_commands(std::string_view text);

// Whether the text names a build of release, whose flags are free.
bool names_release(std::string_view text);

}  // namespace pawl::gates
