// Removes from a layer the parts that are not work: paths that the source's .gitignore files match, and files
// that tools made for themselves.
#include "workspace/git/ignored.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "os/file.h"
#include "workspace/bases.h"
#include "workspace/changes.h"
#include "workspace/git/git.h"
#include "workspace/ignore_rules.h"
#include "workspace/moved.h"
#include "workspace/objects.h"
#include "workspace/tool_caches.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kIgnoreFile = ".gitignore";
constexpr std::uint64_t kIgnoreFileBytesMax = 64 << 20;

// The commit that a source was taken from, and the staged files. No file is committed when the source lies in
// no repository, or in a folder that its commit does not have. When its repository can't be read now, every
// file of the base counts as committed, so that an agent's work is not lost.
class Committed {
 public:
  static Committed of(const std::string& source, const std::string& commit, const View& base) {
    Committed out(base);
    auto found = find_repository(source);
    if (found) {
      out.repository_ = std::move(found->repository);
      out.index_prefix_ = found->prefix;
    }
    if (commit.empty()) return out;
    const auto at = found ? find_commit(*out.repository_, commit) : fail(ErrorKind::kNotFound, commit);
    git_tree* root = nullptr;
    if (!at || git_commit_tree(&root, at->get()) != 0) {
      out.has_all_of_base_ = true;
      return out;
    }
    out.root_ = GitTree(root);
    if (!found->prefix.empty() && !out.find(found->prefix.substr(0, found->prefix.size() - 1)))
      out.root_.reset();
    else
      out.prefix_ = std::move(found->prefix);
    return out;
  }

  // The place of the source in the repository: "" or "a/b/".
  const std::string& prefix() const { return prefix_; }

  // Whether the source's `path` is committed or staged. git never ignores such a path.
  bool has(const std::string& path) { return is_in_commit(path) || is_staged(path); }

  // The text of the file at `path` of the repository; "" when there is none.
  std::string text(const std::string& path) const {
    const auto entry = root_ ? find(path) : nullptr;
    git_blob* blob = nullptr;
    if (!entry || git_blob_lookup(&blob, repository_.get(), git_tree_entry_id(entry.get())) != 0) return {};
    const GitBlob owner(blob);
    const auto size = static_cast<std::size_t>(git_blob_rawsize(blob));
    if (size > kIgnoreFileBytesMax) return {};
    return {static_cast<const char*>(git_blob_rawcontent(blob)), size};
  }

 private:
  explicit Committed(const View& base) : base_(&base) {}

  bool is_in_commit(const std::string& path) {
    if (!root_) return false;
    const std::string folder = parent_of(path);
    auto known = folders_.find(folder);
    if (known == folders_.end())
      known = folders_.emplace(folder, folder.empty() || find(prefix_ + folder) != nullptr).first;
    return known->second && find(prefix_ + path) != nullptr;
  }

  // Whether the base has the file and the index has it. libgit2 1.5 can't read a sparse index.
  bool is_staged(const std::string& path) const {
    if (!base_->find(path)) return false;
    if (has_all_of_base_ || !repository_) return has_all_of_base_;
    const GitIndex index = index_of(*repository_);  // The repository owns it, and has read it before.
    return index && is_tracked(*index, index_prefix_ + path);
  }

  GitTreeEntry find(const std::string& path) const {
    git_tree_entry* entry = nullptr;
    if (git_tree_entry_bypath(&entry, root_.get(), path.c_str()) != 0) return nullptr;
    return GitTreeEntry(entry);
  }

  GitRepository repository_;
  GitTree root_;
  const View* base_;
  bool has_all_of_base_ = false;  // The base stands in for an unreadable commit.
  std::string prefix_, index_prefix_;
  // Folders of the source, and whether the commit has them.
  std::map<std::string, bool> folders_;
};

struct Views {
  View base;
  View lower;  // Which an agent began with.
  View now;    // its result
};

// `layers`: the agent's layer, or none.
Views views_of(const Workspaces& workspaces, const std::string& base_id, std::vector<std::string> layers,
               const std::vector<std::string>& below) {
  layers.insert(layers.end(), below.begin(), below.end());
  return {.base = View(workspaces.trees_of(base_id, {})),
          .lower = View(workspaces.trees_of(base_id, below)),
          .now = View(workspaces.trees_of(base_id, layers))};
}

// The rules of a source: those of its base, and above it those of its commit.
class SourceRules {
 public:
  SourceRules(const Views& views, Committed& committed)
      : base_(views.base), lower_(views.lower), now_(views.now), committed_(committed) {}

  // Reads all rules that can match one of `entries`. `manifest` gets the base's manifest. That is
  // expensive and rarely needed.
  Status read(const std::vector<Entry>& entries, const std::function<Result<std::string>()>& manifest) {
    const std::string& prefix = committed_.prefix();
    // Folders above the source.
    for (std::string folder = prefix.substr(0, prefix.rfind('/')); !folder.empty();) {
      folder = parent_of(folder);
      rules_.add(folder, committed_.text(child(folder, kIgnoreFile)));
    }
    std::set<std::string> folders{""};
    for (const auto& entry : entries)
      for (auto folder = parent_of(entry.path); folders.insert(folder).second;) folder = parent_of(folder);
    for (const auto& folder : folders) PAWL_OK(read_base(folder));
    std::vector<std::string> made;  // Folders with rules that the base does not have.
    for (const auto& folder : folders)
      if (!folder.empty() && !base_.has_folder(folder) && now_.find(child(folder, kIgnoreFile)))
        made.push_back(folder);
    if (made.empty()) return {};
    PAWL_TRY(const std::string text, manifest());
    return read_moved(made, paths_named(text, kIgnoreFile));
  }

  bool empty() const { return rules_.empty(); }

  bool ignore(const std::string& path, bool is_folder) {
    return rules_.names(in_repository(path), is_folder) && !committed_.has(path) && !is_accepted(path) &&
           !committed_.has(path_before(path));
  }

  // How the file `path` of the lower view counts.
  Result<Was> was(const std::string& path) {
    for (auto folder = parent_of(path); !folder.empty(); folder = parent_of(folder))
      PAWL_OK(read_base(folder));
    if (!rules_.names(in_repository(path), false)) return Was::kWork;
    return ignore(path, false) ? Was::kNoWork : Was::kForced;
  }

 private:
  // An accepted layer has only work: `path` was moved there.
  bool is_accepted(const std::string& path) const { return lower_.find(path) && !base_.find(path); }

  std::string in_repository(const std::string& path) const { return committed_.prefix() + path; }

  void add(const std::string& folder, const std::string& text) {
    const std::string path = in_repository(folder);
    rules_.add(folder.empty() ? path.substr(0, path.rfind('/')) : path, text);
  }

  Result<std::string> text_of_base(const std::string& folder) const {
    const auto file = base_.find(child(folder, kIgnoreFile));
    struct stat status {};
    if (!file || lstat(file->c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::string();
    return os::read_file(*file, kIgnoreFileBytesMax);
  }

  Status read_base(const std::string& folder) {
    if (!read_.insert(folder).second) return {};
    PAWL_TRY(const auto text, text_of_base(folder));
    add(folder, text);
    return {};
  }

  // Gives a renamed folder the rules that the base has for its old place, with the same meaning. The base
  // must have had the old folder, it must be gone, and half of its files must be here. Otherwise an agent
  // could apply rules of the base anywhere.
  Status read_moved(const std::vector<std::string>& made, const std::vector<std::string>& files) {
    std::vector<std::string> gone;
    for (const auto& file : files) {
      std::string folder = parent_of(file);
      if (folder.empty() || now_.has_folder(folder)) continue;
      for (auto above = folder;; above = parent_of(above)) {
        PAWL_OK(read_base(above));
        if (above.empty()) break;
      }
      gone.push_back(std::move(folder));
    }
    for (const auto& folder : made) {
      std::size_t most = 0;
      for (const auto& from : gone) {
        const auto [found, all] = files_that_moved(from, from, folder);
        if (found == 0 || found * 2 < all || found <= most) continue;
        most = found;
        moved_[folder] = from;
      }
    }
    for (const auto& [folder, from] : moved_) {
      PAWL_TRY(const auto text, text_of_base(from));
      add(folder, text);
    }
    return {};
  }

  // Counts the files of `folder`, which is `from` or below it: how many are below `to` now, and how many
  // there were. Ignored files and .gitignore files do not count.
  std::pair<std::size_t, std::size_t> files_that_moved(const std::string& folder, const std::string& from,
                                                       const std::string& to) {
    std::size_t found = 0, all = 0;
    for (const auto& name : base_.names(folder)) {
      const std::string path = child(folder, name);
      const bool is_folder = base_.has_folder(path);
      if (name == kIgnoreFile || (rules_.names(in_repository(path), is_folder) && !committed_.has(path)))
        continue;
      if (is_folder) {
        const auto below = files_that_moved(path, from, to);
        found += below.first;
        all += below.second;
        continue;
      }
      ++all;
      if (now_.find(to + path.substr(from.size()))) ++found;
    }
    return {found, all};
  }

  // The old path of a path below a renamed folder.
  std::string path_before(const std::string& path) const {
    for (std::string folder = path; !folder.empty(); folder = parent_of(folder))
      if (const auto found = moved_.find(folder); found != moved_.end())
        return found->second + path.substr(folder.size());
    return path;
  }

  const View& base_;
  const View& lower_;
  const View& now_;
  Committed& committed_;
  IgnoreRules rules_;
  std::set<std::string> read_;                // Folders of the base.
  std::map<std::string, std::string> moved_;  // Renamed folders, and their old places in the base.
};

bool is_folder_in(const View& view, const Entry& entry) {
  return entry.type == EntryType::kFolder ||
         (entry.type == EntryType::kDeleted && view.has_folder(entry.path));
}

using CountsOf = std::function<Counts(const Entry&)>;

struct Left {
  const std::string& layer_id;
  const std::vector<Entry>& entries;
  std::vector<Counts> counts = {};  // One for each entry.
};

// The entries that are work, and the folders that lead to them.
Changes kept_of(const Left& left, const std::string& tree, const View& lower, const CountsOf& counts_of) {
  Changes kept;
  std::vector<const Entry*> folders;
  for (std::size_t i = 0; i < left.entries.size(); ++i) {
    const auto& entry = left.entries[i];
    if (left.counts[i] == Counts::kAsWork)
      kept[entry.path] = {.entry = entry, .tree = tree};
    else if (entry.type == EntryType::kFolder)
      folders.push_back(&entry);
  }
  for (const Entry* folder : folders) {
    const auto next = kept.lower_bound(folder->path + "/");
    if (next != kept.end() && next->first.starts_with(folder->path + "/"))
      kept[folder->path] = {.entry = *folder, .tree = tree};
    else if (const Entry file{.path = folder->path, .type = EntryType::kDeleted};
             lower.find(folder->path) && !lower.has_folder(folder->path) &&
             counts_of(file) == Counts::kAsWork)
      kept[folder->path] = {.entry = {.path = folder->path, .type = EntryType::kDeleted}, .tree = tree};
  }
  return kept;
}

std::function<Result<std::string>()> manifest_of_base(const Workspaces& workspaces,
                                                      const Workspaces::Source& source) {
  return [&workspaces, &source]() -> Result<std::string> {
    PAWL_TRY(const auto all, BaseManifest::open(workspaces, source.base.base_id));
    return all.text();
  };
}

Result<Workspaces::Work> kept_work(const Workspaces& workspaces, Left left, const View& lower,
                                   SourceRules& rules, const CountsOf& counts_of) {
  Workspaces::Work out{.layer_id = left.layer_id};
  left.counts.reserve(left.entries.size());
  for (const auto& entry : left.entries) left.counts.push_back(counts_of(entry));
  if (std::ranges::all_of(left.counts, [](Counts one) { return one == Counts::kAsWork; })) return out;
  PAWL_TRY(out.lost,
           keep_moved(
               left.entries, lower, [&](const std::string& path) { return rules.was(path); }, left.counts));
  const auto kept = kept_of(left, workspaces.layer_tree(left.layer_id), lower, counts_of);
  for (const auto& entry : left.entries) {
    if (kept.contains(entry.path)) continue;
    out.ignored_entries += 1;
    out.ignored_bytes += entry.size;
  }
  if (out.ignored_entries == 0) return out;
  PAWL_TRY(out.layer_id, keep_changes(workspaces.folder(), kept));
  return out;
}

}  // namespace

Result<Workspaces::Work> Workspaces::without_ignored(const std::string& layer_id, const Source& source,
                                                     const std::vector<std::string>& below) {
  PAWL_TRY(const auto entries, manifest(layer_id));
  const auto views = views_of(*this, source.base.base_id, {layer_id}, below);
  auto committed = Committed::of(source.path, source.base.git_commit, views.base);
  SourceRules rules(views, committed);
  PAWL_OK(rules.read(entries, manifest_of_base(*this, source)));
  const auto built = built_folders(entries, layer_tree(layer_id), views.lower);
  const auto counts_of = [&](const Entry& entry) {
    if (!cache_at(entry.path).empty()) return Counts::kAsCache;
    if (is_in(built, entry.path)) return Counts::kAsBuilt;
    const bool ignored = !rules.empty() && rules.ignore(entry.path, is_folder_in(views.lower, entry));
    return ignored ? Counts::kAsIgnored : Counts::kAsWork;
  };
  return kept_work(*this, {.layer_id = layer_id, .entries = entries}, views.lower, rules, counts_of);
}

Result<Workspaces::Work> Workspaces::without_caches(const std::string& layer_id, const Source& source,
                                                    const std::vector<std::string>& below) {
  PAWL_TRY(const auto entries, manifest(layer_id));
  const auto counts_of = [](const Entry& entry) {
    return cache_at(entry.path).empty() ? Counts::kAsWork : Counts::kAsCache;
  };
  if (std::ranges::all_of(entries, [&](const auto& entry) { return counts_of(entry) == Counts::kAsWork; }))
    return Work{.layer_id = layer_id};
  const auto views = views_of(*this, source.base.base_id, {layer_id}, below);
  auto committed = Committed::of(source.path, source.base.git_commit, views.base);
  SourceRules rules(views, committed);
  PAWL_OK(rules.read(entries, manifest_of_base(*this, source)));
  return kept_work(*this, {.layer_id = layer_id, .entries = entries}, views.lower, rules, counts_of);
}

Result<Workspaces::RefusedWork> Workspaces::refused_work(const std::vector<std::string>& named,
                                                         std::int64_t total, const Source& source,
                                                         const std::vector<std::string>& below) const {
  const auto views = views_of(*this, source.base.base_id, {}, below);
  auto committed = Committed::of(source.path, source.base.git_commit, views.base);
  SourceRules rules(views, committed);
  std::vector<Entry> entries;
  for (const auto& path : named) entries.push_back({.path = path});
  PAWL_OK(rules.read(entries, manifest_of_base(*this, source)));
  RefusedWork out;
  bool known = total == static_cast<std::int64_t>(named.size());
  if (!known) {
    // Each top folder with an unnamed path also has a named one, unless the names are full.
    std::set<std::string> tops;
    for (const auto& path : named) tops.insert(path.substr(0, path.find('/')));
    known = tops.size() < kRefusedNamedMax &&
            std::ranges::all_of(tops, [&](const auto& top) { return rules.ignore(top, true); });
  }
  out.may_be_more = !known;
  for (const auto& path : named)
    if (!rules.ignore(path, false)) out.paths.push_back(path);
  return out;
}

Result<bool> Workspaces::leaves_out(const std::string& path, const Source& source,
                                    const std::vector<std::string>& below) const {
  const auto views = views_of(*this, source.base.base_id, {}, below);
  const std::string installed(installed_at(path));
  if (!cache_at(path).empty() || (!installed.empty() && !views.lower.find(installed))) return true;
  auto committed = Committed::of(source.path, source.base.git_commit, views.base);
  SourceRules rules(views, committed);
  PAWL_OK(rules.read({{.path = path}}, manifest_of_base(*this, source)));
  return rules.ignore(path, false);
}

Result<std::set<std::string>> ignored_in_base(const Workspaces& workspaces, const Workspaces::Source& source,
                                              const std::vector<Entry>& entries) {
  const auto views = views_of(workspaces, source.base.base_id, {}, {});
  auto committed = Committed::of(source.path, source.base.git_commit, views.base);
  SourceRules rules(views, committed);
  PAWL_OK(rules.read(entries, manifest_of_base(workspaces, source)));
  std::set<std::string> out;
  if (rules.empty()) return out;
  for (const auto& entry : entries)
    if (rules.ignore(entry.path, entry.type == EntryType::kFolder)) out.insert(entry.path);
  return out;
}

}  // namespace pawl::workspace
