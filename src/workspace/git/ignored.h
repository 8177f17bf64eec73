// The files of a base that are not a part of the repository of its source. A detail of this room.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "workspace/workspace.h"

namespace pawl::workspace {

// The paths of `entries` that are ignored: the source's .gitignore files match them, and git has them neither
// committed nor staged. REQUIRES: the source's base has the entries.
Result<std::set<std::string>> ignored_in_base(const Workspaces& workspaces, const Workspaces::Source& source,
                                              const std::vector<Entry>& entries);

}  // namespace pawl::workspace
