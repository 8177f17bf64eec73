// What patterns of paths cover in a base or in a source, links followed: who protects a link wants to protect
// what it leads to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

struct Covered {
  bool any = false;                 // whether there is a file, a folder or a link
  std::string near;                 // when there is none: the pattern with the name of its kind that is there
  std::vector<std::string> led_to;  // patterns of the links among it and of what they lead to in the tree
};

// For each of `patterns`, in their order.
std::vector<Covered> covered_in_base(const Workspaces& workspaces, const std::string& base_id,
                                     const std::vector<std::string>& patterns);
// In the source as a run would take it now: the commit that `ref` names, or the folder. Nothing is kept.
Result<std::vector<Covered>> covered_in_source(const std::string& path, const std::optional<std::string>& ref,
                                               const std::vector<std::string>& patterns);

}  // namespace pawl::workspace
