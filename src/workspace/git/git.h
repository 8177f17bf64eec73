// libgit2 with owners, and with errors as values. A detail of this room. No hook, filter command or other
// command of a repository runs. libgit2 writes only objects and references of a repository.
#pragma once

#include <git2.h>

#include <memory>
#include <optional>
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

void git_start();  // Runs once in a process. Every function of this room that uses git calls it.

// An error that names the attempted action `what`, with libgit2's last message. kUnavailable becomes the
// error of fail_errno() when a system call failed for want of rights or space; its message has the remedy.
// Throws std::bad_alloc when libgit2 had no memory, as an allocation in this code does.
std::unexpected<Error> git_failure(ErrorKind kind, const std::string& what);

// The folders of a repository. In a linked work tree (git-worktree(1)) the two differ: `common` is the folder of the
// main work tree.
struct GitFolder {
  std::string own, common;
};

struct FoundRepository {
  GitRepository repository;
  std::string prefix;  // The place of the path inside the work tree: "" or "a/b/".
  // `repository` is a stand-in for the repository of this folder (workspace/git/stand_in.h).
  std::optional<GitFolder> stands_for = std::nullopt;
};
// From now on, writes to `database` stay in memory. Its stored objects can still be read.
Status keep_new_objects_in_memory(git_odb& database);
// The repository at or above `path`. kNotFound: there is no repository. kInvalid: it can't be read.
Result<GitRepository> open_repository(const std::string& path);
// The same for the source of a plan. kInvalid: there is no repository, or it can't be read; the message advises the
// plan's author.
Result<FoundRepository> find_repository(const std::string& path);
Result<GitCommit> find_commit(git_repository& repository, const std::string& ref);
// The commit that is checked out. kInvalid: there is no commit, or it can't be read. find_commit() can't replace this
// function, because it leaks a regular expression when the object is missing (libgit2 1.5 with PCRE2).
Result<GitCommit> head_commit(git_repository& repository);
// Null when there is no index, or libgit2 can't read it.
GitIndex index_of(git_repository& repository);
// kInvalid: libgit2 can't read the index of the repository at `path` (a sparse or split index, or an index without a
// checksum). The committed form of a work tree's files is then unknown.
Status check_index(git_repository& repository, const std::string& path);
// A mark in the index that makes `git status` skip a file.
enum class Unseen { kNo, kSkipped, kAssumedUnchanged };  // See git-update-index(1), --skip-worktree.
Unseen unseen_by_index(git_index& index, const std::string& path);
// Whether the index has `path` or a path below it. git never ignores such paths, committed or not.
bool is_tracked(git_index& index, const std::string& path);
std::string text_of(const git_oid& id);

}  // namespace pawl::workspace
