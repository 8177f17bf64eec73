// Programs that a gate's command runs by name: a script of package.json, a target of a Makefile, a wrapper of
// Gradle or Maven. Their files may change for many reasons, but an agent that weakens what runs decides what
// the gate says. Pure.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/policy.h"
#include "gates/policy/makefile.h"

namespace pawl::gates {

struct RunTargets {
  // Scripts of package.json that npm, yarn, pnpm and bun are asked for.
  std::set<std::string, std::less<>> scripts;
  std::set<std::string, std::less<>> targets;    // targets of Makefiles; "" is the first one
  std::set<std::string, std::less<>> makefiles;  // those that make is given (-f)
  bool runs_cmake = false;                       // a command is of cmake or ctest
  std::vector<MakeFolder> makes;                 // from read_makefiles()
  // Returns why an argument list can end with 0 although a command in it failed. Null: the check is skipped.
  std::function<std::vector<std::string>(const std::vector<std::string>& argv)> hidden_failures;

  // Adds the targets that a command names (its words, or a script among them).
  void add(const std::vector<std::string>& argv);

  // Reads base's Makefiles in the root and in the folders that commands go to. `text_of`: the text that base
  // has at a path, "" when it has none. REQUIRES: all commands were added.
  void read_makefiles(const std::set<std::string>& folders,
                      const std::function<std::string(const std::string& path)>& text_of);
};

// The scripts of a package.json, by name; none when the text is not JSON.
std::map<std::string, std::string, std::less<>> scripts_of(std::string_view text);

// Whether a file at this path can have such targets; then its content has to be read.
bool may_have_targets(std::string_view path, const RunTargets& targets);

// How `change` weakens what the commands run, in words; "" when it does not. The result can now end with 0
// although a command failed, runs no command any more, or is not a wrapper any more. Weaknesses that base has
// already do not count.
std::string weakened_target(const FileChange& change, const RunTargets& targets);

}  // namespace pawl::gates
