// The effect of layers on a base, as values: the changed paths, each with the place of its content. A detail
// of this room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

struct Change {
  Entry entry;
  std::string tree;  // The file of `entry` is at tree/path.
};
using Changes = std::map<std::string, Change>;  // By path.

// The effect of `layers` (topmost first) on `base`, as overlayfs shows it. A folder that was deleted and made
// again hides the base's entries in it by kDeleted entries.
Result<Changes> changes_of(const Workspaces& workspaces, const View& base,
                           const std::vector<std::string>& layers);

// Removes changes that leave a file, symlink or folder as it is in `below`.
void drop_unchanged(const View& below, Changes& changes);

// Adds the folders on the way to a change whose permissions in `below` differ from its permissions in the tree of the
// change. overlayfs shows the permissions of the topmost tree that has the folder. Layers made beside each other do
// not know each other's folders.
Status add_folders_between(const View& below, Changes& changes);

// Makes a layer of changes, durably, with hard links. "" when there are no changes.
Result<std::string> keep_changes(const std::string& folder, const Changes& changes);

}  // namespace pawl::workspace
