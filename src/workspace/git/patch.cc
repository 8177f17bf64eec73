#include "workspace/git/patch.h"

#include <git2/sys/repository.h>
#include <sys/stat.h>

#include "os/file.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::uint64_t kFileBytesMax =
    512ULL << 20;  // of one file in a patch: git itself stops at bigFileThreshold

// A repository in memory: objects go nowhere.
struct MemoryRepository {
  GitOdb odb;
  GitRepository repository;
};

Result<MemoryRepository> memory_repository() {
  git_start();
  MemoryRepository out;
  git_odb* odb = nullptr;
  git_repository* repository = nullptr;
  if (git_odb_new(&odb) != 0) return git_failure(ErrorKind::kUnavailable, "patch");
  out.odb.reset(odb);
  PAWL_OK(keep_new_objects_in_memory(*odb));
  if (git_repository_wrap_odb(&repository, odb) != 0) return git_failure(ErrorKind::kUnavailable, "patch");
  out.repository.reset(repository);
  return out;
}

Result<GitTree> tree_of(git_repository& repository, const GitFiles& files) {
  git_index* raw = nullptr;
  if (git_index_new(&raw) != 0) return git_failure(ErrorKind::kUnavailable, "patch");
  const GitIndex index(raw);
  for (const auto& [path, file] : files) {
    if (!file) continue;
    git_index_entry entry{};
    entry.path = path.c_str();
    entry.mode = mode_of(*file);
    PAWL_TRY(entry.id, write_blob(repository, *file));
    if (git_index_add(index.get(), &entry) != 0) return git_failure(ErrorKind::kInvalid, path);
  }
  git_oid id;
  git_tree* tree = nullptr;
  if (git_index_write_tree_to(&id, index.get(), &repository) != 0 ||
      git_tree_lookup(&tree, &repository, &id) != 0)
    return git_failure(ErrorKind::kUnavailable, "patch");
  return GitTree(tree);
}

Result<std::string> patch_between(git_repository& repository, git_tree& before, git_tree& after) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_SHOW_BINARY | GIT_DIFF_INCLUDE_TYPECHANGE;
  options.id_abbrev = GIT_OID_HEXSZ;  // `git apply` needs whole ids for binary files
  git_diff* raw = nullptr;
  if (git_diff_tree_to_tree(&raw, &repository, &before, &after, &options) != 0)
    return git_failure(ErrorKind::kUnavailable, "patch");
  const GitDiff diff(raw);
  git_diff_find_options find = GIT_DIFF_FIND_OPTIONS_INIT;
  find.flags = GIT_DIFF_FIND_RENAMES;
  git_buf buffer = GIT_BUF_INIT;
  if (git_diff_find_similar(raw, &find) != 0 || git_diff_to_buf(&buffer, raw, GIT_DIFF_FORMAT_PATCH) != 0)
    return git_failure(ErrorKind::kUnavailable, "patch");
  std::string text(buffer.ptr, buffer.size);
  git_buf_dispose(&buffer);
  return text;
}

}  // namespace

git_filemode_t mode_of(const GitFile& file) {
  if (file.is_link) return GIT_FILEMODE_LINK;
  return file.is_executable ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
}

Result<git_oid> write_blob(git_repository& repository, const GitFile& file) {
  std::string bytes;
  if (file.is_link) {
    PAWL_TRY(bytes, target_of_link(file.full));
  } else {
    PAWL_TRY(bytes, os::read_file(file.full, kFileBytesMax));
  }
  git_oid id;
  if (git_blob_create_from_buffer(&id, &repository, bytes.data(), bytes.size()) != 0)
    return git_failure(ErrorKind::kUnavailable, file.full);
  return id;
}

std::optional<GitFile> git_file_of(const View& base, const std::string& path) {
  const auto full = base.find(path);
  struct stat status {};
  if (!full || lstat(full->c_str(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) return std::nullopt;
  return GitFile{
      .full = *full, .is_link = S_ISLNK(status.st_mode), .is_executable = (status.st_mode & 0100U) != 0};
}

Result<GitFiles> git_files(const View& base, const Changes& changes) {
  GitFiles out;
  for (const auto& [path, change] : changes) {
    const auto& entry = change.entry;
    // What was at or below it in base is gone, unless a later entry brings it back.
    if (entry.type != EntryType::kFolder || git_file_of(base, path))
      base.each_file(path, [&](const std::string& below) { out[below] = std::nullopt; });
    if (entry.type == EntryType::kFile || entry.type == EntryType::kSymlink)
      out[path] = GitFile{.full = os::join(change.tree, path),
                          .is_link = entry.type == EntryType::kSymlink,
                          .is_executable = (entry.mode & 0100U) != 0};
  }
  return out;
}

Result<std::string> Workspaces::diff(const std::string& base_id, const std::vector<std::string>& before,
                                     const std::vector<std::string>& after) const {
  if (!has_base(base_id))
    return fail(ErrorKind::kNotFound, "the base " + base_id + " is gone (`pawl gc` takes it from old runs)");
  const View base(trees_of(base_id, {}));
  PAWL_TRY(const auto changes_before, changes_of(*this, base, before));
  PAWL_TRY(const auto changes_after, changes_of(*this, base, after));
  PAWL_TRY(auto old_files, git_files(base, changes_before));
  PAWL_TRY(auto new_files, git_files(base, changes_after));
  // Both sides name every path that either changes; the other one shows base.
  for (const auto& [path, file] : new_files)
    if (!old_files.contains(path)) old_files[path] = git_file_of(base, path);
  for (const auto& [path, file] : old_files)
    if (!new_files.contains(path)) new_files[path] = git_file_of(base, path);
  if (new_files.empty()) return std::string();
  PAWL_TRY(const auto memory, memory_repository());
  PAWL_TRY(const auto old_tree, tree_of(*memory.repository, old_files));
  PAWL_TRY(const auto new_tree, tree_of(*memory.repository, new_files));
  return patch_between(*memory.repository, *old_tree, *new_tree);
}

}  // namespace pawl::workspace
