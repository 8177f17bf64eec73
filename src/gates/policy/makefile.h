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
  std::vector<std::size_t> files;  // of each line of the recipe: its place in Makefile::files
};
// A file that a Makefile includes.
struct Include {
  std::string path;    // may be a pattern
  bool leads = false;  // it comes before each target
};
// Rules, and variables as they are written.
struct Makefile {
  std::vector<Include> includes;
  std::map<std::string, Rule, std::less<>> rules;
  std::map<std::string, std::string, std::less<>> variables;
  std::string first;               // the first target
  bool ignores = false;            // .IGNORE without a target, or -i in MAKEFLAGS
  std::string runs_nothing;        // the line by which make, or its shell, runs no command
  std::size_t bytes = 0;           // bytes of its recipes
  bool is_cut = false;             // a part of it is over the limits and was not read
  std::vector<std::string> files;  // the paths that were read, as far as they are known
};

// The Makefile of base in a folder, for the targets of a gate.
struct MakeFolder {
  Makefile base;         // with the files that it includes, as far as base has them
  TargetNames reached;   // the gate's targets, and those that they need
  TargetNames replaced;  // paths: when a new file is there, make takes the target for made
};

bool is_makefile(std::string_view name);

// Reads the Makefiles `names` of a folder, and what they include. `text_of`: the text that base has at a
// path, "" when it has none.
MakeFolder read_make_folder(const std::string& folder, const std::vector<std::string>& names,
                            const TargetNames& targets,
                            const std::function<std::string(const std::string& path)>& text_of);

// The text with the values of variables in place of "$(NAME)". Other names stay.
std::string expanded(std::string text, const Makefile& in);

// Whether a Makefile of base includes the file at `path`.
bool is_included(std::string_view path, const RunTargets& targets);

// How a new or changed file that a Makefile of base includes weakens the targets of a gate, in words.
std::string weakened_include(const FileChange& change, const RunTargets& targets);

// How a changed Makefile weakens the targets of a gate, in words; "" when it does not.
std::string weakened_makefile(const FileChange& change, const RunTargets& targets);

}  // namespace pawl::gates
