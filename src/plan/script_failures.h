// The places of a script where a failure can get lost. Pure. A detail of this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/script_words.h"

namespace pawl::plan {

// How the shell runs that reads the script.
struct ScriptShell {
  std::string name;  // "" of a plan's own script, which always has -e
  bool errexit = true, pipefail = true, inherits = true;
  bool best = false;  // it would have had pipefail, were there a bash
};

std::vector<std::string> failures_hidden_in(std::string_view script, const ScriptShell& shell);
std::vector<std::string> failures_hidden_in(const NestedShell& shell);

}  // namespace pawl::plan
