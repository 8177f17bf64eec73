// The history of a source, for the repository that a step finds. A detail of this room.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

// Workspaces::repository_for() with a history: a layer with one commit on top of the repository without history.
Result<Workspaces::Repository> on_history(Workspaces& workspaces, const Workspaces::Source& source,
                                          const std::vector<std::string>& layers,
                                          const std::string& history_at);

}  // namespace pawl::workspace
