// What a repository does to files on their way between a work tree and a commit: its .gitignore files, and
// the filters of its attributes. End-of-line conversion and `ident` are libgit2's, Git LFS is made here; no
// command of a filter runs. A detail of this room.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "workspace/git/git.h"
#include "workspace/git/patch.h"
#include "workspace/ignore_rules.h"

namespace pawl::workspace {

// What a file is in a commit when it is not there byte for byte.
struct Cleaned {
  std::string bytes;
  bool is_lfs_pointer = false;  // to the file's content, which belongs into the store of Git LFS
};

// Whether the file at `full` is what Git LFS commits in place of a content.
bool is_lfs_pointer(const std::string& full);

class Rules {  // for one thread
 public:
  // `scratch`: an empty folder of the caller, which outlives the rules. They are those of the work tree,
  // until others are learnt.
  static Result<Rules> open(const FoundRepository& found, const std::string& scratch);

  // From now on the rules are those in `files`, below the folder that was found, and those of `root` above
  // it (null: none): of a tree that is kept, whatever lies in the folder today. The repository takes a part
  // of `scratch` for its work tree.
  Status learn(const git_tree* root, const GitFiles& files);

  // Of a path below the folder that was found.
  // Whether git would not see it: what is staged, it sees.
  bool ignores(const std::string& path) {
    return ignored_.names(prefix_ + path, false) && (!index_ || !is_tracked(*index_, prefix_ + path));
  }
  Unseen unseen(const std::string& path) const {
    return index_ ? unseen_by_index(*index_, prefix_ + path) : Unseen::kNo;
  }
  struct Tracked {
    std::string path;
    bool is_submodule = false, is_link = false;
    bool is_skipped = false;  // by a sparse checkout
  };
  // All that the index has below the folder that was found, in the order of their paths; an error of visit()
  // ends it.
  Status each_tracked(const std::function<Status(const Tracked&)>& visit) const;
  // False: no path has a command_of(), for no attributes file speaks of one that counts for a file in
  // `folders`, which are those of the found folder. As the work tree has them.
  bool may_have_command(const std::set<std::string>& folders) const;
  // Whether more than line ends of it are others in a commit than in a work tree: `git apply` compares a
  // patch with what git commits.
  Result<bool> rewrites(const std::string& path) const;
  // nullopt: as it is. kExhausted: it has a filter, and is too large for one. kInvalid: only a command could.
  // `committed` is what the commit has there, if any: git keeps its line ends where it only guesses that a
  // file is text. REQUIRES, with it: the rules were learnt.
  Result<std::optional<Cleaned>> cleaned(const std::string& path, const GitFile& file,
                                         const git_oid* committed = nullptr) const;
  // The filter of `path` that only a command could apply; "" when there is none.
  Result<std::string> command_of(const std::string& path) const;

  // Whether the work tree's files can say that they are executable (core.fileMode).
  bool has_modes() const { return has_modes_; }

 private:
  Rules(git_repository& repository, std::string prefix, std::string scratch)
      : repository_(&repository), prefix_(std::move(prefix)), scratch_(std::move(scratch)) {}
  Status read_config();
  Result<std::string> attribute(const std::string& path, const char* name) const;
  Result<bool> has_ident(const std::string& path) const;
  Status show_committed(const std::string& path, const git_oid* committed) const;

  git_repository* repository_;
  std::string prefix_, scratch_;
  GitIndex index_;                 // as it was when the rules were opened
  std::set<std::string> filters_;  // those that a command is configured for
  bool has_modes_ = true, has_learnt_ = false;
  IgnoreRules ignored_;  // that were learnt
};

}  // namespace pawl::workspace
