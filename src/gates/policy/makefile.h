// Makefiles, as far as the check of what a gate runs needs them. A detail of this folder.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/policy.h"

namespace pawl::gates {

struct RunTargets;

using TargetNames = std::set<std::string, std::less<>>;

struct Rule {
  TargetNames needs;
  std::vector<std::string> recipe;
};
// Rules, and variables as they are written.
struct Makefile {
  std::map<std::string, Rule, std::less<>> rules;
  std::map<std::string, std::string, std::less<>> variables;
  std::string first;         // the first target
  bool ignores = false;      // .IGNORE without a target, or -i in MAKEFLAGS
  std::string runs_nothing;  // the line by which make, or its shell, runs no command
  std::size_t bytes = 0;     // bytes of its recipes
  bool is_cut = false;       // a part of it is over the limits and was not read
};

bool is_makefile(std::string_view name);

// How a changed Makefile weakens the targets of a gate, in words; "" when it does not.
std::string weakened_makefile(const FileChange& change, const RunTargets& targets);

}  // namespace pawl::gates
