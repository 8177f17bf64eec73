#include "workspace/covered.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/glob.h"
#include "base/nearest.h"
#include "os/file.h"
#include "workspace/git/git_tree.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

constexpr int kLinksMax = 40;  // The limit of Linux (path_resolution(7)).
constexpr std::string_view kInside = "/workspace/";

// The paths of a tree, in any storage.
class Paths {
 public:
  virtual ~Paths() = default;
  // For an entry of any type.
  virtual bool has(const std::string& path) const = 0;
  // The target of the link at `path`; nullopt for other entries.
  virtual std::optional<std::string> target(const std::string& path) const = 0;
  // The names in `folder`; "" is the root.
  virtual std::set<std::string> names(const std::string& folder) const = 0;
  // Visits the files and links at or below `path`; "" is the root.
  virtual void each(const std::string& path, const std::function<void(const std::string&)>& visit) const = 0;
};

class ShownPaths final : public Paths {
 public:
  explicit ShownPaths(std::vector<std::string> trees) : view_(std::move(trees)) {}
  bool has(const std::string& path) const override { return view_.find(path).has_value(); }
  std::optional<std::string> target(const std::string& path) const override {
    const auto full = view_.find(path);
    struct stat status {};
    if (!full || lstat(full->c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return std::nullopt;
    auto text = target_of_link(*full);
    return text ? std::optional(*std::move(text)) : std::nullopt;
  }
  std::set<std::string> names(const std::string& folder) const override { return view_.names(folder); }
  void each(const std::string& path, const std::function<void(const std::string&)>& visit) const override {
    if (!path.empty()) return view_.each_file(path, visit);
    for (const auto& name : view_.names(""))
      if (is_kept_name(name)) view_.each_file(name, visit);
  }

 private:
  View view_;
};

class CommittedPaths final : public Paths {
 public:
  CommittedPaths(git_repository& repository, GitListing listing)
      : repository_(repository), listing_(std::move(listing)) {}
  bool has(const std::string& path) const override {
    if (listing_.contains(path)) return true;
    const auto below = listing_.lower_bound(path + "/");
    return below != listing_.end() && below->first.starts_with(path + "/");
  }
  std::optional<std::string> target(const std::string& path) const override {
    const auto found = listing_.find(path);
    if (found == listing_.end() || found->second.mode != GIT_FILEMODE_LINK) return std::nullopt;
    git_blob* blob = nullptr;
    if (git_blob_lookup(&blob, &repository_, &found->second.id) != 0) return std::nullopt;
    const GitBlob owner(blob);
    return std::string(static_cast<const char*>(git_blob_rawcontent(blob)),
                       static_cast<std::size_t>(git_blob_rawsize(blob)));
  }
  std::set<std::string> names(const std::string& folder) const override {
    std::set<std::string> out;
    const std::size_t start = folder.empty() ? 0 : folder.size() + 1;
    each(folder, [&](const std::string& path) {
      if (path.size() > start) out.insert(path.substr(start, path.find('/', start) - start));
    });
    return out;
  }
  void each(const std::string& path, const std::function<void(const std::string&)>& visit) const override {
    if (listing_.contains(path)) visit(path);
    const std::string prefix = path.empty() ? "" : path + "/";
    for (auto at = listing_.lower_bound(prefix); at != listing_.end() && at->first.starts_with(prefix); ++at)
      visit(at->first);
  }

 private:
  git_repository& repository_;
  const GitListing listing_;
};

// The place in the tree that the link at `path` leads to; nullopt when it leads out of the tree.
std::optional<std::string> place_of(const std::string& path, const std::string& target) {
  std::vector<std::string> parts;
  const auto walk = [&](std::string_view text) {
    for (std::size_t start = 0; start <= text.size();) {
      const auto end = std::min(text.find('/', start), text.size());
      const auto part = text.substr(start, end - start);
      start = end + 1;
      if (part.empty() || part == ".") continue;
      if (part != "..")
        parts.emplace_back(part);
      else if (parts.empty())
        return false;
      else
        parts.pop_back();
    }
    return true;
  };
  std::string_view rest = target;
  const auto slash = path.rfind('/');
  const bool is_inside = rest.starts_with(kInside);
  if (is_inside) rest.remove_prefix(kInside.size());
  if (!is_inside && rest.starts_with('/')) return std::nullopt;
  if (!is_inside && slash != std::string::npos && !walk(path.substr(0, slash))) return std::nullopt;
  if (!walk(rest)) return std::nullopt;
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : "/") + part;
  return out;
}

class Covering {
 public:
  explicit Covering(const Paths& paths) : paths_(paths) {}

  Covered of(const std::string& pattern) {
    out_ = {};
    seen_.clear();
    out_.any = follow(pattern, 0);
    if (!out_.any) out_.near = near(pattern);
    std::ranges::sort(out_.led_to);
    const auto same = std::ranges::unique(out_.led_to);
    out_.led_to.erase(same.begin(), same.end());
    return std::move(out_);
  }

 private:
  // `pattern` with its first missing name replaced by a similar existing one; "" when no name is similar.
  std::string near(const std::string& pattern) const {
    std::string folder;
    for (std::size_t start = 0; start < pattern.size();) {
      const auto end = std::min(pattern.find('/', start), pattern.size());
      const std::string part = pattern.substr(start, end - start);
      if (part.find_first_of("*?") != std::string::npos) return {};
      if (!part.empty() && !paths_.has(child(folder, part))) {
        const auto names = paths_.names(folder);
        const auto meant = nearest(part, {names.begin(), names.end()});
        return meant ? child(folder, *meant) + pattern.substr(end) : "";
      }
      if (!part.empty()) folder = child(folder, part);
      start = end + 1;
    }
    return {};
  }

  // Follows the link at `path`; `rest` is the pattern after it. Returns whether the pattern has a match.
  bool follow_link(const std::string& path, const std::string& target, const std::string& rest, int links) {
    out_.led_to.push_back(path);
    const auto place = place_of(path, target);
    if (!place || links == kLinksMax) return rest.empty();
    const std::string pattern = place->empty() ? rest : *place + (rest.empty() ? "" : "/" + rest);
    if (pattern.empty() || !seen_.insert(pattern).second) return true;
    const bool found = follow(pattern, links + 1);
    if (found) out_.led_to.push_back(pattern);
    return found || rest.empty();
  }

  bool follow(const std::string& pattern, int links) {
    std::string prefix;
    for (std::size_t start = 0; start < pattern.size();) {
      const auto end = std::min(pattern.find('/', start), pattern.size());
      const std::string part = pattern.substr(start, end - start);
      start = end + 1;
      if (part.empty() || part == ".") continue;
      if (part.find_first_of("*?") != std::string::npos) break;
      prefix = child(prefix, part);
      if (const auto target = paths_.target(prefix))
        return follow_link(prefix, *target, start < pattern.size() ? pattern.substr(start) : "", links);
    }
    if (!prefix.empty() && !paths_.has(prefix)) return false;
    bool found = !prefix.empty() && pattern.find_first_of("*?") == std::string::npos;
    std::vector<std::pair<std::string, std::string>> met;
    paths_.each(prefix, [&](const std::string& path) {
      if (!glob_covers(pattern, path)) return;
      found = true;
      if (auto target = paths_.target(path)) met.emplace_back(path, *std::move(target));
    });
    for (const auto& [path, target] : met) follow_link(path, target, "", links);
    return found;
  }

  const Paths& paths_;
  Covered out_;
  std::set<std::string> seen_;
};

std::vector<Covered> covered_in(const Paths& paths, const std::vector<std::string>& patterns) {
  Covering covering(paths);
  std::vector<Covered> out;
  for (const auto& pattern : patterns) out.push_back(covering.of(pattern));
  return out;
}

}  // namespace

std::vector<Covered> covered_in_base(const Workspaces& workspaces, const std::string& base_id,
                                     const std::vector<std::string>& patterns) {
  return covered_in(ShownPaths(workspaces.trees_of(base_id, {})), patterns);
}

Result<std::vector<Covered>> covered_in_source(const std::string& path, const std::optional<std::string>& ref,
                                               const std::vector<std::string>& patterns) {
  if (!ref) return covered_in(ShownPaths({path}), patterns);
  PAWL_TRY(const auto found, find_repository(path));
  PAWL_TRY(const auto commit, find_commit(*found.repository, *ref));
  PAWL_TRY(const auto tree, tree_at(*commit, found.prefix));
  PAWL_TRY(auto listing, listing_of(*found.repository, *tree));
  return covered_in(CommittedPaths(*found.repository, std::move(listing)), patterns);
}

}  // namespace pawl::workspace
