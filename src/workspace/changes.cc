#include "workspace/changes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ranges>

#include "os/file.h"
#include "workspace/objects.h"

namespace pawl::workspace {
namespace {

void apply_entry(const View& base, Entry entry, const std::string& tree, Changes& changes) {
  const auto before = changes.find(entry.path);
  const bool hidden = before != changes.end() && before->second.entry.type != EntryType::kFolder;
  if (entry.type != EntryType::kFolder) erase_below(changes, entry.path);
  if (entry.type == EntryType::kDeleted && !base.find(entry.path)) {
    changes.erase(entry.path);  // Made by a layer, and deleted by a later one.
    return;
  }
  Change& change = changes[entry.path];
  change = {.entry = std::move(entry), .tree = tree};
  const std::string& folder = change.entry.path;
  if (change.entry.type != EntryType::kFolder || !hidden || !base.has_folder(folder)) return;
  for (const auto& name : base.names(folder)) {
    const std::string path = child(folder, name);
    changes[path] = {.entry = {.path = path, .type = EntryType::kDeleted}, .tree = tree};
  }
}

// Makes the folders above the change, with the permissions that they have in its tree.
Status make_parents(const std::string& root, const Change& change) {
  const std::string& path = change.entry.path;
  for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    struct stat status {};
    const bool known = lstat(os::join(change.tree, folder).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    const std::string made = os::join(root, folder);
    if (mkdir(made.c_str(), 0755) != 0 && errno == EEXIST) continue;
    if (known && chmod(made.c_str(), status.st_mode & 0777U) != 0)
      return fail_errno(errno, "make folder", made);
  }
  return {};
}

Status put(const std::string& root, const Change& change) {
  PAWL_OK(make_parents(root, change));
  const std::string to = os::join(root, change.entry.path);
  const std::string from = os::join(change.tree, change.entry.path);
  const auto made = [&](int result) -> Status {
    if (result != 0) return fail_errno(errno, "make layer", to);
    return {};
  };
  switch (change.entry.type) {
    case EntryType::kFile:
      return made(link(from.c_str(), to.c_str()));
    case EntryType::kSymlink:
      PAWL_OK(made(symlink(change.entry.content.c_str(), to.c_str())));
      return os::copy_times(from, to);
    case EntryType::kDeleted:
      return made(mknod(to.c_str(), S_IFCHR, 0));
    case EntryType::kFolder:
      if (mkdir(to.c_str(), 0755) != 0 && errno != EEXIST) return fail_errno(errno, "make layer", to);
      return made(chmod(to.c_str(), change.entry.mode));
  }
  return {};
}

// Sets the times of folders, the deepest first: an entry that is put into a folder changes its time.
Status put_folder_times(const std::string& root, const Changes& changes) {
  std::map<std::string, std::string> trees;
  for (const auto& [path, change] : changes) {
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      trees.try_emplace(path.substr(0, slash), change.tree);
    if (change.entry.type == EntryType::kFolder) trees[path] = change.tree;
  }
  for (const auto& [folder, tree] : trees | std::views::reverse) {
    const std::string from = os::join(tree, folder);
    if (os::exists(from)) PAWL_OK(os::copy_times(from, os::join(root, folder)));
  }
  return {};
}

}  // namespace

Result<Changes> changes_of(const Workspaces& workspaces, const View& base,
                           const std::vector<std::string>& layers) {
  Changes changes;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const std::string tree = workspaces.layer_tree(*layer);
    PAWL_OK(each_entry(workspaces, *layer, [&](Entry entry) -> Status {
      apply_entry(base, std::move(entry), tree, changes);
      return {};
    }));
  }
  return changes;
}

void drop_unchanged(const View& below, Changes& changes) {
  std::erase_if(changes, [&](const auto& change) {
    const Entry& entry = change.second.entry;
    const auto before = below.find(entry.path);
    struct stat status {};
    if (!before || lstat(before->c_str(), &status) != 0) return false;
    // A file of another size is not read.
    if (entry.type == EntryType::kFile && (!S_ISREG(status.st_mode) || status.st_size != entry.size))
      return false;
    const auto same = entry_of(*before, entry.path);
    return same && *same == entry;
  });
}

Status add_folders_between(const View& below, Changes& changes) {
  // Folders that no change names, and the tree that each would come from.
  std::map<std::string, std::string> trees;
  for (const auto& [path, change] : changes)
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      if (auto folder = path.substr(0, slash); !changes.contains(folder))
        trees.try_emplace(std::move(folder), change.tree);
  for (const auto& [folder, tree] : trees) {
    struct stat ours {};
    if (lstat(os::join(tree, folder).c_str(), &ours) != 0 || !below.has_folder(folder)) continue;
    PAWL_TRY(auto theirs, entry_of(*below.find(folder), folder));
    if (S_ISDIR(ours.st_mode) && (ours.st_mode & 0777U) != theirs.mode)
      changes[folder] = {.entry = std::move(theirs), .tree = tree};
  }
  return {};
}

Result<std::string> keep_changes(const std::string& folder, const Changes& changes) {
  if (changes.empty()) return std::string();
  PAWL_TRY(auto temporary, make_temporary(folder));
  const std::string root = os::join(temporary.path(), "tree");
  PAWL_OK(os::make_folders(root));
  std::vector<Entry> entries;
  for (const auto& [path, change] : changes) {
    PAWL_OK(put(root, change));
    entries.push_back(change.entry);
  }
  PAWL_OK(put_folder_times(root, changes));
  return keep_object(folder, "layers", std::move(temporary), std::move(entries));
}

}  // namespace pawl::workspace
