// Records of the repositories that were made for the workspaces of steps. A detail of this room.
#pragma once

#include <optional>
#include <string>

#include "workspace/workspace.h"

namespace pawl::workspace {

struct MadeRepository {
  std::string base_id;
  bool has_layers = false;  // The state has layers on the base.
  Workspaces::Repository made;
};

// The name of the record for a state: a base with layers, topmost first. `history` names the part of the source's
// history that the repository has; "": no part.
std::string repository_name(const std::string& base_id, const std::vector<std::string>& layers,
                            const std::string& history = {});
// Not durable.
Status keep_repository(const Workspaces& workspaces, const std::string& name, const MadeRepository& made);
// nullopt: there is no such record, it does not have the folder's seal, or a layer of it is gone.
std::optional<MadeRepository> known_repository(const Workspaces& workspaces, const std::string& name);

}  // namespace pawl::workspace
