// Makes bases of git trees. A base near to that of an earlier tree is stored as the difference from it.
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "base/hash.h"
#include "base/json.h"
#include "os/file.h"
#include "os/state_folder.h"
#include "workspace/bases.h"
#include "workspace/git/git_tree.h"
#include "workspace/git/tree_writer.h"
#include "workspace/objects.h"
#include "workspace/seal.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

// The suffix after a tree's name in the records. Records of an older Pawl lack it: their bases do not mark
// submodules, have other targets of links, or may have state folders.
constexpr std::string_view kTakenAs = ".4";
constexpr std::string_view kRecords = "git";
constexpr std::size_t kCandidatesMax = 16;  // The number of recently taken trees that are compared.

bool has_entry(const git_tree& tree, const std::string& path) {
  git_tree_entry* entry = nullptr;
  const bool found = git_tree_entry_bypath(&entry, &tree, path.c_str()) == 0;
  git_tree_entry_free(entry);
  return found;
}

// The rule of os::is_state_folder(), for the folder `path` of a tree.
bool is_state_folder(const git_tree& tree, const std::string& path) {
  return has_entry(tree, child(path, os::kStateKey)) &&
         std::ranges::any_of(os::kBesideStateKey,
                             [&](const char* name) { return has_entry(tree, child(path, name)); });
}

// `entries` are those that are new in `tree`: one of them makes a folder a state folder. Such a commit is
// refused, not taken in part: who has the repository has the keys, and its owner should know.
Status check_no_state_folder(const git_tree& tree, const std::vector<Entry>& entries) {
  std::vector<std::string> parts{os::kStateKey};
  std::ranges::copy(os::kBesideStateKey, std::back_inserter(parts));
  for (const auto& entry : entries)
    for (const auto& part : parts) {
      if (entry.path != part && !entry.path.ends_with("/" + part)) continue;
      const std::string folder =
          entry.path == part ? "" : entry.path.substr(0, entry.path.size() - part.size() - 1);
      if (!is_state_folder(tree, folder)) continue;
      return fail(
          ErrorKind::kInvalid,
          "source: the commit has a state folder of Pawl, with its keys: " +
              (folder.empty() ? "." : printable(folder)) +
              ". Who has the repository can sign with them. Remove it (`git rm -r --cached`), or name it in "
              "`source.exclude`");
    }
  return {};
}

// A tree that was taken before, and its base.
struct Taken {
  GitTree tree;
  std::string base_id;
  std::int64_t entries = 0;  // The entries in which it differs from the wanted tree.
};

class GitBases {
 public:
  GitBases(Workspaces& workspaces, git_repository& repository, const std::vector<std::string>& left_out,
           SoFar& so_far)
      : workspaces_(workspaces),
        folder_(workspaces.folder()),
        repository_(repository),
        so_far_(so_far),
        left_out_(left_out),
        taken_as_(taken_as(left_out)) {}

  Result<std::string> take(const git_tree& tree) {
    const std::string record = text_of(*git_tree_id(&tree)) + taken_as_;
    if (auto id = base_of_record(record)) return *std::move(id);
    std::string base_id;
    if (const auto near = nearest(tree)) {
      auto derived = derive_base(workspaces_, near->base_id, near->entries,
                                 [&] { return layer_between(*near->tree, tree); });
      // When the near base can't be built upon, take the whole tree: git has all of it.
      if (!derived && derived.error().kind != ErrorKind::kCorrupt &&
          derived.error().kind != ErrorKind::kNotFound)
        return derived;
      if (derived) base_id = *std::move(derived);
    }
    if (base_id.empty()) {
      PAWL_TRY(base_id, take_whole(tree));
    }
    PAWL_OK(keep_record(workspaces_, kRecords, record, base_id));
    return base_id;
  }

 private:
  // Bases with other patterns left out are different bases, and not near to these.
  static std::string taken_as(const std::vector<std::string>& left_out) {
    return std::string(kTakenAs) + (left_out.empty() ? "" : "." + blake3_hex(canonical(Json(left_out))));
  }

  std::optional<std::string> base_of_record(const std::string& name) const {
    auto id = record_of(workspaces_, kRecords, name);
    if (!id || !is_hash(*id) || !workspaces_.has_base(*id)) return std::nullopt;
    return *std::move(id);
  }

  Result<std::string> take_whole(const git_tree& tree) const {
    PAWL_TRY(auto temporary, make_temporary(folder_));
    TreeWriter writer(repository_, left_out_, so_far_, os::join(temporary.path(), "tree"));
    for (std::size_t i = 0; i < git_tree_entrycount(&tree); ++i) {
      const git_tree_entry* entry = git_tree_entry_byindex(&tree, i);
      PAWL_OK(writer.add(*entry, git_tree_entry_name(entry)));
    }
    PAWL_TRY(auto entries, writer.write());
    PAWL_OK(check_no_state_folder(tree, entries));
    return keep_object(folder_, "bases", std::move(temporary), std::move(entries));
  }

  // The names of the records in git/, the newest first.
  std::vector<std::string> taken_last() const {
    std::vector<std::pair<std::int64_t, std::string>> found;
    const std::string folder = object_folder(folder_, kRecords);
    const auto names = os::list_folder(folder);
    if (!names) return {};
    for (const auto& name : *names) {
      struct stat status {};
      if (lstat(os::join(folder, name).c_str(), &status) == 0)
        found.emplace_back(ns_of(status.st_mtim), name);
    }
    std::ranges::sort(found, std::greater());
    std::vector<std::string> out;
    for (auto& [when, name] : found) out.push_back(std::move(name));
    return out;
  }

  // The tree that a record names. Null when it is of another repository, or git no longer has it.
  GitTree tree_of_name(const std::string& name) const {
    git_oid id;
    git_tree* tree = nullptr;
    if (name.size() != GIT_OID_HEXSZ + taken_as_.size() || !name.ends_with(taken_as_) ||
        git_oid_fromstr(&id, name.substr(0, GIT_OID_HEXSZ).c_str()) != 0 ||
        git_tree_lookup(&tree, &repository_, &id) != 0)
      return GitTree();
    return GitTree(tree);
  }

  // The number of entries in which `before` and `now` differ; nullopt when it is more than `most`.
  std::optional<std::int64_t> distance(const git_tree& before, const git_tree& now, std::int64_t most) const {
    std::int64_t count = 0;
    const auto counted = compare_trees(repository_, &before, &now,
                                       [&](const std::string& path, const git_tree_entry* entry) -> Status {
                                         if (is_left_out(left_out_, path)) return {};
                                         std::int64_t added = 1;
                                         if (entry != nullptr) {
                                           PAWL_TRY(added, count_entries(repository_, *entry, most - count));
                                         }
                                         count += added;
                                         if (count > most) return fail(ErrorKind::kExhausted, "far");
                                         return {};
                                       });
    return counted ? std::optional(count) : std::nullopt;
  }

  std::optional<Taken> nearest(const git_tree& tree) const {
    std::optional<Taken> out;
    std::size_t compared = 0;
    std::int64_t most = kDerivedEntriesMax;
    for (const auto& name : taken_last()) {
      if (compared == kCandidatesMax || most < 0) break;
      auto other = tree_of_name(name);
      auto base_id = other ? base_of_record(name) : std::nullopt;
      if (!base_id) continue;
      ++compared;
      const auto entries = distance(*other, tree, most);
      if (!entries) continue;
      most = *entries - 1;
      out = Taken{.tree = std::move(other), .base_id = *std::move(base_id), .entries = *entries};
    }
    return out;
  }

  Result<std::string> layer_between(const git_tree& before, const git_tree& now) const {
    PAWL_TRY(auto temporary, make_temporary(folder_));
    TreeWriter writer(repository_, left_out_, so_far_, os::join(temporary.path(), "tree"));
    PAWL_OK(
        compare_trees(repository_, &before, &now, [&](const std::string& path, const git_tree_entry* entry) {
          return entry != nullptr ? writer.add(*entry, path) : writer.remove(path);
        }));
    PAWL_TRY(auto entries, writer.write());
    PAWL_OK(check_no_state_folder(now, entries));
    return keep_object(folder_, "layers", std::move(temporary), std::move(entries));
  }

  Workspaces& workspaces_;
  const std::string& folder_;
  git_repository& repository_;
  SoFar& so_far_;
  const std::vector<std::string>& left_out_;
  const std::string taken_as_;  // The suffix after the name of a tree.
};

}  // namespace

Result<Base> Workspaces::snapshot_git(const std::string& path, const std::string& ref,
                                      const std::vector<std::string>& left_out) {
  PAWL_TRY(const auto found, find_repository(path));
  PAWL_TRY(const auto commit, find_commit(*found.repository, ref));
  PAWL_TRY(const auto tree, tree_at(*commit, found.prefix));
  Base base{.git_commit = text_of(*git_commit_id(commit.get()))};
  PAWL_TRY(base.base_id, GitBases(*this, *found.repository, left_out, *so_far_).take(*tree));
  return base;
}

}  // namespace pawl::workspace
