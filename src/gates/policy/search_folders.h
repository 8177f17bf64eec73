// Where the commands of a plan look for programs, modules and libraries, as far as their text says it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

// The words of a command or a script, without quotes, brackets and what separates commands.
std::vector<std::string_view> words_of_command(std::string_view text);

// Folders of the workspace; "" is its root.
struct SearchFolders {
  std::set<std::string> programs;  // of PATH
  std::set<std::string>
      modules;  // of PYTHONPATH, PERL5LIB, RUBYLIB and NODE_PATH, and of scripts that are run
  std::set<std::string> libraries;  // of LD_LIBRARY_PATH

  // Adds what a command (its words, or a script among them) says.
  void add(const std::vector<std::string>& argv);
};

}  // namespace pawl::gates
