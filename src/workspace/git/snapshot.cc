// Bases of folders, kept once by content.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/hash.h"
#include "base/json.h"
#include "os/clock.h"
#include "os/file.h"
#include "workspace/bases.h"
#include "workspace/folder_look.h"
#include "workspace/git/git_tree.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

std::string id_of(const std::vector<Looked>& looked) {
  std::vector<Entry> entries;
  for (const auto& each : looked) entries.push_back(each.entry);
  std::ranges::sort(entries, {}, &Entry::path);
  return blake3_hex(manifest_of(entries));
}

// The submodules that HEAD has below a folder, by path, and the id of HEAD; nothing where there is no commit.
struct Head {
  std::string commit;
  std::map<std::string, std::string> submodules;
};

// Reading all trees of a commit costs more than a look at an unchanged folder: it is done once a tree.
Result<std::map<std::string, std::string>> submodules_at(const std::string& folder,
                                                         git_repository& repository, const git_tree& tree) {
  const std::string known =
      os::join(object_folder(folder, "git"), text_of(*git_tree_id(&tree)) + ".submodules");
  if (const auto text = os::read_file(known, kManifestBytesMax))
    if (auto json = parse_json(*text);
        json && json->is_object() &&
        std::ranges::all_of(*json, [](const Json& each) { return each.is_string(); }))
      return json->get<std::map<std::string, std::string>>();
  PAWL_TRY(const auto listing, listing_of(repository, tree));
  std::map<std::string, std::string> out;
  for (const auto& [path, entry] : listing)
    if (entry.mode == GIT_FILEMODE_COMMIT) out[path] = text_of(entry.id);
  PAWL_OK(os::write_atomically(known, canonical(Json(out))));
  return out;
}

Result<Head> head_of(const std::string& folder, const std::string& path) {
  Head out;
  const auto found = find_repository(path);
  if (!found) return out;
  const auto commit = find_commit(*found->repository, "HEAD");
  if (!commit) return out;
  out.commit = text_of(*git_commit_id(commit->get()));
  const auto tree = tree_at(**commit, found->prefix);
  if (!tree) return out;
  PAWL_TRY(out.submodules, submodules_at(folder, *found->repository, **tree));
  return out;
}

void mark_submodules(const std::map<std::string, std::string>& submodules, Entry& entry) {
  if (entry.type != EntryType::kFolder) return;
  const auto found = submodules.find(entry.path);
  entry.content = found == submodules.end() ? "" : found->second;
}

// A folder becomes a base: the one that it was the last time, one that is there, what tells it from that of
// the last time, or a copy.
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
    memory_ = FolderMemory::load(memory_path());
    PAWL_TRY(auto look, look_at(path_, without_, state, memory_, so_far_));
    if (look.is_as_remembered && workspaces_.has_base(memory_.base_id())) return memory_.base_id();
    for (auto& looked : look.entries) mark_submodules(submodules_, looked.entry);
    std::string id = id_of(look.entries);
    if (!workspaces_.has_base(id)) {
      PAWL_TRY(const std::string kept, keep(look.entries));
      if (kept != id) return kept;  // somebody wrote in between: the look says nothing of this base
    }
    PAWL_OK(FolderMemory::save(memory_path(), id, began_ns, look.entries));
    return id;
  }

 private:
  std::string memory_path() const {
    std::string key = path_;
    for (const auto& folder : without_.folders) key += '\0' + folder;
    for (const auto& pattern : without_.patterns) key += '\0' + without_.above + '\0' + pattern;
    for (const auto& [folder, commit] : submodules_) key += '\0' + folder + '\0' + commit;
    return os::join(object_folder(workspaces_.folder(), "folders"), blake3_hex(key));
  }

  Result<std::string> keep(const std::vector<Looked>& entries) const {
    if (workspaces_.has_base(memory_.base_id())) {
      const auto changed = changed_since(entries);
      auto derived = derive_base(workspaces_, memory_.base_id(), static_cast<std::int64_t>(changed.size()),
                                 [&] { return copy_to("layers", changed); });
      // What can't be built upon is not built upon: the folder has all of it.
      if (derived ? !derived->empty() : derived.error().kind != ErrorKind::kCorrupt) return derived;
    }
    return copy_to("bases", entries);
  }

  Result<std::string> copy_to(std::string_view kind, const std::vector<Looked>& entries) const {
    PAWL_TRY(const std::string temporary, make_temporary(workspaces_.folder()));
    PAWL_TRY(auto copied, copy_looked(path_, entries, os::join(temporary, "tree"), so_far_));
    for (auto& entry : copied) mark_submodules(submodules_, entry);
    return keep_object(workspaces_.folder(), kind, temporary, std::move(copied));
  }

  // What tells the folder from the last base, also in its times: a build would take an old program for a
  // new one.
  std::vector<Looked> changed_since(const std::vector<Looked>& entries) const {
    std::map<std::string_view, const Looked*> before, now;
    for (const auto& looked : memory_.entries()) before[looked.entry.path] = &looked;
    std::vector<Looked> out;
    for (const auto& looked : entries) {
      now[looked.entry.path] = &looked;
      const auto old = before.find(looked.entry.path);
      if (old == before.end() || old->second->entry != looked.entry) out.push_back(looked);
    }
    for (const auto& looked : memory_.entries()) {
      const std::string& path = looked.entry.path;
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

bool is_file_or_link(const Entry& entry) {
  return entry.type == EntryType::kFile || entry.type == EntryType::kSymlink;
}

// Files and links.
Result<std::vector<Entry>> entries_shown(const View& view) {
  std::vector<Entry> out;
  Status status;
  view.each_file("", [&](const std::string& path) {
    auto entry = entry_of(*view.find(path), path);
    if (entry)
      out.push_back(*std::move(entry));
    else if (status)
      status = std::unexpected(std::move(entry).error());
  });
  PAWL_OK(status);
  return out;
}

// What a patch is made of. Other permissions than to execute are as the umask of that day left them.
Status check_same(const std::string& tree, std::vector<Entry> kept, std::vector<Entry> there) {
  for (auto* entries : {&kept, &there}) {
    std::erase_if(*entries, [](const Entry& entry) { return !is_file_or_link(entry); });
    for (auto& entry : *entries) {
      entry.mode &= 0100U;
      entry.mtime_ns = 0;  // a restored backup may have others
    }
    std::ranges::sort(*entries, {}, &Entry::path);
  }
  if (kept == there) return {};
  const auto [one, other] = std::ranges::mismatch(kept, there);
  return fail(ErrorKind::kCorrupt, os::join(tree, one == kept.end() ? other->path : one->path) +
                                       " was changed since it was kept; restore the folder from a backup");
}

}  // namespace

Result<Base> Workspaces::snapshot_directory(const std::string& path, const Without& without) {
  PAWL_TRY(const auto head, head_of(folder_, path));
  Base base{.git_commit = head.commit};
  PAWL_TRY(base.base_id, FolderBase(*this, path, without, head, *so_far_).take());
  return base;
}

Result<std::string> Workspaces::content_id(const std::string& path) const {
  if (!os::is_folder(path)) return hash_of_file(path);
  FolderMemory nothing;
  PAWL_TRY(const auto look, look_at(path, {}, {}, nothing, *so_far_));
  return id_of(look.entries);
}

Status Workspaces::check_content(const std::string& base_id, const std::vector<std::string>& layers) const {
  PAWL_TRY(const auto base, BaseManifest::open(*this, base_id));
  PAWL_TRY(const std::string text, base.text());
  PAWL_TRY(auto kept, parse_manifest(text));
  PAWL_TRY(auto shown, entries_shown(View(trees_of(base_id, {}))));
  PAWL_OK(check_same(base_tree(base_id), std::move(kept), std::move(shown)));
  for (const auto& layer : layers) {
    PAWL_TRY(const auto entries, manifest(layer));
    std::vector<Entry> there;
    for (const auto& entry : entries) {
      if (!is_file_or_link(entry)) continue;
      PAWL_TRY(auto found, entry_of(os::join(layer_tree(layer), entry.path), entry.path));
      there.push_back(std::move(found));
    }
    PAWL_OK(check_same(layer_tree(layer), entries, std::move(there)));
  }
  return {};
}

}  // namespace pawl::workspace
