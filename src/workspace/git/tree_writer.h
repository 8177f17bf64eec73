// Writes git trees as folders, and compares git trees. A detail of this room.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workspace/git/git.h"
#include "workspace/tree.h"

namespace pawl::workspace {

// Gets a path and its entry in the new tree: nullptr when the path was deleted.
using TreeVisit = std::function<Status(const std::string& path, const git_tree_entry* now)>;

// Calls `visit` for each topmost path that differs; a folder on both sides is entered. A nullptr tree is
// empty. Equal trees are not read, so the cost depends on the difference. kNotFound: a folder became a submodule, or
// the reverse. No layer can express that.
Status compare_trees(git_repository& repository, const git_tree* before, const git_tree* now,
                     const TreeVisit& visit);

// The number of files, links and folders at and below an entry, counted up to about `most`.
Result<std::int64_t> count_entries(git_repository& repository, const git_tree_entry& entry,
                                   std::int64_t most);

// Writes entries of git trees below `root`, in the form that a base has. Not durable.
class TreeWriter {
 public:
  // `left_out`: patterns of paths that are not added.
  TreeWriter(git_repository& repository, const std::vector<std::string>& left_out, SoFar& so_far,
             std::string root)
      : repository_(repository), left_out_(left_out), so_far_(so_far), root_(std::move(root)) {}

  // Adds the entry at `path`, with everything below it. Files are only noted. kInvalid: no base can have the
  // path.
  Status add(const git_tree_entry& entry, const std::string& path);
  // Makes a whiteout.
  Status remove(const std::string& path);
  // Writes the noted files, and returns all entries. kExhausted: more than a base may have. kInvalid: a
  // content is missing, as in a partial clone, or a link has a target that no base can have.
  Result<std::vector<Entry>> write();

 private:
  Status make_folder(const std::string& path);
  Status make_parents(const std::string& path);
  Status write_file(std::size_t index);

  struct Noted {
    git_oid id;
    std::size_t entry = 0;  // An index into entries_.
  };
  git_repository& repository_;
  const std::vector<std::string>& left_out_;
  SoFar& so_far_;
  const std::string root_;
  std::vector<Entry> entries_;
  std::vector<Noted> noted_;
  std::atomic<std::int64_t> bytes_{0};
  std::string made_;  // The last folder that was made, with a slash before it.
};

}  // namespace pawl::workspace
