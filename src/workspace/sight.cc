// Makes the view that a gate has of the work of an agent and of earlier steps: protected paths are as before,
// and caches are gone.
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "base/glob.h"
#include "workspace/bases.h"
#include "workspace/changes.h"
#include "workspace/folder_look.h"
#include "workspace/moved.h"
#include "workspace/objects.h"
#include "workspace/tool_caches.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

// Whether `entry` changes a submodule or an entry in it. Folders do not count, because git does not have
// them.
bool is_of_submodule(const std::vector<std::string>& submodules, const Entry& entry) {
  if (entry.type == EntryType::kFolder) return false;
  return std::ranges::any_of(submodules, [&](const auto& path) {
    return entry.path == path || entry.path.starts_with(path + "/") || path.starts_with(entry.path + "/");
  });
}

std::string tree_of(const std::string& full, const std::string& path) {
  return full.substr(0, full.size() - path.size() - 1);
}

// The cache at `path` that a step of a gate must not see. Data that an earlier step measured is passed on.
std::string_view cache_in_gate(std::string_view path) {
  const auto cache = cache_at(path);
  return is_measured(cache) ? std::string_view() : cache;
}

// Collects the changes that restore paths to their state in `before`.
class Lid {
 public:
  Lid(const View& before, const View& now, const Workspaces::Sight& sight)
      : before_(before), now_(now), sight_(sight) {}

  // Sees a layer, after those below it.
  Status see(const std::vector<Entry>& layer) {
    PAWL_OK(see_moved(layer));
    for (const auto& entry : layer) PAWL_OK(see(entry));
    return {};
  }

  Changes take() {
    // A restored file deletes the entries of a folder that has its name.
    for (auto at = changes_.begin(); at != changes_.end(); ++at) {
      if (at->second.entry.type == EntryType::kFolder) continue;
      const std::string prefix = at->first + "/";
      for (auto next = changes_.lower_bound(prefix);
           next != changes_.end() && next->first.starts_with(prefix);)
        next = changes_.erase(next);
    }
    return std::move(changes_);
  }

 private:
  // Finds the caches that the layer only moves. A layer above may have other content at their paths.
  Status see_moved(const std::vector<Entry>& layer) {
    std::vector<Counts> counts;
    counts.reserve(layer.size());
    for (const auto& entry : layer)
      counts.push_back(cache_in_gate(entry.path).empty() ? Counts::kAsWork : Counts::kAsCache);
    PAWL_OK(keep_moved(
        layer, before_, [](const std::string&) { return Was::kWork; }, counts));
    for (std::size_t i = 0; i < layer.size(); ++i) {
      if (layer[i].type == EntryType::kFolder || cache_in_gate(layer[i].path).empty()) continue;
      if (counts[i] == Counts::kAsWork)
        moved_.insert(layer[i].path);
      else
        moved_.erase(layer[i].path);
    }
    return {};
  }

  bool has_moved(const std::string& cache) const {
    const auto below = moved_.lower_bound(cache + "/");
    return moved_.contains(cache) || (below != moved_.end() && below->starts_with(cache + "/"));
  }

  Status see(const Entry& entry) {
    if (const auto cache = std::string(cache_in_gate(entry.path));
        !cache.empty() && !before_.find(cache) && !has_moved(cache))
      return take_away(cache);
    PAWL_OK(settle(entry.path, entry.type == EntryType::kFolder));
    if (entry.type == EntryType::kFolder || !before_.has_folder(entry.path)) return {};
    Status status;
    before_.each_file(entry.path, [&](const std::string& below) {
      if (status) status = settle(below, false);
    });
    return status;
  }

  Status settle(const std::string& path, bool is_folder) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    const bool is_guarded = any_covers(sight_.paths.protect, path) || is_guarded_cache(path) ||
                            std::ranges::binary_search(sight_.names, name) ||
                            std::ranges::binary_search(sight_.shadows, path);
    const bool is_kept = is_guarded || any_covers(sight_.paths.protect_existing, path) ||
                         (!sight_.only.empty() && !any_covers(sight_.only, path));
    if (!is_kept || !seen_.insert(path).second) return {};
    const auto before = before_.find(path);
    if (before == now_.find(path)) return {};
    if (!before) return is_guarded && !is_folder ? take_away(path) : Status();
    if (is_folder && before_.has_folder(path)) return {};
    return put_back(path, *before);
  }

  bool is_guarded_cache(const std::string& path) const {
    return !cache_in_gate(path).empty() && !moved_.contains(path);
  }

  Status take_away(const std::string& path) {
    const auto now = now_.find(path);
    if (now)
      changes_[path] = {.entry = {.path = path, .type = EntryType::kDeleted}, .tree = tree_of(*now, path)};
    return {};
  }

  Status put_back(const std::string& path, const std::string& full) {
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string folder = path.substr(0, slash);
      if (now_.has_folder(folder) || changes_.contains(folder)) continue;
      PAWL_TRY(auto entry, entry_of(*before_.find(folder), folder));
      changes_[folder] = {.entry = std::move(entry), .tree = tree_of(*before_.find(folder), folder)};
    }
    PAWL_TRY(auto entry, entry_of(full, path));
    changes_[path] = {.entry = std::move(entry), .tree = tree_of(full, path)};
    return {};
  }

  const View& before_;
  const View& now_;
  const Workspaces::Sight& sight_;
  std::set<std::string> seen_;
  std::set<std::string> moved_;  // Caches that a layer moves.
  Changes changes_;
};

}  // namespace

Result<std::string> Workspaces::lid(const std::string& base_id, const std::vector<std::string>& below,
                                    const std::vector<std::string>& above, const Sight& sight) const {
  std::vector<std::string> all = above;
  all.insert(all.end(), below.begin(), below.end());
  const View before(trees_of(base_id, below)), now(trees_of(base_id, all));
  Lid lid(before, now, sight);
  for (const auto& layer : above | std::views::reverse) {
    PAWL_TRY(const auto entries, manifest(layer));
    PAWL_OK(lid.see(entries));
  }
  return keep_changes(folder_, lid.take());
}

Result<std::string> Workspaces::keep_files(const std::string& folder, const std::vector<std::string>& paths) {
  std::map<std::string, Looked> looked;
  std::int64_t bytes = 0;
  const auto add = [&](const std::string& path) -> Status {
    PAWL_TRY(auto entry, entry_of(os::join(folder, path), path));
    if (entry.type != EntryType::kSymlink) entry.mode |= entry.type == EntryType::kFolder ? 0700U : 0400U;
    bytes += entry.size;
    looked[path] = {.entry = std::move(entry)};
    return check_limits(static_cast<std::int64_t>(looked.size()), bytes, folder);
  };
  for (const auto& path : paths) {
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      if (!looked.contains(path.substr(0, slash))) PAWL_OK(add(path.substr(0, slash)));
    PAWL_OK(add(path));
  }
  std::vector<Looked> entries;
  for (auto& [path, one] : looked) entries.push_back(std::move(one));
  PAWL_TRY(auto temporary, make_temporary(folder_));
  const std::string tree = os::join(temporary.path(), "tree");
  PAWL_OK(os::make_folders(tree));
  PAWL_TRY(auto copied, copy_looked(folder, entries, tree, *so_far_));
  return keep_object(folder_, "bases", std::move(temporary), std::move(copied));
}

Result<std::string> Workspaces::only(const std::string& layer_id,
                                     const std::vector<std::string>& patterns) const {
  PAWL_TRY(const auto entries, manifest(layer_id));
  const std::string tree = layer_tree(layer_id);
  Changes kept;
  for (const auto& entry : entries)
    if (entry.type != EntryType::kFolder && any_covers(patterns, entry.path))
      kept[entry.path] = {.entry = entry, .tree = tree};
  for (const auto& entry : entries) {
    if (entry.type != EntryType::kFolder) continue;
    const auto next = kept.lower_bound(entry.path + "/");
    const bool leads = next != kept.end() && next->first.starts_with(entry.path + "/");
    if (leads || any_covers(patterns, entry.path)) kept[entry.path] = {.entry = entry, .tree = tree};
  }
  if (kept.size() == entries.size()) return layer_id;
  return keep_changes(folder_, kept);
}

Result<Workspaces::Filtered> Workspaces::without_protected(const std::string& layer_id,
                                                           const std::string& base_id,
                                                           const std::vector<std::string>& below,
                                                           const PathRules& rules) {
  PAWL_TRY(const auto submodules, submodules_of(*this, base_id));
  if (rules.empty() && submodules.empty()) return Filtered{.layer_id = layer_id};
  PAWL_TRY(const auto entries, manifest(layer_id));
  const View view(trees_of(base_id, below));
  const auto is_kept = [&](const std::string& path) {
    return any_covers(rules.protect, path) || any_covers(rules.protect_existing, path);
  };
  Filtered out{.layer_id = layer_id};
  Changes kept;
  for (const auto& entry : entries) {
    if (is_of_submodule(submodules, entry)) {
      out.submodule_changes.push_back(entry.path);
      continue;
    }
    std::vector<std::string> hits;
    const bool is_new = !view.find(entry.path);
    if (is_new ? any_covers(rules.protect, entry.path) : is_kept(entry.path)) {
      hits.push_back(entry.path);
      if (is_new && entry.type != EntryType::kFolder) out.new_refused.push_back(entry.path);
    } else if (entry.type != EntryType::kFolder && !is_new) {
      // The lower entries that an entry other than a folder hides.
      view.each_file(entry.path, [&](const std::string& hidden) {
        if (is_kept(hidden)) hits.push_back(hidden);
      });
    }
    if (hits.empty()) kept[entry.path] = {.entry = entry, .tree = layer_tree(layer_id)};
    if (hits.empty() && is_new && entry.type != EntryType::kFolder &&
        any_covers(rules.protect_existing, entry.path))
      out.new_taken.push_back(entry.path);
    out.protected_changes.insert(out.protected_changes.end(), hits.begin(), hits.end());
  }
  if (out.protected_changes.empty() && out.submodule_changes.empty()) return out;
  PAWL_TRY(out.layer_id, keep_changes(folder_, kept));
  return out;
}

}  // namespace pawl::workspace
