// Operations on whole layers: their owners, deletions, and overlaps.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/glob.h"
#include "workspace/bases.h"
#include "workspace/changes.h"
#include "workspace/objects.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

bool touch(const Entry& a, const Entry& b) {
  if (a.path == b.path) return !(a == b && a.type == EntryType::kFolder);
  const bool a_above = b.path.starts_with(a.path + "/"), b_above = a.path.starts_with(b.path + "/");
  return (a_above && a.type != EntryType::kFolder) || (b_above && b.type != EntryType::kFolder);
}

}  // namespace

Status Workspaces::check_owner(const std::string& base_id, const std::vector<std::string>& layers) const {
  for (const auto& tree : trees_of(base_id, layers)) {
    struct stat status {};
    if (lstat(tree.c_str(), &status) != 0) continue;  // Missing: its reader reports that.
    const auto pair = [](uid_t user, gid_t group) {
      return std::to_string(user) + ":" + std::to_string(group);
    };
    const std::string ours = pair(geteuid(), getegid()), theirs = pair(status.st_uid, status.st_gid);
    if (ours == theirs) continue;
    return fail(ErrorKind::kDenied,
                tree + " belongs to " + theirs + " (user:group), and a sandbox of " + ours +
                    " can't write it; run as its owner, or take the state over: `chown -R -h " + ours + " " +
                    folder_ + "`");
  }
  return {};
}

Result<std::string> Workspaces::deletion_of(const std::string& base_id,
                                            const std::vector<std::string>& layers,
                                            const std::vector<std::string>& patterns) const {
  const View view(trees_of(base_id, layers));
  Changes changes;
  const auto remove = [&](const std::string& path) {
    const auto full = *view.find(path);
    changes[path] = {.entry = {.path = path, .type = EntryType::kDeleted},
                     .tree = full.substr(0, full.size() - path.size() - 1)};
  };
  for (const auto& pattern : patterns) {
    const auto wild = pattern.find_first_of("*?");
    if (wild == std::string::npos) {
      if (view.find(pattern)) remove(pattern);
      continue;
    }
    const auto slash = pattern.rfind('/', wild);
    const std::string folder = slash == std::string::npos ? "" : pattern.substr(0, slash);
    if (!folder.empty() && !view.has_folder(folder)) continue;
    view.each_file(folder, [&](const std::string& path) {
      if (glob_matches(pattern, path)) remove(path);
    });
  }
  return keep_changes(folder_, changes);
}

Result<std::vector<std::string>> Workspaces::overlap(const std::string& a, const std::string& b,
                                                     std::size_t most) const {
  std::vector<std::string> out;
  if (a.empty() || b.empty()) return out;
  PAWL_TRY(const auto first, manifest(a));
  PAWL_TRY(const auto second, manifest(b));
  std::map<std::string_view, const Entry*> by_path;
  for (const auto& entry : second) by_path[entry.path] = &entry;
  for (const auto& entry : first) {
    bool hit = false;
    // The same path, or an entry of the other layer above it.
    for (auto end = entry.path.find('/'); !hit; end = entry.path.find('/', end + 1)) {
      const auto found = by_path.find(std::string_view(entry.path).substr(0, end));
      hit = found != by_path.end() && touch(entry, *found->second);
      if (end == std::string::npos) break;
    }
    // An entry of the other layer below a path that this one replaces or deletes.
    if (!hit && entry.type != EntryType::kFolder) {
      const std::string prefix = entry.path + "/";
      const auto below = by_path.lower_bound(prefix);
      hit = below != by_path.end() && below->first.starts_with(prefix);
    }
    if (hit) out.push_back(entry.path);
    if (out.size() >= most) break;
  }
  return out;
}

}  // namespace pawl::workspace
