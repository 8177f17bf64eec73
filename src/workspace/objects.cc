// Opens the object store, stores blobs, and finds garbage.
#include "workspace/objects.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <deque>
#include <functional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/held_tree.h"
#include "os/random.h"
#include "workspace/bases.h"
#include "workspace/folder_look.h"
#include "workspace/repositories.h"
#include "workspace/seal.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

// Temporaries of an older Pawl have no lock. No process still works on one of this age.
constexpr std::time_t kTemporaryAgeSeconds = 3600;
constexpr std::string_view kTemporaryStem = "object";
constexpr std::int64_t kLockPauseMs = 5;
constexpr std::int64_t kLockPatienceMs = 30'000;  // Most processes hold the store for milliseconds.

constexpr std::string_view kKinds[] = {"blobs",  "bases",   "layers",  "git",         "tmp",
                                       "merges", "derived", "folders", "repositories"};

// Durable, including the folder's own name.
Status make_shard(const std::string& path) {
  if (const auto there = os::facts_of(path); there && there->is_link)
    return fail(ErrorKind::kDenied,
                path + " is a symbolic link, so objects would be written elsewhere; remove it");
  if (os::is_folder(path)) return {};
  PAWL_OK(os::make_folders(path));
  return os::fsync_folder("objects.shard", os::folder_of(path));
}

// The differences in time between a layer that was made again and its stored twin. Times are not part of its
// id.
struct Anew {
  std::vector<std::pair<std::string, std::string>> files;  // Files with other times: made path, stored path.
  std::vector<std::pair<std::string, timespec>> others;    // Stored folders and links, and their new times.
};

Status compare_times(const std::string& made, const std::string& kept, Anew& out) {
  PAWL_TRY(const auto names, os::list_folder(made));
  for (const auto& name : names) {
    const std::string from = os::join(made, name), to = os::join(kept, name);
    struct stat now {
    }, before{};
    if (lstat(from.c_str(), &now) != 0 || lstat(to.c_str(), &before) != 0)
      return fail_errno(errno, "look at", to);
    const bool is_same =
        now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
    if (S_ISREG(now.st_mode) && !is_same) out.files.emplace_back(from, to);
    if (S_ISDIR(now.st_mode)) PAWL_OK(compare_times(from, to, out));
    if (S_ISDIR(now.st_mode) || S_ISLNK(now.st_mode)) out.others.emplace_back(to, now.st_mtim);
  }
  return {};
}

// Gives the stored layer the times of its newly made twin. Otherwise a build takes a source from the day when
// the layer was first made for older than its product. New files replace the stored ones, which bases and
// other layers may share.
Status renew_times(const std::string& made, const std::string& kept, std::size_t entries) {
  Anew anew;
  PAWL_OK(compare_times(made, kept, anew));
  if (!anew.files.empty()) PAWL_OK(sync_tree("layers", made, entries));
  for (const auto& [from, to] : anew.files)
    if (rename(from.c_str(), to.c_str()) != 0) return fail_errno(errno, "rename to", to);
  for (const auto& [path, time] : anew.others) {
    const std::array<timespec, 2> times = {time, time};
    if (utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(errno, "set the times of", path);
  }
  return {};
}

}  // namespace

std::string lock_path(const std::string& folder) { return object_folder(folder, "lock"); }

std::string object_folder(const std::string& folder, std::string_view kind) {
  return os::join(os::join(folder, "objects"), kind);
}

Result<os::TemporaryFolder> make_temporary(const std::string& folder) {
  PAWL_TRY(auto out, os::TemporaryFolder::make(os::join(object_folder(folder, "tmp"), kTemporaryStem)));
  if (chmod(out.path().c_str(), 0755) != 0) return fail_errno(errno, "chmod", out.path());
  return out;
}

Result<std::string> keep_object(const std::string& folder, std::string_view kind,
                                os::TemporaryFolder temporary, std::vector<Entry> entries, bool renews) {
  std::ranges::sort(entries, {}, &Entry::path);
  const std::string manifest = manifest_of(entries);
  const std::string id = blake3_hex(manifest);
  const std::string target = os::join(object_folder(folder, kind), id);
  if (os::exists(target)) {
    if (kind == "layers" && renews)
      PAWL_OK(renew_times(os::join(temporary.path(), "tree"), os::join(target, "tree"), entries.size()));
    return id;
  }
  PAWL_OK(os::write_atomically(os::join(temporary.path(), "manifest.jsonl"), manifest));
  PAWL_OK(sync_tree(kind, temporary.path(), entries.size()));
  auto renamed = os::rename_durably(kind, temporary.path(), target);
  // Another process stored the same content a moment ago.
  if (!renamed && !os::exists(target)) return std::unexpected(renamed.error());
  if (renamed) temporary.release();
  return id;
}

std::string manifest_path(const std::string& folder, std::string_view kind, const std::string& id) {
  return os::join(os::join(object_folder(folder, kind), id), "manifest.jsonl");
}

namespace {

// Teams share folders. A new entry in a shared folder may get another group than ours, by the set-group-ID
// bit, or other permissions than asked for, by a default ACL. A sandbox can map only our own group. The files
// of its command would have other permissions on each machine.
Status take_own_rights(const std::string& folder) {
  struct stat status {};
  constexpr const char* kForNew = "system.posix_acl_default";
  const auto is_of_ours = [&](const std::string& path) {
    return lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
           (status.st_gid == getegid() && (status.st_mode & S_ISGID) == 0 &&
            lgetxattr(path.c_str(), kForNew, nullptr, 0) < 0);
  };
  if (is_of_ours(folder)) return {};
  std::vector<std::string> folders{folder, os::join(folder, "objects"), os::join(folder, "work"),
                                   os::join(folder, "spool"), os::join(folder, "homes")};
  for (const std::string_view kind : kKinds) folders.push_back(object_folder(folder, kind));
  for (const auto& path : folders) {
    if (is_of_ours(path)) continue;
    lremovexattr(path.c_str(), kForNew);
    if (lchown(path.c_str(), geteuid(), getegid()) != 0 || chmod(path.c_str(), status.st_mode & 0777U) != 0)
      return fail_errno(errno, "take over the group of", path);
  }
  return {};
}

}  // namespace

Result<Workspaces> Workspaces::open(std::string folder) {
  PAWL_OK(os::make_private_folder(folder));
  PAWL_OK(take_own_rights(folder));
  const std::string ignore = os::join(folder, ".gitignore");
  if (!os::exists(ignore) || !os::is_folder(object_folder(folder, "repositories"))) {
    PAWL_OK(os::make_private_folder(os::join(folder, "objects")));
    for (const std::string_view kind : kKinds) PAWL_OK(os::make_private_folder(object_folder(folder, kind)));
    PAWL_OK(os::write_atomically(ignore, "*\n"));
  }
  std::string key(kHashKeySize, '\0');
  os::SystemRandom().fill({reinterpret_cast<unsigned char*>(key.data()), key.size()});
  return Workspaces(std::move(folder), std::move(key));
}

std::string Workspaces::blob_path(const std::string& id) const {
  return os::join(object_folder(folder_, "blobs"),
                  id.substr(0, 2) + "/" + id.substr(std::min<std::size_t>(2, id.size())));
}

Result<std::string> Workspaces::put_blob(std::string_view bytes) {
  const std::string id = blake3_hex(bytes);
  const std::string path = blob_path(id);
  if (os::exists(path)) return id;
  PAWL_OK(make_shard(os::folder_of(path)));
  PAWL_OK(os::write_durably("blob", path, bytes, 0600));
  return id;
}

Result<std::string> Workspaces::put_blob_file(const std::string& path) {
  PAWL_TRY(const std::string id, hash_of_file(path));
  const std::string target = blob_path(id);
  if (os::exists(target)) {
    PAWL_OK(os::remove_tree(path));
    return id;
  }
  PAWL_OK(make_shard(os::folder_of(target)));
  PAWL_OK(os::fsync_file("blob", path));
  PAWL_OK(os::rename_durably("blob", path, target));
  return id;
}

Result<std::string> Workspaces::get_blob(const std::string& id, std::uint64_t bytes_max) const {
  if (!is_hash(id)) return fail(ErrorKind::kInvalid, "not an object id: " + id);
  return os::read_file(blob_path(id), bytes_max);
}

std::string Workspaces::base_tree(const std::string& base_id) const {
  return os::join(os::join(object_folder(folder_, "bases"), base_id), "tree");
}

std::string Workspaces::layer_tree(const std::string& layer_id) const {
  return os::join(os::join(object_folder(folder_, "layers"), layer_id), "tree");
}

Result<std::vector<Entry>> Workspaces::manifest(const std::string& layer_id) const {
  std::vector<Entry> out;
  PAWL_OK(each_entry(*this, layer_id, [&](Entry entry) -> Status {
    out.push_back(std::move(entry));
    return {};
  }));
  return out;
}

Status each_entry(const Workspaces& workspaces, const std::string& layer_id,
                  const std::function<Status(Entry)>& visit) {
  const std::string path = manifest_path(workspaces.folder(), "layers", layer_id);
  PAWL_TRY(const auto text, os::read_file(path, kManifestBytesMax));
  if (!has_hash(text, layer_id))
    return fail(ErrorKind::kCorrupt, path + ": does not have the content of its name");
  return each_entry_of(text, visit);
}

std::int64_t bytes_on_disk(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return 0;
  std::int64_t bytes = static_cast<std::int64_t>(status.st_blocks) * 512;
  if (!S_ISDIR(status.st_mode)) return bytes;
  const auto names = os::list_folder(path);
  if (!names) return bytes;
  for (const auto& name : *names) bytes += bytes_on_disk(os::join(path, name));
  return bytes;
}

bool Workspaces::has_layer(const std::string& layer_id) const { return os::is_folder(layer_tree(layer_id)); }

Result<Hold> Workspaces::hold() const {
  PAWL_TRY(auto lock, os::FileLock::lock_shared(lock_path(folder_)));
  return Hold{.lock = std::move(lock)};
}

Result<os::FileLock> Workspaces::hold_alone() const {
  const os::SystemClock clock;
  for (std::int64_t waited_ms = 0;; waited_ms += kLockPauseMs) {
    PAWL_TRY(auto lock, os::FileLock::try_lock(lock_path(folder_)));
    if (lock) return *std::move(lock);
    if (waited_ms >= kLockPatienceMs)
      return fail(ErrorKind::kUnavailable,
                  "objects are in use (a run is being started, or `pawl gate` runs); try again later");
    clock.sleep_ms(kLockPauseMs);
  }
}

namespace {

// The path from the state folder: "objects/KIND/NAME".
std::string place_of(std::string_view kind, const std::string& name = "") {
  std::string out = "objects/" + std::string(kind);
  return name.empty() ? out : out + "/" + name;
}

// Adds the entries of a kind that `is_kept` rejects.
using IsKept = std::function<bool(const std::string& name, const std::string& path)>;
Status add_rest(const os::HeldTree& tree, std::string_view kind, const IsKept& is_kept,
                std::vector<std::string>& out) {
  PAWL_TRY(const auto names, tree.list(place_of(kind)));
  for (const auto& name : names) {
    const std::string place = place_of(kind, name);
    PAWL_TRY(const auto here, tree.find(place));
    if (!is_kept(name, here.path())) out.push_back(place);
  }
  return {};
}

// Caches of bases that are gone or will go. The cache of a tree's submodules always goes; it is made again.
Result<std::vector<std::string>> useless_caches(const Workspaces& workspaces, const os::HeldTree& tree,
                                                const std::unordered_set<std::string>& kept) {
  std::vector<std::string> out;
  const auto is_file = [](const std::string& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  };
  const auto names_kept_base = [&](const std::string& name, const std::string& path) {
    if (!is_file(path)) return false;
    const auto base_id = record_of(workspaces, "git", name);
    return base_id && kept.contains(*base_id);
  };
  const auto looked_at_kept_base = [&](const std::string&, const std::string& path) {
    return is_file(path) && kept.contains(FolderMemory::base_of(path));
  };
  PAWL_OK(add_rest(tree, "git", names_kept_base, out));
  PAWL_OK(add_rest(tree, "folders", looked_at_kept_base, out));
  return out;
}

bool is_old(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > kTemporaryAgeSeconds;
}

}  // namespace

Result<Garbage> Workspaces::garbage(const std::vector<std::string>& keep) const {
  std::unordered_set<std::string> kept(keep.begin(), keep.end());
  PAWL_TRY(const auto tree, os::HeldTree::open(folder_, os::HeldTree::Mounts::kAny));
  // A base that another base is built upon stays as long as that one.
  PAWL_TRY(const auto derived, tree.list(place_of("derived")));
  std::deque<std::string> due;
  for (const auto& id : derived)
    if (kept.contains(id)) due.push_back(id);
  for (; !due.empty(); due.pop_front()) {
    const auto made = derivation_of(folder_, due.front());
    if (!made) continue;
    kept.insert(made->layer_id);
    if (kept.insert(made->from).second) due.push_back(made->from);
  }
  Garbage out;
  // The repository of a base stays as long as the base: to make it costs a copy.
  const auto is_of_kept_base = [&](const std::string& name, const std::string&) {
    const auto known = known_repository(*this, name);
    if (!known || known->has_layers || !kept.contains(known->base_id)) return false;
    kept.insert(known->made.layers.begin(), known->made.layers.end());
    return true;
  };
  PAWL_OK(add_rest(tree, "repositories", is_of_kept_base, out.caches));
  const auto is_kept = [&](const std::string& id, const std::string&) { return kept.contains(id); };
  PAWL_OK(add_rest(tree, "bases", is_kept, out.bases));
  PAWL_OK(add_rest(tree, "derived", is_kept, out.bases));
  PAWL_OK(add_rest(tree, "layers", is_kept, out.layers));
  // Merges that no row names, mostly of layers that go.
  PAWL_OK(add_rest(tree, "merges", is_kept, out.merges));
  PAWL_TRY(out.caches, useless_caches(*this, tree, kept));
  PAWL_TRY(const auto shards, tree.list(place_of("blobs")));
  for (const auto& shard : shards) {
    const auto is_kept_blob = [&](const std::string& rest, const std::string&) {
      return kept.contains(shard + rest);
    };
    PAWL_OK(add_rest(tree, "blobs/" + shard, is_kept_blob, out.blobs));
  }
  const auto is_in_use = [](const std::string& name, const std::string& path) {
    const bool has_lock = name.starts_with(std::string(kTemporaryStem) + ".");
    return os::is_in_use(path) || (!has_lock && !is_old(path));
  };
  PAWL_OK(add_rest(tree, "tmp", is_in_use, out.temporaries));
  return out;
}

void Workspaces::remove_left_over() const {
  const auto tree = os::HeldTree::open(folder_, os::HeldTree::Mounts::kAny);
  if (!tree) return;
  const auto inside = tree->find(place_of("tmp", "."));
  if (!inside) return;
  os::sweep_temporary_folders(os::join(os::folder_of(inside->path()), kTemporaryStem), so_far_->should_stop);
}

Result<Detached> Workspaces::detach(const std::vector<std::string>& paths) const {
  PAWL_TRY(const auto tree, os::HeldTree::open(folder_, os::HeldTree::Mounts::kAny));
  PAWL_TRY(auto made, make_temporary(folder_));
  PAWL_TRY(auto place, tree.find(place_of("tmp", made.path().substr(made.path().rfind('/') + 1))));
  PAWL_TRY(const auto inside, tree.find(place_of("tmp", place.name + "/.")));
  std::set<std::string> folders;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto from = tree.find(paths[i]);
    if (!from && from.error().kind == ErrorKind::kNotFound) continue;
    if (!from) return std::unexpected(from.error());
    const int renamed =
        renameat(from->folder.get(), from->name.c_str(), inside.folder.get(), std::to_string(i).c_str());
    if (renamed != 0 && errno != ENOENT) return fail_errno(errno, "move aside", paths[i]);
    folders.insert(os::folder_of(paths[i]));
  }
  // Without the fsync a power cut could bring back a name without its content.
  for (const auto& folder : folders) {
    PAWL_TRY(const auto here, tree.find(folder + "/."));
    PAWL_OK(os::fsync_folder("gc.aside", here.path()));
  }
  return Detached{.folder = std::move(made), .place = std::move(place)};
}

}  // namespace pawl::workspace
