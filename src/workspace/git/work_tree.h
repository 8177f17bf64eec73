// The place of a folder in a work tree, in any format of repository. A detail of this room.
#pragma once

#include <optional>
#include <string>

#include "workspace/git/config.h"

namespace pawl::workspace {

struct WorkTree {
  GitFolder git;
  Settings settings;   // The repository's own configuration, without included files.
  std::string root;    // Ends with a slash; "" when the folder is not in the work tree that is configured.
  std::string prefix;  // The place of the folder below `root`: "" or "a/b/".
};

// nullopt: there is no repository.
std::optional<WorkTree> work_tree_of(const std::string& folder);

}  // namespace pawl::workspace
