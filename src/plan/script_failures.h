// Finds the places of a script where a failure can get lost. Pure. Internal to this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/script_words.h"

namespace pawl::plan {

// Options of the shell that reads the script.
struct ScriptShell {
  std::string name;  // "" for a plan's own script, which always has -e
  bool errexit = true, pipefail = true, inherits = true;
  bool best = false;     // Shell::kBest: where the host has bash, it has pipefail
  bool is_file = false;  // the text of a file
};

// One sentence for each reason, without duplicates, at most 20.
std::vector<std::string> failures_hidden_in(std::string_view script, const ScriptShell& shell);
std::vector<std::string> failures_hidden_in(const NestedShell& shell);

}  // namespace pawl::plan
