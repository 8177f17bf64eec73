// Programs that a gate's command runs by a name: a script of package.json, a target of a Makefile, a wrapper
// of Gradle or Maven. Its file may change for many reasons, and an agent that weakens what runs decides what
// the gate says. Pure.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/policy.h"

namespace pawl::gates {

struct RunTargets {
  std::set<std::string, std::less<>>
      scripts;  // of package.json, as npm, yarn, pnpm and bun are asked for them
  std::set<std::string, std::less<>> targets;  // of Makefiles; "" is the first one
  // Why such an argument list can end with 0 although a command in it failed; empty: nobody is asked.
  std::function<std::vector<std::string>(const std::vector<std::string>& argv)> hidden_failures;

  // Adds what a command (its words, or a script among them) says.
  void add(const std::vector<std::string>& argv);
};

// Whether a file of this path can have such a target: then its content has to be read.
bool may_have_targets(std::string_view path);

// How `change` weakens what the commands run: it can end with 0 now although something failed, runs nothing
// any more, or is no wrapper. In words; "" when it does not. What base did already is no change.
std::string weakened_target(const FileChange& change, const RunTargets& targets);

}  // namespace pawl::gates
