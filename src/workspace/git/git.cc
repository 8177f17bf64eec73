#include "workspace/git/git.h"

#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>

#include "base/json.h"
#include "os/file.h"

namespace pawl::workspace {

void git_start() {
  static const bool started = [] {
    git_libgit2_init();
    // The objects of a commit must be on disk before its branch is.
    git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
    // Ignore configuration outside of the repository. It could name filters, and may be unreadable (another
    // HOME).
    for (const auto level : {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG})
      git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
    // A home must exist: without one libgit2 ignores a whole file that includes something from it. This
    // folder has only entries with numbers as names; settings_of() reads the real home.
    git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_GLOBAL, "/proc/self/task");
    // The owner of the repository does not matter, because no code of the repository runs. git's
    // safe.directory is about hooks.
    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    // Accept extensions (git-config(1), "extensions.*") that do not change the data read here. check_format()
    // checks objectformat and refstorage.
    const char* ignored[] = {"compatobjectformat", "objectformat",      "partialclone",  "preciousobjects",
                             "refstorage",         "relativeworktrees", "worktreeconfig"};
    git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, ignored, std::size(ignored));
    return true;
  }();
  static_cast<void>(started);
}

namespace {

// libgit2 does not store errno. Its message about a failed system call ends with the text of strerror(3).
int errno_in(std::string_view message) {
  char buffer[128];
  for (const int number : {EACCES, EPERM, EROFS, ENOSPC, EDQUOT, EMFILE, ENOMEM})
    if (message.ends_with(strerror_r(number, buffer, sizeof buffer))) return number;
  return 0;
}

std::string_view way_out_of(int number) {
  if (number == ENOSPC || number == EDQUOT) return "; make room there, then do that again";
  if (number == EACCES || number == EPERM) return "; give this user the right to it, then do that again";
  return "";
}

}  // namespace

std::unexpected<Error> git_failure(ErrorKind kind, const std::string& what) {
  const int last = errno;
  const git_error* error = git_error_last();
  if (error != nullptr && error->klass == GIT_ERROR_NOMEMORY) throw std::bad_alloc();
  const std::string_view said = error != nullptr && error->message != nullptr ? error->message : "";
  if (said.starts_with("object not found"))
    return fail(ErrorKind::kInvalid, what + ": " + std::string(said) +
                                         "; it is not in the repository, as in a partial clone: `git fetch "
                                         "--refetch --no-filter` brings what is missing");
  const std::string message = what + (said.empty() ? "" : ": ") + std::string(said);
  const int number = said.empty() ? last : error->klass == GIT_ERROR_OS ? errno_in(said) : 0;
  if (kind != ErrorKind::kUnavailable || number == 0) return fail(kind, message);
  auto failed = fail_errno(number, what);
  if (!said.empty()) failed.error().message = message;
  failed.error().message += way_out_of(number);
  return failed;
}

Status keep_new_objects_in_memory(git_odb& database) {
  constexpr int kBeforeAnyOther = 1000;  // libgit2 itself gives files 1 and packs 2.
  git_odb_backend* backend = nullptr;
  if (git_mempack_new(&backend) != 0 || git_odb_add_backend(&database, backend, kBeforeAnyOther) != 0)
    return git_failure(ErrorKind::kUnavailable, "objects in memory");
  return {};
}

namespace {

std::string string_of(git_config& all, const char* name, const std::string& absent) {
  git_buf value{};
  std::string out = git_config_get_string_buf(&value, &all, name) == 0 ? value.ptr : absent;
  git_buf_dispose(&value);
  return out;
}

// libgit2 reads ids as SHA-1 and references as files, whatever the repository says.
Status check_format(git_repository& repository, const std::string& path) {
  git_config* all = nullptr;
  if (git_repository_config_snapshot(&all, &repository) != 0) return git_failure(ErrorKind::kInvalid, path);
  const GitConfig owner(all);
  const auto objects = string_of(*all, "extensions.objectformat", "sha1");
  const auto references = string_of(*all, "extensions.refstorage", "files");
  if (objects != "sha1")
    return fail(ErrorKind::kInvalid, path + ": its git repository has objects of the format " +
                                         printable(objects) + ", and only sha1 can be read");
  if (references == "files") return {};
  return fail(ErrorKind::kInvalid, path + ": its git repository has references of the format " +
                                       printable(references) + ", and only files can be read");
}

// libgit2 waits for ever where one of these files is a FIFO.
Status check_files(const std::string& folder) {
  for (const auto* name :
       {"commondir", "config", "config.worktree", "index", "packed-refs", "shallow", "info/exclude",
        "info/attributes", "info/grafts", "objects/info/alternates", "objects/info/commit-graph"}) {
    const std::string file = os::join(folder, name);
    if (os::exists(file) && !os::is_regular_file(file) && !os::is_folder(file))
      return fail(ErrorKind::kInvalid, file + " is no regular file; git can't read its repository");
  }
  return {};
}

// As above, for the folder `.git` that git finds at `path` or above it.
Status check_files_for(const std::string& path) {
  git_buf found{};
  const int discovered = git_repository_discover(&found, path.c_str(), 0, nullptr);
  const std::string folder = discovered == 0 ? found.ptr : "";
  git_buf_dispose(&found);
  return folder.empty() ? Status() : check_files(folder);
}

bool is_absent(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

// False: neither `path` nor a folder above it is a repository. libgit2 is then not started, which would read
// all certificates of the machine.
bool may_have_repository(const std::string& path) {
  const auto absolute = os::absolute_path(path);
  if (!absolute) return true;
  for (std::string folder = *absolute;; folder = folder.substr(0, folder.rfind('/'))) {
    // HEAD: a bare repository.
    if (!is_absent(folder + "/.git") || !is_absent(folder + "/HEAD")) return true;
    if (folder.find('/') == std::string::npos) return false;
  }
}

std::unexpected<Error> no_repository(const std::string& path) {
  return fail(ErrorKind::kNotFound, path + " is in no git repository");
}

std::unexpected<Error> advise(Error error) {
  error.message += "; leave out source.ref to take the folder as it is";
  if (error.kind == ErrorKind::kNotFound) error.message += ", or run `git init` and commit";
  error.kind = ErrorKind::kInvalid;
  return std::unexpected(std::move(error));
}

}  // namespace

Result<GitRepository> open_repository(const std::string& path) {
  if (!may_have_repository(path)) return no_repository(path);
  git_start();
  PAWL_OK(check_files_for(path));
  git_repository* raw = nullptr;
  const int opened = git_repository_open_ext(&raw, path.c_str(), 0, nullptr);
  if (opened == GIT_ENOTFOUND) return no_repository(path);
  if (opened != 0) return git_failure(ErrorKind::kInvalid, path + ": its git repository can't be read");
  GitRepository repository(raw);
  PAWL_OK(check_files(git_repository_commondir(raw)));
  PAWL_OK(check_format(*raw, path));
  return repository;
}

Result<FoundRepository> find_repository(const std::string& path) {
  auto opened = open_repository(path);
  if (!opened) return advise(std::move(opened).error());
  FoundRepository found{.repository = *std::move(opened)};
  const char* workdir = git_repository_workdir(found.repository.get());
  if (workdir == nullptr) return found;  // A bare repository: take the whole tree.
  PAWL_TRY(const std::string root, os::absolute_path(workdir));
  PAWL_TRY(const std::string inside, os::absolute_path(path));
  if (inside.size() > root.size()) found.prefix = inside.substr(root.size() + 1) + "/";
  return found;
}

Result<GitCommit> find_commit(git_repository& repository, const std::string& ref) {
  git_object* object = nullptr;
  if (git_revparse_single(&object, &repository, ref.c_str()) != 0)
    return git_failure(ErrorKind::kInvalid, "source.ref: there is no \"" + ref + "\" in " +
                                                git_repository_path(&repository) +
                                                " (a branch, tag or commit; `git branch -a` lists branches)");
  const GitObject found(object);
  git_object* commit = nullptr;
  if (git_object_peel(&commit, object, GIT_OBJECT_COMMIT) != 0)
    return git_failure(ErrorKind::kInvalid, "source.ref: \"" + ref + "\" is no commit");
  return GitCommit(reinterpret_cast<git_commit*>(commit));
}

Result<GitCommit> head_commit(git_repository& repository) {
  git_oid head;
  git_commit* raw = nullptr;
  if (git_reference_name_to_id(&head, &repository, "HEAD") == 0 &&
      git_commit_lookup(&raw, &repository, &head) == 0)
    return GitCommit(raw);
  return git_failure(ErrorKind::kInvalid, "HEAD");
}

GitIndex index_of(git_repository& repository) {
  git_index* raw = nullptr;
  return GitIndex(git_repository_index(&raw, &repository) == 0 ? raw : nullptr);
}

Status check_index(git_repository& repository, const std::string& path) {
  if (index_of(repository)) return {};
  auto failed = git_failure(ErrorKind::kInvalid, path + ": the index of its git repository can't be read");
  std::string& text = failed.error().message;
  // See gitformat-index(5): `link` is a split index. `index.skipHash` leaves zeros for the checksum.
  if (text.find("'link'") != std::string::npos)
    text += "; `git update-index --no-split-index` makes it a whole one (core.splitIndex, too)";
  else if (text.find("checksum") != std::string::npos)
    text += "; `git -c index.skipHash=false update-index --force-write-index` gives it a checksum";
  else
    text += "; `git sparse-checkout reapply --no-sparse-index` makes a sparse one whole";
  text += ", and source.ref takes what is committed without it";
  return failed;
}

Unseen unseen_by_index(git_index& index, const std::string& path) {
  const git_index_entry* entry = git_index_get_bypath(&index, path.c_str(), 0);
  if (entry == nullptr) return Unseen::kNo;
  if ((entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0) return Unseen::kSkipped;
  return (entry->flags & GIT_INDEX_ENTRY_VALID) != 0 ? Unseen::kAssumedUnchanged : Unseen::kNo;
}

bool is_tracked(git_index& index, const std::string& path) {
  return git_index_find(nullptr, &index, path.c_str()) == 0 ||
         git_index_find_prefix(nullptr, &index, (path + "/").c_str()) == 0;
}

std::string text_of(const git_oid& id) {
  std::string text(GIT_OID_HEXSZ, '0');
  git_oid_fmt(text.data(), &id);
  return text;
}

}  // namespace pawl::workspace
