// Accepted layers become commits on a branch of their own.
#include "os/file.h"
#include "workspace/changes.h"
#include "workspace/git/git.h"
#include "workspace/git/patch.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr const char* kAuthor = "Pawl";
constexpr const char* kAuthorMail = "pawl@localhost";

class Applier {
 public:
  Applier(const Workspaces& workspaces, FoundRepository& found, const std::string& base_id)
      : workspaces_(workspaces),
        repository_(*found.repository),
        prefix_(found.prefix),
        base_(workspaces.trees_of(base_id, {})) {}

  Status start(const std::string& commit_id) {
    git_oid id;
    git_commit* commit = nullptr;
    if (git_oid_fromstr(&id, commit_id.c_str()) != 0 || git_commit_lookup(&commit, &repository_, &id) != 0)
      return git_failure(ErrorKind::kInvalid, "the commit that the run started from, " + commit_id);
    parent_.reset(commit);
    git_tree* tree = nullptr;
    git_index* index = nullptr;
    if (git_commit_tree(&tree, commit) != 0) return git_failure(ErrorKind::kCorrupt, commit_id);
    const GitTree owner(tree);
    if (git_index_new(&index) != 0) return git_failure(ErrorKind::kUnavailable, "index");
    index_.reset(index);
    if (git_index_read_tree(index, tree) != 0) return git_failure(ErrorKind::kUnavailable, commit_id);
    return {};
  }

  Status commit(const AppliedPhase& phase, std::vector<std::string>& layers, const std::string& message,
                std::int64_t when_seconds) {
    if (!phase.layer_id.empty()) layers.insert(layers.begin(), phase.layer_id);
    // The whole state so far: later layers may undo earlier ones.
    PAWL_TRY(const auto changes, changes_of(workspaces_, base_, layers));
    PAWL_TRY(const auto files, git_files(base_, changes));
    for (const auto& [path, file] : files) PAWL_OK(put(path, file));
    // What an earlier phase touched and this one put back as it was.
    for (const auto& path : touched_)
      if (!files.contains(path)) PAWL_OK(put(path, git_file_of(base_, path)));
    for (const auto& [path, file] : files) touched_.insert(path);
    return write(message, when_seconds);
  }

  const git_oid& last() const { return *git_commit_id(parent_.get()); }

 private:
  // The commit must have at `path` what the run's base had: else the result is not what was verified.
  Status check_same(const std::string& path) {
    if (touched_.contains(path)) return {};
    const git_index_entry* there = git_index_get_bypath(index_.get(), (prefix_ + path).c_str(), 0);
    const auto base = git_file_of(base_, path);
    bool same = (there != nullptr) == base.has_value();
    if (same && there != nullptr) {
      PAWL_TRY(const git_oid id, write_blob(repository_, *base));
      same = git_oid_equal(&id, &there->id) != 0;
    }
    if (same) return {};
    return fail(ErrorKind::kConflict,
                path +
                    " was not committed as the run found it; commit it and run the plan "
                    "again, or use `pawl diff` and `git apply`");
  }

  Status put(const std::string& path, const std::optional<GitFile>& file) {
    PAWL_OK(check_same(path));
    const std::string full = prefix_ + path;
    if (!file) {
      git_index_remove(index_.get(), full.c_str(), 0);  // not there: nothing to do
      return {};
    }
    git_index_entry entry{};
    entry.path = full.c_str();
    entry.mode = mode_of(*file);
    PAWL_TRY(entry.id, write_blob(repository_, *file));
    if (git_index_add(index_.get(), &entry) != 0) return git_failure(ErrorKind::kInvalid, full);
    return {};
  }

  Status write(const std::string& message, std::int64_t when_seconds) {
    git_oid tree_id, commit_id;
    git_tree* tree = nullptr;
    if (git_index_write_tree_to(&tree_id, index_.get(), &repository_) != 0 ||
        git_tree_lookup(&tree, &repository_, &tree_id) != 0)
      return git_failure(ErrorKind::kUnavailable, "commit");
    const GitTree owner(tree);
    git_signature* signature = nullptr;
    if (git_signature_new(&signature, kAuthor, kAuthorMail, when_seconds, 0) != 0)
      return git_failure(ErrorKind::kUnavailable, "commit");
    const GitSignature author(signature);
    const git_commit* parents[] = {parent_.get()};
    if (git_commit_create(&commit_id, &repository_, nullptr, signature, signature, nullptr, message.c_str(),
                          tree, 1, parents) != 0)
      return git_failure(ErrorKind::kUnavailable, "commit");
    git_commit* commit = nullptr;
    if (git_commit_lookup(&commit, &repository_, &commit_id) != 0)
      return git_failure(ErrorKind::kCorrupt, "commit");
    parent_.reset(commit);
    return {};
  }

  const Workspaces& workspaces_;
  git_repository& repository_;
  const std::string prefix_;
  const View base_;
  GitCommit parent_;
  GitIndex index_;
  std::set<std::string> touched_;
};

Result<git_oid> commit_all(const Workspaces& workspaces, FoundRepository& found, const Commits& commits) {
  Applier applier(workspaces, found, commits.base.base_id);
  PAWL_OK(applier.start(commits.base.git_commit));
  std::vector<std::string> layers;
  for (const auto& phase : commits.phases)
    PAWL_OK(applier.commit(phase, layers, commits.message(phase), commits.when_seconds));
  return applier.last();
}

// "a" for "a/b", and "a/b/c" for "a/b"; "" when there is none.
std::string branch_in_the_way(git_repository& repository, const std::string& branch) {
  const std::string heads = "refs/heads/";
  git_oid there;
  for (auto slash = branch.find('/'); slash != branch.npos; slash = branch.find('/', slash + 1))
    if (auto above = branch.substr(0, slash);
        git_reference_name_to_id(&there, &repository, (heads + above).c_str()) == 0)
      return above;
  git_reference_iterator* all = nullptr;
  if (git_reference_iterator_glob_new(&all, &repository, (heads + branch + "/*").c_str()) != 0) return {};
  const GitOwner<git_reference_iterator, git_reference_iterator_free> owner(all);
  const char* below = nullptr;
  return git_reference_next_name(&below, all) == 0 ? std::string(below).substr(heads.size()) : "";
}

Status make_branch(git_repository& repository, const std::string& branch, const git_oid& commit) {
  const std::string name = "refs/heads/" + branch;
  git_oid there;
  if (git_reference_name_to_id(&there, &repository, name.c_str()) == 0) {
    if (git_oid_equal(&there, &commit) != 0) return {};
    return fail(ErrorKind::kConflict, "branch " + branch +
                                          " is there with other commits; rename or delete it, then "
                                          "apply again");
  }
  git_reference* reference = nullptr;
  const int made = git_reference_create(&reference, &repository, name.c_str(), &commit, 0, "pawl apply");
  if (made == GIT_ELOCKED) return git_failure(ErrorKind::kUnavailable, "create branch " + branch);
  if (made != 0) {
    if (const auto other = branch_in_the_way(repository, branch); !other.empty())
      return fail(ErrorKind::kConflict,
                  "branch " + branch + " can't be made beside the branch " + other +
                      " (git keeps branches as files in folders); rename that one with `git "
                      "branch -m`, then apply again");
    return git_failure(ErrorKind::kInvalid, "create branch " + branch);
  }
  git_reference_free(reference);
  return {};
}

}  // namespace

Result<std::string> Workspaces::apply(const std::string& branch, const Commits& commits) {
  PAWL_TRY(auto found, find_repository(commits.source));
  PAWL_TRY(const git_oid last, commit_all(*this, found, commits));
  PAWL_OK(make_branch(*found.repository, branch, last));
  return text_of(last);
}

Result<std::string> Workspaces::commit_id(const Commits& commits) const {
  PAWL_TRY(auto found, find_repository(commits.source));
  git_odb* database = nullptr;
  if (git_repository_odb(&database, found.repository.get()) != 0)
    return git_failure(ErrorKind::kUnavailable, commits.source);
  const GitOdb owner(database);
  PAWL_OK(keep_new_objects_in_memory(*database));
  PAWL_TRY(const git_oid last, commit_all(*this, found, commits));
  return text_of(last);
}

}  // namespace pawl::workspace
