// Finds where a folder lies in a work tree, as git does: gitrepository-layout(5) and the discovery of git(1).
// git_repository_open() is unsuitable. It refuses repositories that git reads: with SHA-256, with reftables,
// or with extensions newer than libgit2.
#include "workspace/git/work_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "os/file.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::uint64_t kPathFileBytesMax = 1 << 16;  // A path has at most 4096 bytes.

// The path in a file of one line, such as "gitdir: ../x", resolved from `folder`; "" when there is none.
std::string path_in(const std::string& file, std::string_view start, const std::string& folder) {
  const auto text = os::read_file(file, kPathFileBytesMax);
  if (!text || !text->starts_with(start)) return {};
  const std::string line = text->substr(start.size());
  const std::string path = line.substr(0, line.find_last_not_of("\r\n") + 1);
  if (path.empty()) return {};
  return os::absolute_path(path.starts_with('/') ? path : os::join(folder, path)).value_or("");
}

std::string with_slash(const std::string& path) { return path.ends_with('/') ? path : path + "/"; }

std::optional<GitFolder> git_folder_at(const std::string& path) {
  GitFolder out{.own = path, .common = path};
  if (const auto file = os::join(path, "commondir"); os::exists(file)) out.common = path_in(file, "", path);
  if (out.common.empty() || !os::exists(os::join(path, "HEAD"))) return std::nullopt;
  for (const auto* needed : {"objects", "refs"})
    if (!os::is_folder(os::join(out.common, needed))) return std::nullopt;
  return out;
}

struct Nearest {
  std::string root;
  GitFolder git;
};

// The nearest work tree at or above `inside`, an absolute path. git stops at the border of a file system.
std::optional<Nearest> work_tree_above(const std::string& inside) {
  struct stat first {};
  if (stat(inside.c_str(), &first) != 0) return std::nullopt;
  for (std::string folder = inside;; folder = folder.substr(0, std::max<std::size_t>(folder.rfind('/'), 1))) {
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0 || status.st_dev != first.st_dev) return std::nullopt;
    const std::string dot_git = os::join(folder, ".git");
    const auto git =
        git_folder_at(os::is_regular_file(dot_git) ? path_in(dot_git, "gitdir: ", folder) : dot_git);
    if (git) return Nearest{.root = folder, .git = *git};
    // A path inside a bare repository or a .git folder is in no work tree.
    if (git_folder_at(folder) || folder == "/") return std::nullopt;
  }
}

// The repository's own configuration, in any format of repository. git ignores includes there for the place
// of a work tree.
Settings own_settings_of(const GitFolder& git) {
  Settings out = own_settings(os::join(git.common, "config"));
  if (is_true(out, "extensions.worktreeconfig"))
    for (auto& one : own_settings(os::join(git.own, "config.worktree"))) out.push_back(std::move(one));
  return out;
}

}  // namespace

std::optional<WorkTree> work_tree_of(const std::string& folder) {
  const auto inside = os::absolute_path(folder);
  auto found = inside ? work_tree_above(*inside) : std::nullopt;
  if (!found) return std::nullopt;
  WorkTree out{.git = found->git, .settings = own_settings_of(found->git), .root = found->root, .prefix = ""};
  // In a linked work tree these settings describe the main one.
  if (out.git.own == out.git.common) {
    const std::string elsewhere = setting(out.settings, "core.worktree");
    if (elsewhere.empty() && is_true(out.settings, "core.bare")) {
      out.root.clear();
      return out;
    }
    if (!elsewhere.empty()) {
      const auto path = elsewhere.starts_with('/') ? elsewhere : os::join(out.git.own, elsewhere);
      out.root = os::absolute_path(path).value_or("");
    }
  }
  const std::string whole = with_slash(*inside);
  out.root = with_slash(out.root);
  if (whole.starts_with(out.root))
    out.prefix = whole.substr(out.root.size());
  else
    out.root.clear();
  return out;
}

PatchTarget Workspaces::patch_target(const std::string& source) {
  PatchTarget out;
  const auto tree = work_tree_of(source);
  if (!tree) return out;
  out.sha256_ids = setting(tree->settings, "extensions.objectformat") == "sha256";
  out.folder = tree->prefix;
  return out;
}

}  // namespace pawl::workspace
