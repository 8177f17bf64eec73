// Files that stand in for something else by their name: for a test runner, a library, a program or the rules
// of a scanner. They decide what a gate says, and no test of the source has them. docs/policy.md lists them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/policy.h"
#include "gates/policy/run_targets.h"
#include "gates/policy/search_folders.h"

namespace pawl::gates {

struct Shadows {
  SearchFolders folders;
  std::function<bool(const std::string& path)> was_there;  // before the change; empty: nothing was
  std::vector<std::string> allowed;                        // patterns
  RunTargets targets;
};

// What `change` does instead of what it should, in words; "" when it stands in for nothing, or may.
std::string shadowing(const FileChange& change, const Shadows& shadows);

// Names of the files by which people tell scanners what not to report.
std::vector<std::string> scanner_rules();

}  // namespace pawl::gates
