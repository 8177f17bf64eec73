// The rules that a repository applies to files between a work tree and a commit: its .gitignore files, and
// the filters of its attributes. End-of-line conversion and `ident` are libgit2's; Git LFS is implemented
// here. No command of a filter runs. A detail of this room.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "workspace/git/git.h"
#include "workspace/git/patch.h"
#include "workspace/ignore_rules.h"

namespace pawl::workspace {

// The committed form of a file that is not committed byte for byte.
struct Cleaned {
  std::string bytes;
  bool is_lfs_pointer = false;  // It names the file's content, which belongs into the store of Git LFS.
};

// Whether the file at `full` is a pointer that Git LFS commits in place of a content.
bool is_lfs_pointer(const std::string& full);

class Rules {  // For one thread.
 public:
  // `scratch`: an empty folder of the caller, which must outlive the rules. The rules are those of the work
  // tree until learn() replaces them; ignores() knows only learnt rules.
  static Result<Rules> open(const FoundRepository& found, const std::string& scratch);

  // Replaces the rules by those of a stored tree, whatever the folder has today. Below the found folder they
  // come from `files`, above it from `root` (null: none). The repository then uses a part of `scratch` as its
  // work tree.
  Status learn(const git_tree* root, const GitFiles& files);

  // Whether git ignores `path`, which is relative to the found folder. git never ignores a staged file.
  bool ignores(const std::string& path) {
    return ignored_.names(prefix_ + path, false) && (!index_ || !is_tracked(*index_, prefix_ + path));
  }
  Unseen unseen(const std::string& path) const {
    return index_ ? unseen_by_index(*index_, prefix_ + path) : Unseen::kNo;
  }
  struct Tracked {
    std::string path;
    bool is_submodule = false, is_link = false;
    bool is_skipped = false;  // By a sparse checkout.
  };
  // Visits all that the index has below the found folder, in the order of the paths. An error of visit() ends
  // the walk, and is returned.
  Status each_tracked(const std::function<Status(const Tracked&)>& visit) const;
  // False: no path can have a command_of(), because no attributes file for a file in `folders` mentions one.
  // `folders` are relative to the found folder. Reads the files of the work tree.
  bool may_have_command(const std::set<std::string>& folders) const;
  // Whether the committed form of `path` differs from the work tree in more than line ends. `git apply`
  // compares a patch with the committed form.
  Result<bool> rewrites(const std::string& path) const;
  // The committed form of `file`; nullopt: byte for byte the same. `committed` is the content that the commit
  // has there, if any: git keeps its line ends where it only guesses that a file is text. REQUIRES, with
  // `committed`: learn() was called. kExhausted: the file has a filter and is too large for it. kInvalid:
  // only a command could filter the file.
  Result<std::optional<Cleaned>> cleaned(const std::string& path, const GitFile& file,
                                         const git_oid* committed = nullptr) const;
  // The filter of `path` that only a command could apply; "" when there is none.
  Result<std::string> command_of(const std::string& path) const;

  // Whether files of the work tree can have the executable bit (core.fileMode).
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
  GitIndex index_;                 // As it was when the rules were opened.
  std::set<std::string> filters_;  // Filters that a command is configured for.
  bool has_modes_ = true, has_learnt_ = false;
  IgnoreRules ignored_;  // The learnt rules.
};

}  // namespace pawl::workspace
