// Turns accepted layers into commits on a branch of their own.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "os/file.h"
#include "workspace/git/committed.h"
#include "workspace/git/config.h"
#include "workspace/git/lfs.h"
#include "workspace/objects.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr const char* kAuthor = "Pawl";
constexpr const char* kAuthorMail = "pawl@localhost";

constexpr std::size_t kUncommittedNamedMax = 10;

std::string said_of(const std::vector<Uncommitted>& found) {
  std::string out;
  for (std::size_t i = 0; i < std::min(found.size(), kUncommittedNamedMax); ++i)
    out += (i == 0 ? "" : ", ") + printable(found[i].path) + " (" + found[i].how + ")";
  return out + (found.size() > kUncommittedNamedMax
                    ? fmt::format(" and {} more", found.size() - kUncommittedNamedMax)
                    : "");
}

// Advice for the user before the next run of the plan.
std::string_view way_out(const std::vector<Uncommitted>& found) {
  if (std::ranges::all_of(found, &Uncommitted::is_sparse))
    return "run `git sparse-checkout disable` and the plan again, or set `source.ref`, which takes what is "
           "committed, or name what the checkout leaves out in `source.exclude`";
  return "commit or remove that and run the plan again (`source.ref` takes what is committed)";
}

class Applier {
 public:
  // `scratch`: an empty folder. `keeps`: blobs are written to the repository; else only their ids are
  // computed.
  Applier(const Workspaces& workspaces, FoundRepository& found, const Commits& commits, std::string scratch,
          bool keeps)
      : workspaces_(workspaces),
        repository_(*found.repository),
        found_(found),
        commits_(commits),
        base_(workspaces.trees_of(commits.base.base_id, {})),
        scratch_(std::move(scratch)),
        keeps_(keeps) {}

  Status start() {
    git_oid id;
    git_commit* commit = nullptr;
    if (git_oid_fromstr(&id, commits_.base.git_commit.c_str()) != 0 ||
        git_commit_lookup(&commit, &repository_, &id) != 0)
      return git_failure(ErrorKind::kInvalid,
                         "the commit that the run started from, " + commits_.base.git_commit);
    parent_.reset(commit);
    git_tree* tree = nullptr;
    git_odb* database = nullptr;
    if (git_commit_tree(&tree, commit) != 0)
      return git_failure(ErrorKind::kCorrupt, commits_.base.git_commit);
    root_.reset(tree);
    if (git_repository_odb(&database, &repository_) != 0)
      return git_failure(ErrorKind::kUnavailable, "objects");
    database_.reset(database);
    PAWL_TRY(committed_, listing_at(*root_));
    PAWL_TRY(rules_, Rules::open(found_, scratch_));
    lfs_ = lfs_storage(found_);
    files_ = files_of_base(base_);
    PAWL_OK(rules_->learn(root_.get(), files_));
    return check_base();
  }

  Status commit(const AppliedPhase& phase, std::vector<std::string>& layers) {
    if (!phase.layer_id.empty()) layers.insert(layers.begin(), phase.layer_id);
    // Computes the whole state so far: later layers may undo earlier ones.
    PAWL_TRY(auto changes, changes_of(workspaces_, base_, layers));
    if (const auto owned = changes_of_submodules(committed_, changes); !owned.empty())
      return fail(ErrorKind::kConflict,
                  printable(owned.front()) +
                      " belongs to a submodule, which a commit here can't change; `pawl "
                      "diff` prints the change");
    PAWL_TRY(const auto files, git_files(base_, std::move(changes)));
    if (commits_.of_work_tree) {
      GitFiles now = files_;
      for (const auto& [path, file] : files) now[path] = file;
      PAWL_OK(rules_->learn(root_.get(), now));
    }
    GitChanges whole;
    auto expected = committed_;
    for (const auto& [path, file] : files) {
      std::optional<GitEntry> entry;
      if (file) {
        PAWL_TRY(entry, entry_of(path, *file));
      }
      whole[found_.prefix + path] = entry;
      expected.erase(path);
      if (entry) expected[path] = *entry;
    }
    return write(commits_.message(phase), whole, expected);
  }

  const git_oid& last() const { return *git_commit_id(parent_.get()); }

 private:
  // The entries below the source in a commit's tree. Empty when the commit does not have the source.
  Result<GitListing> listing_at(const git_tree& root) const {
    if (found_.prefix.empty()) return listing_of(repository_, root);
    const std::string path = found_.prefix.substr(0, found_.prefix.size() - 1);
    git_tree_entry* entry = nullptr;
    if (git_tree_entry_bypath(&entry, &root, path.c_str()) != 0) return GitListing();
    const GitTreeEntry owner(entry);
    if (git_tree_entry_type(entry) != GIT_OBJECT_TREE) return GitListing();
    git_tree* tree = nullptr;
    if (git_tree_lookup(&tree, &repository_, git_tree_entry_id(entry)) != 0)
      return git_failure(ErrorKind::kCorrupt, path);
    const GitTree tree_owner(tree);
    return listing_of(repository_, *tree);
  }

  // Compares the base with the commit. If they differ, the commit would contain changes that no gate has
  // judged.
  Status check_base() {
    PAWL_TRY(auto found, uncommitted(files_, committed_, *rules_, commits_.source, scratch_));
    for (const auto& [path, entry] : committed_)
      if (entry.mode == GIT_FILEMODE_COMMIT && !base_.has_folder(path))
        found.push_back({.path = path,
                         .how = "a submodule without a folder; `git submodule update --init` brings it",
                         .is_sparse = false});
    std::erase_if(found, [&](const auto& one) { return is_left_out(commits_.left_out, one.path); });
    if (found.empty()) return {};
    return fail(ErrorKind::kConflict,
                fmt::format("{} was not committed as the run found it, so no gate has judged a commit: "
                            "{}; {}, or take the work with `pawl diff` and `git apply`",
                            printable(found.front().path), said_of(found), way_out(found)));
  }

  Result<GitEntry> entry_of(const std::string& path, const GitFile& file) const {
    GitEntry entry{.mode = mode_of(file)};
    std::optional<Cleaned> cleaned;
    if (commits_.of_work_tree) {
      const auto before = committed_.find(path);
      PAWL_TRY(cleaned,
               rules_->cleaned(path, file, before == committed_.end() ? nullptr : &before->second.id));
      if (!rules_->has_modes() && !file.is_link && before != committed_.end() &&
          before->second.mode != GIT_FILEMODE_LINK)
        entry.mode = before->second.mode;
    }
    if (!cleaned || !cleaned->file.empty()) {
      const GitFile committed = cleaned ? GitFile{.full = cleaned->file} : file;
      PAWL_TRY(entry.id, blob_id(committed));
      if (keeps_) PAWL_OK(keep(committed, entry.id));
      return entry;
    }
    if (keeps_ && cleaned->is_lfs_pointer && !cleaned->bytes.empty())
      PAWL_OK(keep_lfs(lfs_, file, cleaned->bytes));
    const auto& bytes = cleaned->bytes;
    const int made =
        keeps_ ? git_odb_write(&entry.id, database_.get(), bytes.data(), bytes.size(), GIT_OBJECT_BLOB)
               : git_odb_hash(&entry.id, bytes.data(), bytes.size(), GIT_OBJECT_BLOB);
    if (made != 0) return git_failure(ErrorKind::kUnavailable, path);
    return entry;
  }

  // Reads in pieces: a file can be larger than memory.
  Status keep(const GitFile& file, const git_oid& id) const {
    if (git_odb_exists(database_.get(), &id) != 0) return {};
    std::unique_ptr<ByteSource> source;
    if (file.is_link) {
      PAWL_TRY(auto target, target_of_link(file.full));
      source = std::make_unique<MemorySource>(std::move(target));
    } else {
      source = os::file_source(file.full, kTreeBytesMax);
    }
    struct stat status {};
    git_odb_stream* raw = nullptr;
    if (lstat(file.full.c_str(), &status) != 0) return fail_errno(errno, "changed file", file.full);
    const std::string objects = std::string("write ") + git_repository_path(&repository_) + "objects";
    git_error_clear();  // When a stream can't be written, libgit2 sets only errno.
    if (git_odb_open_wstream(&raw, database_.get(), static_cast<git_object_size_t>(status.st_size),
                             GIT_OBJECT_BLOB) != 0)
      return git_failure(ErrorKind::kUnavailable, objects);
    const GitOwner<git_odb_stream, git_odb_stream_free> stream(raw);
    for (;;) {
      PAWL_TRY(const auto piece, source->next());
      if (piece.empty()) break;
      if (git_odb_stream_write(raw, piece.data(), piece.size()) != 0)
        return git_failure(ErrorKind::kUnavailable, objects);
    }
    git_oid made;
    if (git_odb_stream_finalize_write(&made, raw) != 0) return git_failure(ErrorKind::kUnavailable, objects);
    if (git_oid_equal(&made, &id) == 0)
      return fail(ErrorKind::kCorrupt, file.full + " changes while it is read");
    return {};
  }

  Status write(const std::string& message, const GitChanges& changes, const GitListing& expected) {
    PAWL_TRY(const git_oid tree_id, edit_tree(repository_, root_.get(), changes));
    git_oid commit_id;
    git_tree* tree = nullptr;
    if (git_tree_lookup(&tree, &repository_, &tree_id) != 0)
      return git_failure(ErrorKind::kUnavailable, "commit");
    const GitTree owner(tree);
    // The new tree must be exactly the accepted one.
    PAWL_TRY(const auto there, listing_at(*tree));
    if (there != expected)
      return fail(ErrorKind::kCorrupt, "the tree that was made is not the accepted one: " +
                                           first_difference(there, expected) + "; no commit is made");
    git_signature* signature = nullptr;
    if (git_signature_new(&signature, kAuthor, kAuthorMail, commits_.when_seconds, 0) != 0)
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

  static std::string first_difference(const GitListing& a, const GitListing& b) {
    const auto [one, other] = std::ranges::mismatch(a, b);
    if (one == a.end()) return printable(other->first);
    return printable(other == b.end() ? one->first : std::min(one->first, other->first));
  }

  const Workspaces& workspaces_;
  git_repository& repository_;
  FoundRepository& found_;
  const Commits& commits_;
  const View base_;
  const std::string scratch_;
  const bool keeps_;
  GitCommit parent_;
  GitTree root_;
  GitOdb database_;
  GitListing committed_;
  GitFiles files_;  // The files of the base.
  std::optional<Rules> rules_;
  std::string lfs_;  // The folder where Git LFS stores contents.
};

// git has a second name for each object of such a repository, in a list that libgit2 does not write.
Status check_second_names(const FoundRepository& found) {
  const auto format = setting(settings_of(*found.repository), "extensions.compatobjectformat");
  if (format.empty()) return {};
  return fail(
      ErrorKind::kInvalid,
      fmt::format("{} names its objects by {}, too (extensions.compatObjectFormat), and git could not "
                  "use commits of Pawl there; take the work with `pawl diff` and `git apply`",
                  git_repository_path(found.repository.get()), printable(format)));
}

Result<git_oid> commit_all(const Workspaces& workspaces, FoundRepository& found, const Commits& commits,
                           bool keeps) {
  PAWL_OK(check_second_names(found));
  PAWL_TRY(const auto scratch, make_temporary(workspaces.folder()));
  Applier applier(workspaces, found, commits, scratch.path(), keeps);
  PAWL_OK(applier.start());
  std::vector<std::string> layers;
  for (const auto& phase : commits.phases) PAWL_OK(applier.commit(phase, layers));
  return applier.last();
}

// The existing branch that excludes `branch`; "" when there is none. Both "a" and "a/b/c" exclude "a/b".
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
    const git_error* why = git_error_last();
    const bool by_system = why != nullptr && why->klass == GIT_ERROR_OS;
    auto failed =
        git_failure(by_system ? ErrorKind::kUnavailable : ErrorKind::kInvalid, "create branch " + branch);
    if (const auto other = branch_in_the_way(repository, branch); !other.empty())
      return fail(ErrorKind::kConflict,
                  "branch " + branch + " can't be made beside the branch " + other +
                      " (git keeps branches as files in folders); rename that one with `git "
                      "branch -m`, then apply again");
    return failed;
  }
  git_reference_free(reference);
  return {};
}

// Root can write to a repository of another user. Its folders below `objects` would then be root's, and git
// of that user could not write to them.
Status check_repository_owner(git_repository& repository, const std::string& branch,
                              const std::string& state) {
  const std::string git = git_repository_commondir(&repository);
  struct stat status {};
  if (stat(git.c_str(), &status) != 0) return fail_errno(errno, "apply to", git);
  if (geteuid() != 0 || status.st_uid == 0) return {};
  return fail(
      ErrorKind::kDenied,
      fmt::format("{0} belongs to uid {1}, whose git could not write beside what root writes there, so "
                  "nothing is applied. Do it as its owner: `chown -R -h {1}:{2} '{3}' && sudo -u '#{1}' "
                  "pawl apply {4} --dir '{3}'`",
                  git, status.st_uid, status.st_gid, state, branch.substr(branch.rfind('/') + 1)));
}

}  // namespace

Result<std::string> Workspaces::apply(const std::string& branch, const Commits& commits) {
  PAWL_TRY(auto found, find_repository(commits.source));
  PAWL_OK(check_repository_owner(*found.repository, branch, folder_));
  PAWL_TRY(const git_oid last, commit_all(*this, found, commits, true));
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
  PAWL_TRY(const git_oid last, commit_all(*this, found, commits, false));
  return text_of(last);
}

}  // namespace pawl::workspace
