// The files of a base that are no part of the repository of its source. A detail of this room.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "workspace/workspace.h"

namespace pawl::workspace {

// The paths of `entries`, which the source's base has, that its .gitignore files match and that are neither
// committed nor staged.
Result<std::set<std::string>> ignored_in_base(const Workspaces& workspaces, const Workspaces::Source& source,
                                              const std::vector<Entry>& entries);

}  // namespace pawl::workspace
