// The files that patterns of paths cover in a base or in a source, with links followed. A user who protects a
// link wants to protect its target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

struct Covered {
  bool any = false;                 // Whether a file, a folder or a link matches.
  std::string near;                 // For no match: the pattern with the most similar name that exists.
  std::vector<std::string> led_to;  // Patterns of the matched links and of their targets in the tree.
};

// One result for each of `patterns`, in their order.
std::vector<Covered> covered_in_base(const Workspaces& workspaces, const std::string& base_id,
                                     const std::vector<std::string>& patterns);
// The same in the source, as a run would take it now: the commit that `ref` names, or the folder. Stores no object.
Result<std::vector<Covered>> covered_in_source(const std::string& path, const std::optional<std::string>& ref,
                                               const std::vector<std::string>& patterns);

}  // namespace pawl::workspace
