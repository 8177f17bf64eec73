// Trees of git, made and read entry by entry. libgit2's index would do both, were it not that an index can
// have `t` and `t/b`, of which it makes a tree without `t`. A detail of this room.
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
using GitListing = std::map<std::string, GitEntry>;                 // by path; of files, links and submodules
using GitChanges = std::map<std::string, std::optional<GitEntry>>;  // nullopt: gone

// The tree of a commit below `prefix`, "" or "a/b/". kInvalid: it has none there.
Result<GitTree> tree_at(git_commit& commit, const std::string& prefix);

// All below `tree`.
Result<GitListing> listing_of(git_repository& repository, const git_tree& tree);

// Writes the tree that has the entries of `tree` (null: none) but for `changes`; what they do not name stays
// as it is. Folders without entries are not there. kConflict: a path would be a file and a folder.
Result<git_oid> edit_tree(git_repository& repository, const git_tree* tree, const GitChanges& changes);

}  // namespace pawl::workspace
