// Bases that are kept as what tells them from another one. A detail of this room.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workspace/workspace.h"

namespace pawl::workspace {

// More trees than one for a base cost each look-up of a name in a sandbox; overlayfs takes 500 of them.
constexpr std::size_t kDerivedDepthMax = 8;

struct Derivation {
  std::string from;      // another base, kept whole or derived itself
  std::string layer_id;  // what tells this one from it
};

// What a base is made of: one that is kept whole, and layers on it, topmost first.
struct BaseParts {
  std::string whole;
  std::vector<std::string> layers;
};

// kNotFound: a part of it is not there.
Result<BaseParts> parts_of(const Workspaces& workspaces, const std::string& base_id);
// Of a base that is not kept whole, too; nothing when there is no record, or one that can't be read.
std::optional<Derivation> derivation_of(const std::string& folder, const std::string& base_id);
// Durable when it returns. The layer and the other base are there.
Status keep_derivation(const std::string& folder, const std::string& base_id, const Derivation& derivation);

// The manifest of a base. kCorrupt: it does not have the hash that is the base's id.
Result<std::string> base_manifest(const Workspaces& workspaces, const std::string& base_id);
// The manifest `text` of a tree with the changes of a layer, whose entries are sorted by path. Costs the
// copy of the text, and a binary search an entry.
Result<std::string> changed_manifest(std::string_view text, const std::vector<Entry>& layer);

}  // namespace pawl::workspace
