// Programs that a gate's command runs by name: a script of package.json, a target of a Makefile, a wrapper of
// Gradle or Maven. Their files may change for many reasons, but an agent that weakens these programs decides the
// gate's result. Pure.
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

// The Makefiles that make reads in a folder.
struct MakeFolder {
  std::string folder;              // "" is the root
  std::vector<std::string> names;  // the files that make begins with
  bool is_given = false;           // by -f, so that make reads no other files
  Makefile base, now;              // with the files that they include; `now` is the work's
  TargetNames reached;             // the gate's targets, and the targets that base needs for them
  TargetNames replaced;            // paths: when a new file is there, make takes the target for made
};

struct RunTargets {
  // Scripts of package.json that npm, yarn, pnpm and bun are asked for.
  std::set<std::string, std::less<>> scripts;
  std::set<std::string, std::less<>> programs;                // names of all words of the commands
  std::set<std::string, std::less<>> targets;                 // targets of Makefiles; "" is the first target
  std::set<std::string, std::less<>> makefiles;               // the files that make is given (-f)
  bool runs_cmake = false;                                    // a command is of cmake or ctest
  bool goes_anywhere = false;                                 // a command works in a folder that is not known
  std::vector<MakeFolder> makes;                              // from read_makefiles()
  std::set<std::string> folders;                              // from read_makefiles(): where commands go to
  std::set<std::string> pytest_plugins;                       // own files that a conftest.py loads
  TextAt base_text, work_text;                                // from read_work()
  std::function<bool(const std::string& path)> is_protected;  // as in Shadows
  std::function<bool(const std::string& path)> in_base, in_work;  // which has a path; null: that is not known
  // Returns why an argument list can end with 0 although a command in it failed. Null: the check is skipped.
  std::function<std::vector<std::string>(const std::vector<std::string>& argv)> hidden_failures;

  // Adds the targets that a command names (its words, or a script among them).
  void add(const std::vector<std::string>& argv);

  // Reads base's Makefiles in the root and in the folders that commands go to. REQUIRES: all commands were
  // added.
  void read_makefiles(const std::set<std::string>& folders, const TextAt& text_of);

  // Reads the same Makefiles as the work has them. `base` and `work`: the text at a path of either.
  // REQUIRES: read_makefiles() was called.
  void read_work(const TextAt& base, const TextAt& work);
};

// Whether a file at this path can have such targets; then its content has to be read.
bool may_have_targets(std::string_view path, const RunTargets& targets);

// How `change` weakens the programs that the commands run, in words; "" when it does not. The result can now end with
// 0 although a command failed, runs no command any more, or is not a wrapper any more. Weaknesses that base has
// already do not count.
std::string weakened_target(const FileChange& change, const RunTargets& targets);

}  // namespace pawl::gates
