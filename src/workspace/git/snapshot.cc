// Bases of folders, kept once by content.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/hash.h"
#include "base/json.h"
#include "os/file.h"
#include "workspace/bases.h"
#include "workspace/git/git.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

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
  PAWL_OK(check_limits(static_cast<std::int64_t>(out.entries.size()), out.bytes, full));
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

// Files and links.
Result<std::vector<Entry>> entries_shown(const View& view) {
  std::vector<Entry> out;
  Status status;
  view.each_file("", [&](const std::string& path) {
    auto entry = entry_of(*view.find(path), path);
    if (entry)
      out.push_back(*std::move(entry));
    else if (status)
      status = std::unexpected(std::move(entry).error());
  });
  PAWL_OK(status);
  return out;
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
  PAWL_TRY(const auto base, BaseManifest::open(*this, base_id));
  PAWL_TRY(const std::string text, base.text());
  PAWL_TRY(auto kept, parse_manifest(text));
  PAWL_TRY(auto shown, entries_shown(View(trees_of(base_id, {}))));
  PAWL_OK(check_same(base_tree(base_id), std::move(kept), std::move(shown)));
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
