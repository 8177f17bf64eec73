// Files that, by their name, replace a part of a test runner, a library, a program or the rules of a scanner. They
// decide the result of a gate, although no test of the source contains them. docs/policy.md lists them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/policy.h"
#include "gates/policy/run_targets.h"
#include "gates/policy/search_folders.h"

namespace pawl::gates {

struct Shadows {
  SearchFolders folders;
  // Whether a path existed before the change; null: no path did.
  std::function<bool(const std::string& path)> was_there;
  // Whether there was a file at a path that the plan protects; null: there was no file.
  std::function<bool(const std::string& path)> is_protected;
  // Whether there is a file at a path in the work; null: the work has only the paths of before.
  std::function<bool(const std::string& path)> is_there;
  // Whether the work adds a test of Python to a folder; null: that is not known.
  std::function<bool(const std::string& folder)> adds_tests;
  std::vector<std::string> allowed;  // glob patterns of paths that may change
  RunTargets targets;
};

// Adds the folders that recipes, scripts and settings of the work have programs look into, so that a new file there
// is seen. REQUIRES: the targets have read the work.
void add_folders_of_work(Shadows& to);

// Whether a folder holds data of tests, so that no runner looks for modules there. Its path below a folder of tests
// has a usual name of such data, no command names it, and the work adds no test to it.
bool holds_data(const std::string& folder, const Shadows& shadows);

// How `change` replaces something else, in words; "" when it does not, or is allowed to.
std::string shadowing(const FileChange& change, const Shadows& shadows);

// Whether shadowing() looks at the content of a file at `path`. It takes a content that it did not get for the worst
// content.
bool shadowing_reads(std::string_view path, const RunTargets& targets);

// Names of the files that tell scanners which findings to leave out.
std::vector<std::string> scanner_rules();

}  // namespace pawl::gates
