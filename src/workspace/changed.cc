// Finds the files that a step changed although the plan holds them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/glob.h"
#include "os/held_tree.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

// The path of a pattern up to its first component with a wildcard.
std::string_view fixed_part(std::string_view pattern) {
  const auto wild = pattern.find_first_of("*?");
  if (wild == std::string_view::npos) return pattern;
  const auto slash = pattern.substr(0, wild).rfind('/');
  return slash == std::string_view::npos ? "" : pattern.substr(0, slash);
}

bool lies_at_or_below(std::string_view path, std::string_view folder) {
  return folder.empty() || path == folder ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

class ChangedFiles {
 public:
  ChangedFiles(os::HeldTree tree, std::vector<std::string> lower, const std::vector<std::string>& patterns)
      : tree_(std::move(tree)), view_(std::move(lower)), patterns_(patterns) {}

  // `hides`: the folder hides the lower trees.
  Status folder(const std::string& path, bool hides) {
    PAWL_TRY(const auto names, tree_.list(path));
    for (const auto& name : names) {
      if (is_full()) return {};
      PAWL_OK(visit(child(path, name), hides));
    }
    if (!hides) return {};
    for (const auto& name : view_.names(path))
      if (!std::ranges::binary_search(names, name)) add_lower(child(path, name));
    return {};
  }

  std::vector<std::string> paths;

 private:
  bool is_full() const { return paths.size() >= kRefusedNamedMax; }
  bool is_held(const std::string& path) const { return any_covers(patterns_, path); }
  bool may_hold(const std::string& folder) const {
    return std::ranges::any_of(patterns_, [&](const auto& pattern) {
      const auto fixed = fixed_part(pattern);
      return lies_at_or_below(folder, fixed) || lies_at_or_below(fixed, folder);
    });
  }
  void add(const std::string& path) {
    if (!is_full() && is_held(path)) paths.push_back(path);
  }
  // Adds the files of the lower trees at or below `path`.
  void add_lower(const std::string& path) {
    if (may_hold(path)) view_.each_file(path, [&](const std::string& file) { add(file); });
  }

  Status visit(const std::string& path, bool hides) {
    if (!may_hold(path)) return {};
    PAWL_TRY(auto here, tree_.find(path));
    struct stat status {};
    if (fstatat(here.folder.get(), here.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(errno, "look at", path);
    const auto below = view_.find(path);
    struct stat before {};
    if (!below || lstat(below->c_str(), &before) != 0) {
      if (!S_ISDIR(status.st_mode)) return {};  // new
    } else if (!S_ISDIR(before.st_mode) || !S_ISDIR(status.st_mode)) {
      return compare(path, here, status, before, *below);
    }
    // The step may have taken the rights that its owner needs.
    if ((status.st_mode & 0700U) != 0700U &&
        fchmodat(here.folder.get(), here.name.c_str(), (status.st_mode & 07777U) | 0700U,
                 AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(errno, "chmod", path);
    const bool is_opaque = attributes_of(here.path()).is_opaque;
    here.folder.reset();  // a tree may be deeper than the limit of descriptors
    return folder(path, hides || is_opaque);
  }

  Status compare(const std::string& path, const os::HeldTree::Place& here, const struct stat& status,
                 const struct stat& before, const std::string& below) {
    const bool may_be_same =
        (S_ISREG(status.st_mode) && S_ISREG(before.st_mode) && status.st_size == before.st_size) ||
        (S_ISLNK(status.st_mode) && S_ISLNK(before.st_mode));
    if (!may_be_same) {
      add_lower(path);
      return {};
    }
    if (!is_held(path)) return {};
    if (S_ISREG(status.st_mode) && access(here.path().c_str(), R_OK) != 0) {
      add(path);
      return {};
    }
    PAWL_TRY(const auto now, entry_of(here.path(), path));
    PAWL_TRY(const auto then, entry_of(below, path));
    if (now.type != then.type || now.content != then.content) add(path);
    return {};
  }

  const os::HeldTree tree_;
  const View view_;
  const std::vector<std::string>& patterns_;
};

}  // namespace

Result<std::vector<std::string>> changed_files(const std::string& upper,
                                               const std::vector<std::string>& lower,
                                               const std::vector<std::string>& patterns) {
  PAWL_TRY(auto tree, open_upper(upper));
  ChangedFiles changed(std::move(tree), lower, patterns);
  PAWL_OK(changed.folder("", false));
  std::ranges::sort(changed.paths);
  return std::move(changed.paths);
}

}  // namespace pawl::workspace
