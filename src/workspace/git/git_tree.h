// Git trees, made and read entry by entry. libgit2's index is unsuitable: it can have `t` and `t/b`, and
// makes a tree without `t` from them. A detail of this room.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "workspace/git/git.h"

namespace pawl::workspace {

struct GitEntry {
  git_filemode_t mode = GIT_FILEMODE_UNREADABLE;
  git_oid id{};

  bool operator==(const GitEntry& other) const {
    return mode == other.mode && git_oid_equal(&id, &other.id) != 0;
  }
};
using GitListing = std::map<std::string, GitEntry>;                 // By path; files, links and submodules.
using GitChanges = std::map<std::string, std::optional<GitEntry>>;  // nullopt: deleted.

// The tree of a commit below `prefix`, "" or "a/b/". kInvalid: the commit has no folder there.
Result<GitTree> tree_at(git_commit& commit, const std::string& prefix);

// All files, links and submodules below `tree`.
Result<GitListing> listing_of(git_repository& repository, const git_tree& tree);

// Writes the tree with the entries of `tree` (null: none) and `changes` applied. Entries that `changes` does
// not name stay as they are. Folders without entries are dropped. kConflict: a path would be a file and a
// folder.
Result<git_oid> edit_tree(git_repository& repository, const git_tree* tree, const GitChanges& changes);

}  // namespace pawl::workspace
