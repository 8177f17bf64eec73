// The folders in which the commands of a plan look for programs, modules and libraries, as far as their text
// shows.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

// The words of a command or a script, without quotes, brackets and separators of commands.
std::vector<std::string_view> words_of_command(std::string_view text);

// Folders, relative to the workspace; "" is its root.
struct SearchFolders {
  std::set<std::string> programs;  // from PATH
  // From PYTHONPATH, PERL5LIB, RUBYLIB and NODE_PATH, from options, and from the folders of scripts that run.
  std::set<std::string> modules;
  std::set<std::string> libraries;  // from LD_LIBRARY_PATH

  // Adds the folders that a command names (its words, or a script among them).
  void add(const std::vector<std::string>& argv);
};

}  // namespace pawl::gates
