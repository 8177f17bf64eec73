#include "workspace/changed_files.h"

#include <sys/stat.h>

#include <cerrno>

#include "os/file.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

std::optional<GitFile> git_file_of(const View& base, const std::string& path) {
  const auto full = base.find(path);
  struct stat status {};
  if (!full || lstat(full->c_str(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) return std::nullopt;
  return GitFile{
      .full = *full, .is_link = S_ISLNK(status.st_mode), .is_executable = (status.st_mode & 0100U) != 0};
}

Result<GitFiles> git_files(const View& base, Changes changes) {
  GitFiles out;
  for (auto at = changes.begin(); at != changes.end(); at = changes.erase(at)) {
    const auto& [path, change] = *at;
    const auto& entry = change.entry;
    // Everything at or below the path in the base is gone, unless a later entry brings it back.
    if (entry.type != EntryType::kFolder || git_file_of(base, path))
      base.each_file(path, [&](const std::string& below) { out[below] = std::nullopt; });
    if (entry.type == EntryType::kFile || entry.type == EntryType::kSymlink)
      out[path] = GitFile{.full = os::join(change.tree, path),
                          .is_link = entry.type == EntryType::kSymlink,
                          .is_executable = (entry.mode & 0100U) != 0};
  }
  return out;
}

Result<bool> same_file(const GitFile& one, const GitFile& other) {
  if (one.is_link != other.is_link || one.is_executable != other.is_executable) return false;
  if (one.is_link) {
    PAWL_TRY(const auto target, target_of_link(one.full));
    PAWL_TRY(const auto other_target, target_of_link(other.full));
    return target == other_target;
  }
  struct stat status {
  }, other_status{};
  if (lstat(one.full.c_str(), &status) != 0) return fail_errno(errno, "changed file", one.full);
  if (lstat(other.full.c_str(), &other_status) != 0) return fail_errno(errno, "changed file", other.full);
  if (status.st_size != other_status.st_size) return false;
  PAWL_TRY(const auto hash, hash_of_file(one.full));
  PAWL_TRY(const auto other_hash, hash_of_file(other.full));
  return hash == other_hash;
}

Result<std::vector<std::string>> Workspaces::changed_paths(const std::string& base_id,
                                                           const std::vector<std::string>& below,
                                                           const std::string& layer) const {
  std::vector<std::string> out;
  if (layer.empty()) return out;
  const View lower(trees_of(base_id, below));
  PAWL_TRY(auto changes, changes_of(*this, lower, {layer}));
  PAWL_TRY(const auto files, git_files(lower, std::move(changes)));
  for (const auto& [path, after] : files) {
    const auto before = git_file_of(lower, path);
    bool same = !before && !after;
    if (before && after) {
      PAWL_TRY(same, same_file(*before, *after));
    }
    if (!same) out.push_back(path);
  }
  return out;
}

}  // namespace pawl::workspace
