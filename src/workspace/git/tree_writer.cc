#include "workspace/git/tree_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/hash.h"
#include "base/json.h"
#include "os/file.h"
#include "os/parallel.h"

namespace pawl::workspace {
namespace {

using GitOdbObject = GitOwner<git_odb_object, git_odb_object_free>;

bool is_folder_there(git_filemode_t mode) {
  // A submodule is an empty folder, as in a clone without submodules.
  return mode == GIT_FILEMODE_TREE || mode == GIT_FILEMODE_COMMIT;
}

Result<GitTree> tree_of_entry(git_repository& repository, const git_tree_entry& entry) {
  if (git_tree_entry_filemode(&entry) != GIT_FILEMODE_TREE) return GitTree();
  git_tree* tree = nullptr;
  if (git_tree_lookup(&tree, &repository, git_tree_entry_id(&entry)) != 0)
    return git_failure(ErrorKind::kCorrupt, git_tree_entry_name(&entry));
  return GitTree(tree);
}

bool is_same_entry(const git_tree_entry& before, const git_tree_entry& now) {
  return git_tree_entry_filemode(&before) == git_tree_entry_filemode(&now) &&
         git_oid_equal(git_tree_entry_id(&before), git_tree_entry_id(&now)) != 0;
}

Status compare_folders(git_repository& repository, const git_tree* before, const git_tree* now,
                       const std::string& folder, const TreeVisit& visit) {
  const std::size_t count = now == nullptr ? 0 : git_tree_entrycount(now);
  for (std::size_t i = 0; i < count; ++i) {
    const git_tree_entry* entry = git_tree_entry_byindex(now, i);
    const char* name = git_tree_entry_name(entry);
    const git_tree_entry* old = before == nullptr ? nullptr : git_tree_entry_byname(before, name);
    if (old != nullptr && is_same_entry(*old, *entry)) continue;
    const std::string path = child(folder, name);
    const auto is_submodule = [](const git_tree_entry* each) {
      return each != nullptr && git_tree_entry_filemode(each) == GIT_FILEMODE_COMMIT;
    };
    // In a base both are the same folder; only the line of the manifest marks the submodule.
    if (is_submodule(old) != is_submodule(entry) && old != nullptr &&
        is_folder_there(git_tree_entry_filemode(old)) && is_folder_there(git_tree_entry_filemode(entry)))
      return fail(ErrorKind::kNotFound, path + " became a submodule, or was one");
    if (is_submodule(old) && is_submodule(entry)) {
      PAWL_OK(visit(path, entry));
      continue;
    }
    if (old == nullptr || !is_folder_there(git_tree_entry_filemode(old)) ||
        !is_folder_there(git_tree_entry_filemode(entry))) {
      PAWL_OK(visit(path, entry));
      continue;
    }
    PAWL_TRY(const auto tree_before, tree_of_entry(repository, *old));
    PAWL_TRY(const auto tree_now, tree_of_entry(repository, *entry));
    PAWL_OK(compare_folders(repository, tree_before.get(), tree_now.get(), path, visit));
  }
  const std::size_t count_before = before == nullptr ? 0 : git_tree_entrycount(before);
  for (std::size_t i = 0; i < count_before; ++i) {
    const char* name = git_tree_entry_name(git_tree_entry_byindex(before, i));
    if (now == nullptr || git_tree_entry_byname(now, name) == nullptr)
      PAWL_OK(visit(child(folder, name), nullptr));
  }
  return {};
}

Status write_new_file(const std::string& path, std::string_view bytes, unsigned mode) {
  const os::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  // The mode must not depend on the caller's umask.
  if (!fd || fchmod(fd.get(), mode) != 0) return fail_errno(errno, "make file", path);
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_errno(errno, "write", path);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

}  // namespace

Status compare_trees(git_repository& repository, const git_tree* before, const git_tree* now,
                     const TreeVisit& visit) {
  return compare_folders(repository, before, now, "", visit);
}

Result<std::int64_t> count_entries(git_repository& repository, const git_tree_entry& entry,
                                   std::int64_t most) {
  std::int64_t count = 1;
  PAWL_TRY(const auto tree, tree_of_entry(repository, entry));
  for (std::size_t i = 0; tree && i < git_tree_entrycount(tree.get()) && count <= most; ++i) {
    PAWL_TRY(const auto below,
             count_entries(repository, *git_tree_entry_byindex(tree.get(), i), most - count));
    count += below;
  }
  return count;
}

Status TreeWriter::make_folder(const std::string& path) {
  const std::string full = os::join(root_, path);
  if (mkdir(full.c_str(), 0755) != 0 && errno != EEXIST) return fail_errno(errno, "create folder", full);
  if (chmod(full.c_str(), 0755) != 0) return fail_errno(errno, "create folder", full);
  return {};
}

Status TreeWriter::make_parents(const std::string& path) {
  const std::string folder = parent_of(path);
  if (!made_.empty() && made_ == "/" + folder) return {};
  PAWL_OK(make_folder(""));
  for (auto end = folder.find('/'); !folder.empty(); end = folder.find('/', end + 1)) {
    PAWL_OK(make_folder(folder.substr(0, end)));
    if (end == std::string::npos) break;
  }
  made_ = "/" + folder;
  return {};
}

Status TreeWriter::add(const git_tree_entry& entry, const std::string& path) {
  PAWL_OK(so_far_.go_on());
  if (is_left_out(left_out_, path)) return {};
  if (!is_kept_name(git_tree_entry_name(&entry)) || path.size() > kPathBytesMax)
    return unusable("source: a path of the commit, ", path);
  PAWL_OK(make_parents(path));
  if (is_folder_there(git_tree_entry_filemode(&entry))) {
    PAWL_OK(make_folder(path));
    entries_.push_back({.path = path, .type = EntryType::kFolder, .mode = 0755});
    if (git_tree_entry_filemode(&entry) == GIT_FILEMODE_COMMIT)
      entries_.back().content = text_of(*git_tree_entry_id(&entry));
    PAWL_TRY(const auto tree, tree_of_entry(repository_, entry));
    for (std::size_t i = 0; tree && i < git_tree_entrycount(tree.get()); ++i) {
      const git_tree_entry* below = git_tree_entry_byindex(tree.get(), i);
      PAWL_OK(add(*below, child(path, git_tree_entry_name(below))));
    }
    return check_source_limits(static_cast<std::int64_t>(entries_.size()), 0, "source", "");
  }
  Entry made{.path = path};
  if (git_tree_entry_filemode(&entry) == GIT_FILEMODE_LINK)
    made.type = EntryType::kSymlink;
  else
    made.mode = git_tree_entry_filemode(&entry) == GIT_FILEMODE_BLOB_EXECUTABLE ? 0755 : 0644;
  noted_.push_back({.id = *git_tree_entry_id(&entry), .entry = entries_.size()});
  entries_.push_back(std::move(made));
  return {};
}

Status TreeWriter::remove(const std::string& path) {
  if (is_left_out(left_out_, path)) return {};
  PAWL_OK(make_parents(path));
  const std::string full = os::join(root_, path);
  if (mknod(full.c_str(), S_IFCHR, 0) != 0) return fail_errno(errno, "make whiteout", full);
  entries_.push_back({.path = path, .type = EntryType::kDeleted});
  return {};
}

Status TreeWriter::write_file(std::size_t index) {
  PAWL_OK(so_far_.go_on());
  const auto& noted = noted_[index];
  auto& entry = entries_[noted.entry];
  git_odb* database = nullptr;
  git_odb_object* object = nullptr;
  if (git_repository_odb(&database, &repository_) != 0) return git_failure(ErrorKind::kCorrupt, "source");
  const GitOdb database_owner(database);
  const int found = git_odb_read(&object, database, &noted.id);
  if (found == GIT_ENOTFOUND)
    return fail(ErrorKind::kInvalid, "source: the content of " + printable(entry.path) +
                                         " is not in the repository, as in a partial clone; `git fetch "
                                         "--refetch --no-filter` brings it");
  if (found != 0) return git_failure(ErrorKind::kCorrupt, printable(entry.path));
  const GitOdbObject owner(object);
  const std::string_view bytes(static_cast<const char*>(git_odb_object_data(object)),
                               git_odb_object_size(object));
  const std::string full = os::join(root_, entry.path);
  if (entry.type == EntryType::kSymlink) {
    PAWL_OK(check_target("source: a link of the commit, ", entry.path, bytes));
    entry.content = bytes;
    if (symlink(entry.content.c_str(), full.c_str()) != 0) return fail_errno(errno, "make link", full);
    return {};
  }
  entry.size = static_cast<std::int64_t>(bytes.size());
  PAWL_OK(check_source_limits(0, bytes_ += entry.size, "source", ""));
  so_far_.add(entry.size);
  entry.content = blake3_hex(bytes);
  return write_new_file(full, bytes, entry.mode);
}

Result<std::vector<Entry>> TreeWriter::write() {
  PAWL_OK(make_folder(""));
  PAWL_OK(check_source_limits(static_cast<std::int64_t>(entries_.size()), 0, "source", ""));
  PAWL_OK(os::for_each_in_parallel(noted_.size(), [this](std::size_t i) { return write_file(i); }));
  return std::move(entries_);
}

}  // namespace pawl::workspace
