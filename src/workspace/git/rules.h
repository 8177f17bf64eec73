// The rules that a repository applies to files between a work tree and a commit: its .gitignore files, and
// the filters of its attributes. libgit2 finds the attributes; line ends, `ident` and Git LFS are implemented
// here. No command of a filter runs. A detail of this room.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "workspace/git/git.h"
#include "workspace/git/patch.h"
#include "workspace/git/patch_text.h"
#include "workspace/git/text_filter.h"
#include "workspace/ignore_rules.h"

namespace pawl::workspace {

constexpr const char* kLfsFilter = "lfs";                      // Pawl applies this filter itself.
constexpr std::uint64_t kOuterAttributesBytesMax = 100 << 20;  // git ignores a larger attributes file.

// The committed form of a file that is not committed byte for byte.
struct Cleaned {
  std::string bytes;
  bool is_lfs_pointer = false;  // It names the file's content, which belongs into the store of Git LFS.
  // A file with the form, in place of `bytes`, when the form is too large for memory; else "". The next call of
  // cleaned() replaces the file.
  std::string file = {};
};

// Whether the file at `full` is a pointer that Git LFS commits in place of a content.
bool is_lfs_pointer(const std::string& full);

class Rules {  // For one thread.
 public:
  // `scratch`: an empty folder of the caller, which must outlive the rules. The rules come from the work tree until
  // learn() replaces them; ignores() knows only learnt rules.
  static Result<Rules> open(const FoundRepository& found, const std::string& scratch);

  // Replaces the rules by the rules of a stored tree, whatever the folder has today. Below the found folder they come
  // from `files`. Above it they come from `root` (null: none), or for a stand-in from the work tree. The repository
  // then uses a part of `scratch` as its work tree.
  Status learn(const git_tree* root, const GitFiles& files);

  // Whether git ignores `path`, which is relative to the found folder. git never ignores a staged file.
  bool ignores(const std::string& path) { return ignored_.names(prefix_ + path, false) && !tracks(path); }
  // Whether the index has `path`.
  bool tracks(const std::string& path) const { return index_ && is_tracked(*index_, prefix_ + path); }
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
  // Whether an attributes file anywhere could name a filter that only a command could apply.
  bool has_commands() const { return filters_.size() > filters_.count(kLfsFilter); }
  // The committed form of `file`; nullopt: byte for byte the same. `committed` is the content that the commit
  // has there, if any: git keeps its line ends where it only guesses that a file is text. kExhausted: that
  // content, or the text of an id, is too large for memory. kInvalid: only a command could filter the file.
  Result<std::optional<Cleaned>> cleaned(const std::string& path, const GitFile& file,
                                         const git_oid* committed = nullptr) const;
  // From now on cleaned() writes the form of a larger file to a file.
  void keep_in_memory(std::uint64_t bytes_max) { in_memory_bytes_max_ = bytes_max; }
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
  Result<LineEnds> line_ends(const std::string& path) const;
  // Whether git takes the content for a text with CRLF line ends.
  Result<bool> has_crlf(const std::string& path, const git_oid& committed) const;
  Result<Cleaned> filtered(const GitFile& file, TextFilter to) const;
  using Write = std::function<Status(const std::string& path, std::string_view bytes)>;
  Status learn_above(const git_tree* root, const Write& write) const;

  git_repository* repository_;
  std::string prefix_, scratch_;
  GitIndex index_;                 // As it was when the rules were opened.
  std::set<std::string> filters_;  // Filters that a command is configured for.
  bool has_modes_ = true, has_learnt_ = false;
  std::uint64_t in_memory_bytes_max_ = kPatchedFileBytesMax;  // See keep_in_memory().
  bool guesses_ = false;                 // core.autocrlf: where no attribute says it, git guesses.
  std::optional<GitFolder> stands_for_;  // See FoundRepository.
  std::string top_;                      // Then: the root of the work tree.
  IgnoreRules ignored_;                  // The learnt rules.
};

}  // namespace pawl::workspace
