// Records that this room caches below objects/. Caches decide the files that a step sees, so a cache is believed only
// with a seal (base/seal.h) of the folder's key. A detail of this room. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pawl::workspace {

class Workspaces;

// Stores a record of a few lines, below git/, merges/ or repositories/. Not durable.
Status keep_record(const Workspaces& workspaces, std::string_view kind, const std::string& name,
                   std::string_view text);
// nullopt: there is no record, or it does not have the seal of this folder's key.
std::optional<std::string> record_of(const Workspaces& workspaces, std::string_view kind,
                                     const std::string& name);

}  // namespace pawl::workspace
