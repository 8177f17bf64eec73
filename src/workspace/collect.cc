// What a sandbox left becomes a layer.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/glob.h"
#include "base/json.h"
#include "os/file.h"
#include "workspace/changes.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::size_t kRefusedNamedMax = 100;
constexpr std::size_t kAttributesBytesMax = 64 << 10;

// user.overlay.* is overlayfs's own bookkeeping of one mount, the rest is the command's; neither is content.
bool take_attributes(const std::string& path) {  // whether the folder was opaque
  std::string names(kAttributesBytesMax, '\0');
  const ssize_t size = llistxattr(path.c_str(), names.data(), names.size());
  bool opaque = false;
  for (ssize_t at = 0; at < size;) {
    const std::string name = names.c_str() + at;
    at += static_cast<ssize_t>(name.size()) + 1;
    opaque = opaque || name == "user.overlay.opaque";
    if (name.starts_with("user.")) lremovexattr(path.c_str(), name.c_str());
  }
  return opaque;
}

class Collector {
 public:
  Collector(std::string root, std::vector<std::string> lower, bool copied, const Caps& caps)
      : root_(std::move(root)), view_(std::move(lower)), copied_(copied), caps_(caps) {}

  Status run() {
    take_attributes(root_);
    PAWL_OK(folder("", copied_));
    return {};
  }
  std::vector<Entry> entries() { return std::move(entries_); }
  std::vector<std::string> refused() { return std::move(refused_); }

 private:
  std::string full(const std::string& path) const { return os::join(root_, path); }

  Status refuse(const std::string& path) {
    if (refused_.size() < kRefusedNamedMax) refused_.push_back(path);
    return os::remove_tree(full(path));
  }

  Status add(Entry entry) {
    if (static_cast<std::int64_t>(entries_.size()) >= caps_.entries) return refuse(entry.path);
    bytes_ += entry.size;
    entries_.push_back(std::move(entry));
    return {};
  }

  // `hides`: what the lower trees have in it and this folder does not is gone.
  Status folder(const std::string& path, bool hides) {
    PAWL_TRY(const auto names, os::list_folder(path.empty() ? root_ : full(path)));
    for (const auto& name : names) {
      const std::string below = child(path, name);
      if (!is_kept_name(name) || below.size() > kPathBytesMax)
        PAWL_OK(refuse(below));
      else
        PAWL_OK(visit(below));
    }
    if (!hides) return {};
    for (const auto& name : view_.names(path)) {
      if (std::ranges::binary_search(names, name)) continue;
      const std::string below = child(path, name);
      if (mknod(full(below).c_str(), S_IFCHR, 0) != 0) return fail_errno(errno, "make whiteout", full(below));
      PAWL_OK(add({.path = below, .type = EntryType::kDeleted}));
    }
    return {};
  }

  Status visit(const std::string& path) {
    struct stat status {};
    if (lstat(full(path).c_str(), &status) != 0) return fail_errno(errno, "look at", full(path));
    const auto below = view_.find(path);
    if (is_whiteout(status)) {
      if (below) return add({.path = path, .type = EntryType::kDeleted});
      return os::remove_tree(full(path));
    }
    if (S_ISDIR(status.st_mode)) return visit_folder(path, status, below);
    if (S_ISLNK(status.st_mode)) return visit_link(path, below);
    if (S_ISREG(status.st_mode)) return visit_file(path, status, below);
    return refuse(path);
  }

  Status visit_folder(const std::string& path, const struct stat& status,
                      const std::optional<std::string>& below) {
    // Its owner must be able to read and remove it; more bits than permissions it never needs.
    const mode_t mode = (status.st_mode & 0777U) | 0700U;
    if (chmod(full(path).c_str(), mode) != 0) return fail_errno(errno, "chmod", full(path));
    struct stat before {};
    const bool was_folder = below && lstat(below->c_str(), &before) == 0 && S_ISDIR(before.st_mode);
    const bool hides = (take_attributes(full(path)) || copied_) && was_folder;
    if (!was_folder || (before.st_mode & 0777U) != mode)
      PAWL_OK(add({.path = path, .type = EntryType::kFolder, .mode = mode}));
    const auto entries_before = entries_.size();
    PAWL_OK(folder(path, hides));
    const bool changed = !was_folder || (before.st_mode & 0777U) != mode || entries_.size() != entries_before;
    return changed ? Status() : os::remove_tree(full(path));
  }

  Status visit_link(const std::string& path, const std::optional<std::string>& below) {
    PAWL_TRY(auto entry, entry_of(full(path), path));
    if (is_same(entry, below)) return os::remove_tree(full(path));
    if (!link_stays_inside(path, entry.content) || valid_utf8(entry.content) != entry.content)
      return refuse(path);
    return add(std::move(entry));
  }

  Status visit_file(const std::string& path, const struct stat& status,
                    const std::optional<std::string>& below) {
    if (status.st_size > caps_.bytes - bytes_) return refuse(path);  // before anybody reads its holes
    const mode_t mode = (status.st_mode & 0777U) | 0400U;            // no setuid, setgid or sticky
    if ((status.st_mode & 07777U) != mode && chmod(full(path).c_str(), mode) != 0)
      return fail_errno(errno, "chmod", full(path));
    take_attributes(full(path));
    PAWL_TRY(auto entry, entry_of(full(path), path));
    if (is_same(entry, below)) return os::remove_tree(full(path));
    return add(std::move(entry));
  }

  static bool is_same(const Entry& entry, const std::optional<std::string>& below) {
    struct stat status {};
    if (!below || lstat(below->c_str(), &status) != 0) return false;
    if (entry.type == EntryType::kFile && (!S_ISREG(status.st_mode) || status.st_size != entry.size))
      return false;
    const auto before = entry_of(*below, entry.path);
    return before && *before == entry;
  }

  const std::string root_;
  const View view_;
  const bool copied_;
  const Caps caps_;
  std::vector<Entry> entries_;
  std::vector<std::string> refused_;
  std::int64_t bytes_ = 0;
};

// Files below `folder` that match; never through links.
Status find_matching(const std::string& root, const std::string& folder,
                     const std::vector<std::string>& patterns, Caps& left, std::vector<Entry>& out,
                     std::vector<std::string>& refused) {
  PAWL_TRY(const auto names, os::list_folder(folder.empty() ? root : os::join(root, folder)));
  for (const auto& name : names) {
    const std::string path = child(folder, name);
    struct stat status {};
    if (!is_kept_name(name) || path.size() > kPathBytesMax) continue;
    if (lstat(os::join(root, path).c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode) && access(os::join(root, path).c_str(), R_OK | X_OK) == 0)
      PAWL_OK(find_matching(root, path, patterns, left, out, refused));
    const bool wanted = S_ISREG(status.st_mode) && std::ranges::any_of(patterns, [&](const auto& pattern) {
                          return glob_matches(pattern, path);
                        });
    if (!wanted || access(os::join(root, path).c_str(), R_OK) != 0) continue;
    if (left.entries == 0 || status.st_size > left.bytes) {
      if (refused.size() < kRefusedNamedMax) refused.push_back(path);
      continue;
    }
    left.entries -= 1;
    left.bytes -= status.st_size;
    PAWL_TRY(auto entry, entry_of(os::join(root, path), path));
    out.push_back(std::move(entry));
  }
  return {};
}

}  // namespace

Result<Collected> Workspaces::collect(const std::string& upper, const std::vector<std::string>& lower,
                                      bool copied, const Caps& caps) {
  Collector collector(upper, lower, copied, caps);
  PAWL_OK(collector.run());
  Collected out{.refused = collector.refused()};
  auto entries = collector.entries();
  if (entries.empty()) {
    PAWL_OK(os::remove_tree(upper));
    return out;
  }
  if (chmod(upper.c_str(), 0755) != 0) return fail_errno(errno, "chmod", upper);
  PAWL_TRY(const std::string temporary, make_temporary(folder_));
  if (rename(upper.c_str(), os::join(temporary, "tree").c_str()) != 0)
    return fail_errno(errno, "rename", upper);
  PAWL_TRY(out.layer_id, keep_object(folder_, "layers", temporary, std::move(entries)));
  return out;
}

Result<Collected> Workspaces::collect_matching(const std::string& upper,
                                               const std::vector<std::string>& patterns, const Caps& caps) {
  std::vector<Entry> entries;
  Collected out;
  Caps left = caps;
  PAWL_OK(find_matching(upper, "", patterns, left, entries, out.refused));
  if (entries.empty()) return out;
  PAWL_TRY(const std::string temporary, make_temporary(folder_));
  for (const auto& entry : entries) {
    const std::string to = os::join(os::join(temporary, "tree"), entry.path);
    PAWL_OK(os::make_folders(os::folder_of(to)));
    PAWL_OK(os::copy_file(os::join(upper, entry.path), to, 0644));
  }
  PAWL_TRY(out.layer_id, keep_object(folder_, "layers", temporary, std::move(entries)));
  return out;
}

}  // namespace pawl::workspace
