// The part of a layer that git would not see: what the source's .gitignore files name.
#include <map>

#include "os/file.h"
#include "workspace/changes.h"
#include "workspace/git/git.h"
#include "workspace/ignore_rules.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kIgnoreFile = ".gitignore";
constexpr std::uint64_t kIgnoreFileBytesMax = 64 << 20;

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The commit that a source was taken from; none, where it lies in no repository, or in one that is gone.
class Committed {
 public:
  static Committed of(const std::string& source, const std::string& commit) {
    Committed out;
    if (commit.empty()) return out;
    auto found = find_repository(source);
    if (!found) return out;
    const auto at = find_commit(*found->repository, commit);
    git_tree* root = nullptr;
    if (!at || git_commit_tree(&root, at->get()) != 0) return out;
    out.repository_ = std::move(found->repository);
    out.prefix_ = std::move(found->prefix);
    out.root_ = GitTree(root);
    return out;
  }

  const std::string& prefix() const { return prefix_; }  // of the source in it: "" or "a/b/"

  // A path of the source. git never ignores what is committed.
  bool has(const std::string& path) {
    if (!root_) return false;
    const std::string folder = parent_of(path);
    auto known = folders_.find(folder);
    if (known == folders_.end())
      known = folders_.emplace(folder, folder.empty() || find(prefix_ + folder) != nullptr).first;
    return known->second && find(prefix_ + path) != nullptr;
  }

  // The file's text; "" when there is none. A path of the repository.
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
  GitTreeEntry find(const std::string& path) const {
    git_tree_entry* entry = nullptr;
    if (git_tree_entry_bypath(&entry, root_.get(), path.c_str()) != 0) return nullptr;
    return GitTreeEntry(entry);
  }

  GitRepository repository_;
  GitTree root_;
  std::string prefix_;
  std::map<std::string, bool> folders_;  // of the source: whether the commit has them
};

// Those that can name a changed path.
Status read_rules(const View& base, const std::vector<Entry>& entries, const Committed& committed,
                  IgnoreRules& rules) {
  const std::string& prefix = committed.prefix();
  for (std::string folder = prefix.substr(0, prefix.rfind('/')); !folder.empty();) {  // above the source
    folder = parent_of(folder);
    rules.add(folder, committed.text(child(folder, kIgnoreFile)));
  }
  std::set<std::string> folders{""};
  for (const auto& entry : entries)
    for (auto folder = parent_of(entry.path); folders.insert(folder).second;) folder = parent_of(folder);
  for (const auto& folder : folders) {
    const auto file = base.find(child(folder, kIgnoreFile));
    struct stat status {};
    if (!file || lstat(file->c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    PAWL_TRY(const auto text, os::read_file(*file, kIgnoreFileBytesMax));
    rules.add(prefix.substr(0, prefix.rfind('/')) + (prefix.empty() || folder.empty() ? "" : "/") + folder,
              text);
  }
  return {};
}

bool is_folder_in(const View& view, const Entry& entry) {
  return entry.type == EntryType::kFolder ||
         (entry.type == EntryType::kDeleted && view.has_folder(entry.path));
}

// The entries that are not ignored, and the folders on the way to them.
Changes kept_of(const std::vector<Entry>& entries, const std::string& tree, const View& lower,
                const std::function<bool(const Entry&)>& is_ignored) {
  Changes kept;
  std::vector<const Entry*> folders;
  for (const auto& entry : entries) {
    if (!is_ignored(entry))
      kept[entry.path] = {.entry = entry, .tree = tree};
    else if (entry.type == EntryType::kFolder)
      folders.push_back(&entry);
  }
  for (const Entry* folder : folders) {
    const auto next = kept.lower_bound(folder->path + "/");
    if (next != kept.end() && next->first.starts_with(folder->path + "/"))
      kept[folder->path] = {.entry = *folder, .tree = tree};
    else if (lower.find(folder->path) && !lower.has_folder(folder->path))  // it took a file's place
      kept[folder->path] = {.entry = {.path = folder->path, .type = EntryType::kDeleted}, .tree = tree};
  }
  return kept;
}

}  // namespace

Result<Workspaces::Work> Workspaces::without_ignored(const std::string& layer_id, const Source& source,
                                                     const std::vector<std::string>& below) {
  PAWL_TRY(const auto entries, manifest(layer_id));
  auto committed = Committed::of(source.path, source.base.git_commit);
  IgnoreRules rules;
  PAWL_OK(read_rules(View(trees_of(source.base.base_id, {})), entries, committed, rules));
  Work out{.layer_id = layer_id};
  if (rules.empty()) return out;
  const View lower(trees_of(source.base.base_id, below));
  const auto kept = kept_of(entries, layer_tree(layer_id), lower, [&](const Entry& entry) {
    return rules.names(committed.prefix() + entry.path, is_folder_in(lower, entry)) &&
           !committed.has(entry.path);
  });
  for (const auto& entry : entries) {
    if (kept.contains(entry.path)) continue;
    out.ignored_entries += 1;
    out.ignored_bytes += entry.size;
  }
  if (out.ignored_entries == 0) return out;
  PAWL_TRY(out.layer_id, keep_changes(folder_, kept));
  return out;
}

}  // namespace pawl::workspace
