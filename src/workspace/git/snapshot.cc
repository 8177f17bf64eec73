// Makes bases of folders, stored once by content.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "base/hash.h"
#include "base/json.h"
#include "base/seal.h"
#include "os/clock.h"
#include "os/file.h"
#include "workspace/bases.h"
#include "workspace/folder_look.h"
#include "workspace/git/git_tree.h"
#include "workspace/objects.h"
#include "workspace/seal.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kFolders = "folders";
constexpr std::int64_t kStampUnsureNs = 2'000'000'000;  // The coarsest times of a file system.

// Files that were written a moment before the look are read again the next time. They could be written once
// more without a newer time.
void forget_unsure(std::vector<Looked>& entries, std::int64_t began_ns) {
  for (auto& looked : entries)
    if (std::max(looked.stamp.written_ns, looked.stamp.changed_ns) >= began_ns - kStampUnsureNs)
      looked.stamp = {};
}

std::string id_of(const std::vector<Looked>& looked) {
  std::vector<Entry> entries;
  for (const auto& each : looked) entries.push_back(each.entry);
  std::ranges::sort(entries, {}, &Entry::path);
  return blake3_hex(manifest_of(entries));
}

// The id of HEAD, and the submodules that HEAD has below a folder, by path. Empty when there is no commit.
struct Head {
  std::string commit;
  std::map<std::string, std::string> submodules;
};

// The submodules that the index has below `prefix`. nullopt: libgit2 can't read the index.
std::optional<std::map<std::string, std::string>> submodules_in_index(git_repository& repository,
                                                                      const std::string& prefix) {
  const auto index = index_of(repository);
  if (!index) return std::nullopt;
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < git_index_entrycount(index.get()); ++i) {
    const git_index_entry& entry = *git_index_get_byindex(index.get(), i);
    const std::string_view path = entry.path;
    if (entry.mode == GIT_FILEMODE_COMMIT && path.starts_with(prefix))
      out[std::string(path.substr(prefix.size()))] = text_of(entry.id);
  }
  return out;
}

// Cached for each tree: reading all trees of a commit costs more than a look at an unchanged folder.
Result<std::map<std::string, std::string>> submodules_at(const Workspaces& workspaces,
                                                         const FoundRepository& found, const git_tree& tree) {
  const std::string known = text_of(*git_tree_id(&tree)) + ".submodules";
  if (const auto text = record_of(workspaces, "git", known))
    if (auto json = parse_json(*text);
        json && json->is_object() &&
        std::ranges::all_of(*json, [](const Json& each) { return each.is_string(); }))
      return json->get<std::map<std::string, std::string>>();
  const auto listing = listing_of(*found.repository, tree);
  if (!listing) {
    // A clone with `--filter=tree:0` need not have trees outside of a sparse checkout: they are kInvalid.
    if (listing.error().kind != ErrorKind::kInvalid) return std::unexpected(listing.error());
    if (const auto in_index = submodules_in_index(*found.repository, found.prefix)) return *in_index;
    return std::unexpected(listing.error());
  }
  std::map<std::string, std::string> out;
  for (const auto& [path, entry] : *listing)
    if (entry.mode == GIT_FILEMODE_COMMIT) out[path] = text_of(entry.id);
  PAWL_OK(keep_record(workspaces, "git", known, canonical(Json(out))));
  return out;
}

Result<Head> head_of(const Workspaces& workspaces, const std::string& path) {
  Head out;
  const auto found = find_repository(path);
  if (!found) return out;
  const auto commit = head_commit(*found->repository);
  if (!commit) return out;
  out.commit = text_of(*git_commit_id(commit->get()));
  const auto tree = tree_at(**commit, found->prefix);
  if (!tree) return out;
  PAWL_TRY(out.submodules, submodules_at(workspaces, *found, **tree));
  return out;
}

void mark_submodules(const std::map<std::string, std::string>& submodules, Entry& entry) {
  if (entry.type != EntryType::kFolder) return;
  const auto found = submodules.find(entry.path);
  entry.content = found == submodules.end() ? "" : found->second;
}

// Turns a folder into a base. In this order: the base of the last time, an existing base, the difference from
// the base of the last time, or a copy.
class FolderBase {
 public:
  FolderBase(Workspaces& workspaces, const std::string& path, const Without& without, const Head& head,
             SoFar& so_far)
      : workspaces_(workspaces),
        path_(path),
        without_(without),
        submodules_(head.submodules),
        so_far_(so_far) {}

  Result<std::string> take() {
    const std::int64_t began_ns = os::SystemClock().wall().micros * 1000;
    struct stat state {};
    if (stat(workspaces_.folder().c_str(), &state) != 0)
      return fail_errno(errno, "read", workspaces_.folder());
    const std::string name = memory_name();
    const std::string path = os::join(object_folder(workspaces_.folder(), kFolders), name);
    const Seal seal(workspaces_.key(), std::string(kFolders) + "/" + name);
    memory_ = FolderMemory::load(path, seal);
    PAWL_TRY(auto look, look_at(path_, without_, state, memory_, so_far_));
    const bool is_known = look.is_as_remembered && workspaces_.has_base(memory_.base_id());
    if (is_known && !look.has_new_stamps) return memory_.base_id();
    if (look.is_as_remembered && !look.has_new_stamps) look.entries = memory_.looked();
    for (auto& looked : look.entries) mark_submodules(submodules_, looked.entry);
    std::string id = is_known ? memory_.base_id() : id_of(look.entries);
    if (!workspaces_.has_base(id)) {
      PAWL_TRY(const std::string kept, keep(look.entries));
      // A process wrote in between: the look does not describe this base.
      if (kept != id) return kept;
    }
    forget_unsure(look.entries, began_ns);
    PAWL_OK(FolderMemory::save(path, seal, id, look.entries));
    return id;
  }

 private:
  std::string memory_name() const {
    std::string key = path_;
    for (const auto& folder : without_.folders) key += '\0' + folder;
    for (const auto& pattern : without_.patterns) key += '\0' + without_.above + '\0' + pattern;
    for (const auto& [folder, commit] : submodules_) key += '\0' + folder + '\0' + commit;
    return blake3_hex(key);
  }

  Result<std::string> keep(const std::vector<Looked>& entries) const {
    if (workspaces_.has_base(memory_.base_id())) {
      const auto changed = changed_since(entries);
      auto derived = derive_base(workspaces_, memory_.base_id(), static_cast<std::int64_t>(changed.size()),
                                 [&] { return copy_to("layers", changed); });
      // When the last base can't be built upon, copy the folder: it has all files.
      if (derived ? !derived->empty() : derived.error().kind != ErrorKind::kCorrupt) return derived;
    }
    return copy_to("bases", entries);
  }

  Result<std::string> copy_to(std::string_view kind, const std::vector<Looked>& entries) const {
    PAWL_TRY(auto temporary, make_temporary(workspaces_.folder()));
    PAWL_TRY(auto copied, copy_looked(path_, entries, os::join(temporary.path(), "tree"), so_far_));
    for (auto& entry : copied) mark_submodules(submodules_, entry);
    return keep_object(workspaces_.folder(), kind, std::move(temporary), std::move(copied));
  }

  // The differences between the folder and the last base. Times count, too: otherwise a build takes an old
  // program for a new one.
  std::vector<Looked> changed_since(const std::vector<Looked>& entries) const {
    std::map<std::string_view, const Remembered*> before;
    std::map<std::string_view, const Looked*> now;
    for (const auto& remembered : memory_.entries()) before[remembered.path] = &remembered;
    std::vector<Looked> out;
    for (const auto& looked : entries) {
      now[looked.entry.path] = &looked;
      const auto old = before.find(looked.entry.path);
      if (old == before.end() || !old->second->is(looked.entry)) out.push_back(looked);
    }
    for (const auto& remembered : memory_.entries()) {
      const std::string path(remembered.path);
      if (now.contains(path)) continue;
      const std::string above = parent_of(path);
      const auto parent = now.find(above);
      const bool is_top =
          above.empty() || (parent != now.end() && parent->second->entry.type == EntryType::kFolder);
      if (is_top) out.push_back({.entry = {.path = path, .type = EntryType::kDeleted}});
    }
    return out;
  }

  Workspaces& workspaces_;
  const std::string& path_;
  const Without& without_;
  const std::map<std::string, std::string>& submodules_;
  SoFar& so_far_;
  FolderMemory memory_;
};

}  // namespace

Result<Base> Workspaces::snapshot_directory(const std::string& path, const Without& without) {
  PAWL_TRY(const auto head, head_of(*this, path));
  Base base{.git_commit = head.commit};
  PAWL_TRY(base.base_id, FolderBase(*this, path, without, head, *so_far_).take());
  return base;
}

Result<std::string> Workspaces::content_id(const std::string& path) const {
  if (!os::is_folder(path)) return hash_of_file(path);
  const FolderMemory no_memory;
  PAWL_TRY(const auto look, look_at(path, {}, {}, no_memory, *so_far_));
  return id_of(look.entries);
}

}  // namespace pawl::workspace
