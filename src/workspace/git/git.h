// libgit2, with owners and errors as values. A detail of this room. No hook, filter or command of a
// repository runs: only its objects and references are read and written.
#pragma once

#include <git2.h>

#include <memory>
#include <string>

#include "base/error.h"

namespace pawl::workspace {

template <auto Free>
struct GitDeleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <typename T, auto Free>
using GitOwner = std::unique_ptr<T, GitDeleter<Free>>;

using GitConfig = GitOwner<git_config, git_config_free>;
using GitOdb = GitOwner<git_odb, git_odb_free>;
using GitRepository = GitOwner<git_repository, git_repository_free>;
using GitObject = GitOwner<git_object, git_object_free>;
using GitCommit = GitOwner<git_commit, git_commit_free>;
using GitTree = GitOwner<git_tree, git_tree_free>;
using GitTreeEntry = GitOwner<git_tree_entry, git_tree_entry_free>;
using GitBlob = GitOwner<git_blob, git_blob_free>;
using GitIndex = GitOwner<git_index, git_index_free>;
using GitDiff = GitOwner<git_diff, git_diff_free>;
using GitReference = GitOwner<git_reference, git_reference_free>;
using GitSignature = GitOwner<git_signature, git_signature_free>;

void git_start();  // once a process; every function of this room that uses git calls it

// Says what was tried, and libgit2's last message. kUnavailable becomes what fail_errno() makes of a
// system call that failed for want of rights or room, with what to do: nobody else is to be waited for.
// Where libgit2 found no memory, it throws as an allocation of our own does.
std::unexpected<Error> git_failure(ErrorKind kind, const std::string& what);

struct FoundRepository {
  GitRepository repository;
  std::string prefix;  // of the path inside the work tree: "" or "a/b/"
};
// What is written to `database` from now on goes nowhere; what it has can be read.
Status keep_new_objects_in_memory(git_odb& database);
// The repository at or above `path`. kInvalid: there is none.
Result<FoundRepository> find_repository(const std::string& path);
Result<GitCommit> find_commit(git_repository& repository, const std::string& ref);
// The commit that is checked out. kInvalid: there is none, or it can't be read. Not by find_commit(), which
// leaks a regular expression when the object is not there (libgit2 1.5 with PCRE2).
Result<GitCommit> head_commit(git_repository& repository);
// Null when there is none, or libgit2 can't read it.
GitIndex index_of(git_repository& repository);
// kInvalid: the repository at `path` has an index that libgit2 can't read (a sparse one, a split one, one
// without a checksum). What a work tree's files are in a commit can't be told then.
Status check_index(git_repository& repository, const std::string& path);
// What the index says of a file that `git status` therefore does not look at.
enum class Unseen { kNo, kSkipped, kAssumedUnchanged };  // git-update-index(1): --skip-worktree, and so on
Unseen unseen_by_index(git_index& index, const std::string& path);
// Whether the index has `path`, or something below it: git ignores nothing of that, committed or not.
bool is_tracked(git_index& index, const std::string& path);
std::string text_of(const git_oid& id);

}  // namespace pawl::workspace
