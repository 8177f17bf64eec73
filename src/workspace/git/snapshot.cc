// Bases: a git tree or a folder, kept once by content.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/hash.h"
#include "base/json.h"
#include "os/file.h"
#include "workspace/git/git.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

std::unexpected<Error> unusable(const std::string& what, const std::string& path) {
  return fail(ErrorKind::kInvalid,
              what + printable(path) + " can't be used: names are UTF-8 without control " +
                  "characters and not .git in other letters, paths have at most " +
                  std::to_string(kPathBytesMax) + " bytes; rename it, or take a folder without it");
}

Status check_limits(const std::vector<Entry>& entries, std::int64_t bytes, const std::string& where) {
  if (static_cast<std::int64_t>(entries.size()) <= kEntriesMax && bytes <= kTreeBytesMax) return {};
  return fail(ErrorKind::kExhausted, where + " has more than " + std::to_string(kEntriesMax) +
                                         " entries or " + std::to_string(kTreeBytesMax >> 30) + " GiB");
}

// --- of a git tree

class GitSnapshot {
 public:
  GitSnapshot(git_repository& repository, std::string root)
      : repository_(repository), root_(std::move(root)) {}

  Status take(const git_tree& tree, const std::string& folder) {
    PAWL_OK(make_folder(folder));
    for (std::size_t i = 0; i < git_tree_entrycount(&tree); ++i) {
      const git_tree_entry* entry = git_tree_entry_byindex(&tree, i);
      const std::string path = child(folder, git_tree_entry_name(entry));
      if (!is_kept_name(git_tree_entry_name(entry)) || path.size() > kPathBytesMax)
        return unusable("source: a path of the commit, ", path);
      PAWL_OK(take_entry(*entry, path));
      PAWL_OK(check_limits(entries_, bytes_, "source"));
    }
    return {};
  }
  std::vector<Entry> entries() { return std::move(entries_); }

 private:
  // Whatever the caller's umask is.
  Status make_folder(const std::string& path) const {
    const std::string full = os::join(root_, path);
    if (mkdir(full.c_str(), 0755) == 0 && chmod(full.c_str(), 0755) == 0) return {};
    return fail_errno(errno, "create folder", full);
  }

  Status take_entry(const git_tree_entry& entry, const std::string& path) {
    switch (git_tree_entry_filemode(&entry)) {
      case GIT_FILEMODE_TREE: {
        git_tree* tree = nullptr;
        if (git_tree_lookup(&tree, &repository_, git_tree_entry_id(&entry)) != 0)
          return git_failure(ErrorKind::kCorrupt, path);
        const GitTree owner(tree);
        entries_.push_back({.path = path, .type = EntryType::kFolder, .mode = 0755});
        return take(*tree, path);
      }
      case GIT_FILEMODE_COMMIT:  // a submodule: an empty folder, as a clone without submodules has it
        entries_.push_back({.path = path, .type = EntryType::kFolder, .mode = 0755});
        return make_folder(path);
      default:
        return take_blob(entry, path);
    }
  }

  Status take_blob(const git_tree_entry& entry, const std::string& path) {
    git_blob* blob = nullptr;
    const int found = git_blob_lookup(&blob, &repository_, git_tree_entry_id(&entry));
    if (found == GIT_ENOTFOUND)
      return fail(ErrorKind::kInvalid, "source: the content of " + printable(path) +
                                           " is not in the repository, as in a partial clone; `git fetch "
                                           "--refetch --no-filter` brings it");
    if (found != 0) return git_failure(ErrorKind::kCorrupt, printable(path));
    const GitBlob owner(blob);
    const std::string_view bytes(static_cast<const char*>(git_blob_rawcontent(blob)),
                                 static_cast<std::size_t>(git_blob_rawsize(blob)));
    const std::string full = os::join(root_, path);
    if (git_tree_entry_filemode(&entry) == GIT_FILEMODE_LINK) {
      if (symlink(std::string(bytes).c_str(), full.c_str()) != 0) return fail_errno(errno, "make link", full);
      entries_.push_back({.path = path, .type = EntryType::kSymlink, .content = std::string(bytes)});
      return {};
    }
    const unsigned mode = git_tree_entry_filemode(&entry) == GIT_FILEMODE_BLOB_EXECUTABLE ? 0755 : 0644;
    PAWL_OK(os::write_atomically(full, bytes, mode));  // nobody sees a half-written tree
    bytes_ += static_cast<std::int64_t>(bytes.size());
    entries_.push_back({.path = path,
                        .type = EntryType::kFile,
                        .mode = mode,
                        .size = static_cast<std::int64_t>(bytes.size()),
                        .content = blake3_hex(bytes)});
    return {};
  }

  git_repository& repository_;
  const std::string root_;
  std::vector<Entry> entries_;
  std::int64_t bytes_ = 0;
};

Result<GitTree> tree_at(git_commit& commit, const std::string& prefix) {
  git_tree* root = nullptr;
  if (git_commit_tree(&root, &commit) != 0) return git_failure(ErrorKind::kCorrupt, "commit");
  GitTree tree(root);
  if (prefix.empty()) return tree;
  git_tree_entry* entry = nullptr;
  if (git_tree_entry_bypath(&entry, root, prefix.substr(0, prefix.size() - 1).c_str()) != 0)
    return fail(ErrorKind::kInvalid,
                "source.path: " + prefix + " is not in the commit that source.ref names");
  const GitTreeEntry owner(entry);
  git_tree* below = nullptr;
  if (git_tree_lookup(&below, git_tree_owner(root), git_tree_entry_id(entry)) != 0)
    return git_failure(ErrorKind::kInvalid, "source.path: " + prefix + " is no folder in that commit");
  return GitTree(below);
}

// --- of a folder

struct FolderScan {
  const std::vector<std::string>* exclude = nullptr;
  struct stat state {};  // of the state folder, which is nobody's source wherever it lies
  std::string copy_to;   // "": only looks
  std::vector<Entry> entries;
  std::int64_t bytes = 0;
};

Status scan(const std::string& full, const std::string& path, FolderScan& out) {
  struct stat status {};
  if (lstat(full.c_str(), &status) != 0) return fail_errno(errno, "read", full);
  // Sockets and devices are nobody's source.
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) return {};
  if (status.st_dev == out.state.st_dev && status.st_ino == out.state.st_ino) return {};
  PAWL_TRY(auto entry, entry_of(full, path));
  if (entry.type == EntryType::kFile) entry.mode |= 0400U;
  if (entry.type == EntryType::kFolder) entry.mode |= 0700U;
  out.bytes += entry.size;
  const std::string to = out.copy_to.empty() ? "" : os::join(out.copy_to, path);
  if (!to.empty()) {
    if (entry.type == EntryType::kFolder) PAWL_OK(os::make_folders(to));
    if (entry.type == EntryType::kFile) PAWL_OK(os::copy_file(full, to, entry.mode));
    if (entry.type == EntryType::kSymlink) {
      if (symlink(entry.content.c_str(), to.c_str()) != 0) return fail_errno(errno, "make link", to);
      PAWL_OK(os::copy_times(full, to));
    }
  }
  const bool is_folder = entry.type == EntryType::kFolder;
  const unsigned mode = entry.mode;
  if (!path.empty()) out.entries.push_back(std::move(entry));
  if (!is_folder) return {};
  PAWL_OK(check_limits(out.entries, out.bytes, full));
  PAWL_TRY(const auto names, os::list_folder(full));
  for (const auto& name : names) {
    const std::string below = os::join(full, name);
    if (name == ".git" || name == ".pawl" || std::ranges::find(*out.exclude, below) != out.exclude->end())
      continue;
    if (!is_kept_name(name) || child(path, name).size() > kPathBytesMax) return unusable("source: ", below);
    PAWL_OK(scan(below, child(path, name), out));
  }
  if (to.empty()) return {};
  if (chmod(to.c_str(), path.empty() ? 0755 : mode) != 0) return fail_errno(errno, "chmod", to);
  return os::copy_times(full, to);
}

bool is_file_or_link(const Entry& entry) {
  return entry.type == EntryType::kFile || entry.type == EntryType::kSymlink;
}

// What a patch is made of. Other permissions than to execute are as the umask of that day left them.
Status check_same(const std::string& tree, std::vector<Entry> kept, std::vector<Entry> there) {
  for (auto* entries : {&kept, &there}) {
    std::erase_if(*entries, [](const Entry& entry) { return !is_file_or_link(entry); });
    for (auto& entry : *entries) entry.mode &= 0100U;
    std::ranges::sort(*entries, {}, &Entry::path);
  }
  if (kept == there) return {};
  const auto [one, other] = std::ranges::mismatch(kept, there);
  return fail(ErrorKind::kCorrupt, os::join(tree, one == kept.end() ? other->path : one->path) +
                                       " was changed since it was kept; restore the folder from a backup");
}

}  // namespace

Result<Base> Workspaces::snapshot_git(const std::string& path, const std::string& ref) {
  PAWL_TRY(const auto found, find_repository(path));
  PAWL_TRY(const auto commit, find_commit(*found.repository, ref));
  PAWL_TRY(const auto tree, tree_at(*commit, found.prefix));
  Base base{.git_commit = text_of(*git_commit_id(commit.get()))};
  const std::string known = os::join(object_folder(folder_, "git"), text_of(*git_tree_id(tree.get())));
  if (auto id = os::read_file(known, kHashHexSize); id && is_hash(*id) && os::exists(base_tree(*id))) {
    base.base_id = *id;
    return base;
  }
  PAWL_TRY(const std::string temporary, make_temporary(folder_));
  GitSnapshot snapshot(*found.repository, os::join(temporary, "tree"));
  PAWL_OK(snapshot.take(*tree, ""));
  PAWL_TRY(base.base_id, keep_object(folder_, "bases", temporary, snapshot.entries()));
  PAWL_OK(os::write_atomically(known, base.base_id));
  return base;
}

Result<Base> Workspaces::snapshot_directory(const std::string& path,
                                            const std::vector<std::string>& exclude) {
  Base base;
  if (const auto found = find_repository(path))
    if (const auto commit = find_commit(*found->repository, "HEAD"))
      base.git_commit = text_of(*git_commit_id(commit->get()));
  FolderScan look{.exclude = &exclude};
  if (stat(folder_.c_str(), &look.state) != 0) return fail_errno(errno, "read", folder_);
  PAWL_OK(scan(path, "", look));
  std::ranges::sort(look.entries, {}, &Entry::path);
  base.base_id = blake3_hex(manifest_of(look.entries));
  if (os::exists(base_tree(base.base_id))) return base;
  PAWL_TRY(const std::string temporary, make_temporary(folder_));
  FolderScan copy{.exclude = &exclude, .state = look.state, .copy_to = os::join(temporary, "tree")};
  PAWL_OK(scan(path, "", copy));
  // Of what was copied: somebody may have written in between.
  PAWL_TRY(base.base_id, keep_object(folder_, "bases", temporary, std::move(copy.entries)));
  return base;
}

Result<std::string> Workspaces::content_id(const std::string& path) const {
  if (!os::is_folder(path)) return hash_of_file(path);
  static const std::vector<std::string> kNone;
  FolderScan look{.exclude = &kNone};
  PAWL_OK(scan(path, "", look));
  std::ranges::sort(look.entries, {}, &Entry::path);
  return blake3_hex(manifest_of(look.entries));
}

Status Workspaces::check_content(const std::string& base_id, const std::vector<std::string>& layers) const {
  static const std::vector<std::string> kNone;
  FolderScan base{.exclude = &kNone};
  PAWL_OK(scan(base_tree(base_id), "", base));
  PAWL_TRY(const auto kept, read_manifest(folder_, "bases", base_id));
  PAWL_OK(check_same(base_tree(base_id), kept, std::move(base.entries)));
  for (const auto& layer : layers) {
    PAWL_TRY(const auto entries, manifest(layer));
    std::vector<Entry> there;
    for (const auto& entry : entries) {
      if (!is_file_or_link(entry)) continue;
      PAWL_TRY(auto found, entry_of(os::join(layer_tree(layer), entry.path), entry.path));
      there.push_back(std::move(found));
    }
    PAWL_OK(check_same(layer_tree(layer), entries, std::move(there)));
  }
  return {};
}

}  // namespace pawl::workspace
