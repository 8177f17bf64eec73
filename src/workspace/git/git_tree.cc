#include "workspace/git/git_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace pawl::workspace {
namespace {

Result<GitTree> tree_with(git_repository& repository, const git_oid& id, const std::string& path) {
  git_tree* tree = nullptr;
  if (git_tree_lookup(&tree, &repository, &id) != 0)
    return git_failure(ErrorKind::kCorrupt, "folder " + printable(path));
  return GitTree(tree);
}

Status list_into(git_repository& repository, const git_tree& tree, const std::string& prefix,
                 GitListing& out) {
  for (std::size_t i = 0; i < git_tree_entrycount(&tree); ++i) {
    const git_tree_entry* entry = git_tree_entry_byindex(&tree, i);
    const std::string path = prefix + git_tree_entry_name(entry);
    if (git_tree_entry_type(entry) == GIT_OBJECT_TREE) {
      PAWL_TRY(const auto below, tree_with(repository, *git_tree_entry_id(entry), path));
      PAWL_OK(list_into(repository, *below, path + "/", out));
    } else {
      // Old trees have other permissions; git reads them as the current ones.
      out[path] = {.mode = git_tree_entry_filemode(entry), .id = *git_tree_entry_id(entry)};
    }
  }
  return {};
}

struct RawEntry {
  unsigned mode = 0;
  git_oid id{};
};
using RawEntries = std::map<std::string, RawEntry>;

// Changes as a tree. A name can be changed itself and have changes below it.
struct Changed {
  const std::optional<GitEntry>* own = nullptr;
  std::map<std::string, Changed> below;
};

Changed as_tree(const GitChanges& changes) {
  Changed root;
  for (const auto& [path, change] : changes) {
    Changed* at = &root;
    for (std::size_t start = 0; start <= path.size();) {
      const auto end = std::min(path.find('/', start), path.size());
      at = &at->below[path.substr(start, end - start)];
      start = end + 1;
    }
    at->own = &change;
  }
  return root;
}

class TreeEditor {
 public:
  TreeEditor(git_repository& repository, git_odb& database) : repository_(repository), database_(database) {}

  // nullopt: no entry is left. `tree`: null where the tree has no folder.
  Result<std::optional<git_oid>> edit(const git_tree* tree, const std::string& path, const Changed& changed) {
    RawEntries entries;
    for (std::size_t i = 0; tree != nullptr && i < git_tree_entrycount(tree); ++i) {
      const git_tree_entry* entry = git_tree_entry_byindex(tree, i);
      entries[git_tree_entry_name(entry)] = {
          .mode = static_cast<unsigned>(git_tree_entry_filemode_raw(entry)), .id = *git_tree_entry_id(entry)};
    }
    for (const auto& [name, change] : changed.below) PAWL_OK(edit_one(entries, name, path + name, change));
    if (entries.empty()) return std::optional<git_oid>();
    PAWL_TRY(const git_oid id, write(entries));
    return std::optional(id);
  }

  Result<git_oid> write(const RawEntries& entries) {
    // git sorts names of folders as if they ended with a slash.
    std::map<std::string, std::string> lines;
    for (const auto& [name, entry] : entries) {
      std::string line = fmt::format("{:o} {}", entry.mode, name);
      line.append(1, '\0').append(reinterpret_cast<const char*>(entry.id.id), GIT_OID_RAWSZ);
      lines[name + (entry.mode == GIT_FILEMODE_TREE ? "/" : "")] = std::move(line);
    }
    std::string bytes;
    for (const auto& [name, line] : lines) bytes += line;
    git_oid id;
    if (git_odb_write(&id, &database_, bytes.data(), bytes.size(), GIT_OBJECT_TREE) != 0)
      return git_failure(ErrorKind::kUnavailable, "write tree");
    return id;
  }

 private:
  Status edit_one(RawEntries& entries, const std::string& name, const std::string& path,
                  const Changed& change) {
    const auto there = entries.find(name);
    const bool is_folder = there != entries.end() && there->second.mode == GIT_FILEMODE_TREE;
    std::optional<git_oid> folder;
    if (is_folder) folder = there->second.id;
    if (!change.below.empty()) {
      GitTree tree;
      if (is_folder) {
        PAWL_TRY(tree, tree_with(repository_, there->second.id, path));
      }
      PAWL_TRY(folder, edit(tree.get(), path + "/", change));
    }
    const bool made = change.own != nullptr && change.own->has_value();
    const bool stays = there != entries.end() && !is_folder && change.own == nullptr;
    if (folder && (made || stays))
      return fail(ErrorKind::kConflict, printable(path) + " would be a file and a folder");
    if (made)
      entries[name] = {.mode = static_cast<unsigned>((*change.own)->mode), .id = (*change.own)->id};
    else if (folder)
      entries[name] = {.mode = GIT_FILEMODE_TREE, .id = *folder};
    else if (!stays)
      entries.erase(name);
    return {};
  }

  git_repository& repository_;
  git_odb& database_;
};

}  // namespace

Result<GitTree> tree_at(git_commit& commit, const std::string& prefix) {
  git_tree* root = nullptr;
  if (git_commit_tree(&root, &commit) != 0) return git_failure(ErrorKind::kCorrupt, "commit");
  GitTree tree(root);
  if (prefix.empty()) return tree;
  git_tree_entry* entry = nullptr;
  if (git_tree_entry_bypath(&entry, root, prefix.substr(0, prefix.size() - 1).c_str()) != 0)
    return fail(ErrorKind::kInvalid,
                "source.path: " + prefix + " is not in the commit that source.ref names");
  const GitTreeEntry owner(entry);
  git_tree* below = nullptr;
  if (git_tree_lookup(&below, git_tree_owner(root), git_tree_entry_id(entry)) != 0)
    return git_failure(ErrorKind::kInvalid, "source.path: " + prefix + " is no folder in that commit");
  return GitTree(below);
}

Result<GitListing> listing_of(git_repository& repository, const git_tree& tree) {
  GitListing out;
  PAWL_OK(list_into(repository, tree, "", out));
  return out;
}

Result<git_oid> edit_tree(git_repository& repository, const git_tree* tree, const GitChanges& changes) {
  git_odb* raw = nullptr;
  if (git_repository_odb(&raw, &repository) != 0) return git_failure(ErrorKind::kUnavailable, "write tree");
  const GitOdb database(raw);
  TreeEditor editor(repository, *database);
  PAWL_TRY(const auto id, editor.edit(tree, "", as_tree(changes)));
  if (id) return *id;
  return editor.write({});
}

}  // namespace pawl::workspace
