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

// The commit that a source was taken from. Nothing is committed of a source that lies in no repository, or in
// a folder that its commit does not have. Of one whose repository can't be read now, all that the base has
// is: the work of an agent is not lost for it.
class Committed {
 public:
  static Committed of(const std::string& source, const std::string& commit, const View& base) {
    Committed out;
    if (commit.empty()) return out;
    auto found = find_repository(source);
    const auto at = found ? find_commit(*found->repository, commit) : fail(ErrorKind::kNotFound, commit);
    git_tree* root = nullptr;
    if (!at || git_commit_tree(&root, at->get()) != 0) {
      out.base_ = &base;
      return out;
    }
    out.root_ = GitTree(root);
    out.repository_ = std::move(found->repository);
    if (!found->prefix.empty() && !out.find(found->prefix.substr(0, found->prefix.size() - 1)))
      return Committed();
    out.prefix_ = std::move(found->prefix);
    return out;
  }

  const std::string& prefix() const { return prefix_; }  // of the source in it: "" or "a/b/"

  // A path of the source. git never ignores what is committed.
  bool has(const std::string& path) {
    if (base_ != nullptr) return base_->find(path).has_value();
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
  const View* base_ = nullptr;  // that stands in for the commit
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
    else if (const Entry file{.path = folder->path, .type = EntryType::kDeleted};
             lower.find(folder->path) && !lower.has_folder(folder->path) && !is_ignored(file))
      kept[folder->path] = {.entry = {.path = folder->path, .type = EntryType::kDeleted}, .tree = tree};
  }
  return kept;
}

}  // namespace

Result<Workspaces::Work> Workspaces::without_ignored(const std::string& layer_id, const Source& source,
                                                     const std::vector<std::string>& below) {
  PAWL_TRY(const auto entries, manifest(layer_id));
  const View base(trees_of(source.base.base_id, {}));
  auto committed = Committed::of(source.path, source.base.git_commit, base);
  IgnoreRules rules;
  PAWL_OK(read_rules(base, entries, committed, rules));
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
