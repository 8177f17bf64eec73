// Git trees as folders, and as what tells one folder from another. A detail of this room.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workspace/git/git.h"
#include "workspace/tree.h"

namespace pawl::workspace {

// What is at `path` now: nullptr when nothing is there any more.
using TreeVisit = std::function<Status(const std::string& path, const git_tree_entry* now)>;

// Calls `visit` for each highest path that differs; a folder on both sides is entered. nullptr is an empty
// tree. Trees that are equal are not read, so this costs what differs. kNotFound: a folder became a
// submodule, or the reverse, which no layer can say.
Status compare_trees(git_repository& repository, const git_tree* before, const git_tree* now,
                     const TreeVisit& visit);

// Files, links and folders at and below an entry, counted up to about `most`.
Result<std::int64_t> count_entries(git_repository& repository, const git_tree_entry& entry,
                                   std::int64_t most);

// Writes entries of git trees below `root`, as a base has them. Nothing is durable.
class TreeWriter {
 public:
  // `left_out`: patterns of what is not added.
  TreeWriter(git_repository& repository, const std::vector<std::string>& left_out, SoFar& so_far,
             std::string root)
      : repository_(repository), left_out_(left_out), so_far_(so_far), root_(std::move(root)) {}

  // The entry at `path`, with all below it. Files are only noted. kInvalid: a path that no base can have.
  Status add(const git_tree_entry& entry, const std::string& path);
  // A whiteout.
  Status remove(const std::string& path);
  // Writes the files that were noted, and tells what there is. kExhausted: it is more than a base may have.
  Result<std::vector<Entry>> write();

 private:
  Status make_folder(const std::string& path);
  Status make_parents(const std::string& path);
  Status write_file(std::size_t index);

  struct Noted {
    git_oid id;
    std::size_t entry = 0;  // its index in entries_
  };
  git_repository& repository_;
  const std::vector<std::string>& left_out_;
  SoFar& so_far_;
  const std::string root_;
  std::vector<Entry> entries_;
  std::vector<Noted> noted_;
  std::atomic<std::int64_t> bytes_{0};
  std::string made_;  // the folder that was made last, with those above it
};

}  // namespace pawl::workspace
