// What layers do to a base, as values: the changed paths, each with where its content lies. A detail of this
// room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

struct Change {
  Entry entry;
  std::string tree;  // entry's file lies at tree/path
};
using Changes = std::map<std::string, Change>;  // by path

// The effect of `layers` (topmost first) on `base`, as overlayfs shows it. A folder that was deleted and made
// again hides what the base has in it by kDeleted entries.
Result<Changes> changes_of(const Workspaces& workspaces, const View& base,
                           const std::vector<std::string>& layers);

// Adds the folders on the way to a change that `below` shows with other permissions than the tree of the
// change: overlayfs shows those of the topmost tree that has the folder, and the trees of layers that were
// made beside each other do not know each other's.
Status add_folders_between(const View& below, Changes& changes);

// Makes a layer of changes, durably, with hard links. "" when there are none.
Result<std::string> keep_changes(const std::string& folder, const Changes& changes);

}  // namespace pawl::workspace
