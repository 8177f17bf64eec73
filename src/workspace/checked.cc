// Checks that objects are on disk as their ids say: each entry of a tree, and no others. The result is cached
// beside the object, under the folder's seal, with the stamp of each entry. Only root can give a written file
// its old ctime, so a file whose stamp fits is not read again. The cache is valid for one boot.
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <unordered_set>

#include "base/seal.h"
#include "os/clock.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/parallel.h"
#include "os/process.h"
#include "workspace/bases.h"
#include "workspace/folder_look.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

// More than a tick of the coarsest clock that a kernel takes file times from. A file written within that time
// could be written again without a newer time.
constexpr std::int64_t kStampUnsureNs = 50'000'000;
constexpr std::size_t kPartBytes = 64 << 10;  // The part of a manifest for one thread: some hundred lines.
// Checks take at most a hundredth of a process's time. A check of more than 0.3 s is repeated after 30 s at
// the earliest.
constexpr std::int64_t kLooksShare = 100, kMomentMaxMicros = 30'000'000;

// The time of this process's last check of each object, and its duration.
class Lately {  // Thread-safe.
 public:
  bool has_looked(const std::string& path, MonoTime now) {
    const std::lock_guard guard(mutex_);
    const auto found = looks_.find(path);
    return found != looks_.end() && now.micros - found->second.at.micros <
                                        std::min(kLooksShare * found->second.took_micros, kMomentMaxMicros);
  }
  void looked(const std::string& path, MonoTime began, MonoTime now) {
    const std::lock_guard guard(mutex_);
    looks_[path] = {.at = now, .took_micros = now.micros - began.micros};
  }

 private:
  struct Look {
    MonoTime at;
    std::int64_t took_micros = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Look> looks_;  // Guarded by mutex_.
};

Lately& lately() {
  static Lately one;
  return one;
}

// In a lower tree, overlayfs takes user.overlay.opaque of a folder as content: it hides what lies below, and
// attributes of files in it can stand for whiteouts. A stored tree has no such attributes.
bool hides_by_attribute(const std::string& path) {
  const auto attributes = attributes_of(path);
  return attributes.is_opaque || std::ranges::any_of(attributes.names, [](const auto& name) {
           return name.starts_with("user.overlay.");
         });
}

class ObjectCheck {
 public:
  ObjectCheck(const Workspaces& workspaces, std::string_view kind, const std::string& id, SoFar& read)
      : id_(id),
        folder_(os::join(object_folder(workspaces.folder(), kind), id)),
        tree_(os::join(folder_, "tree")),
        memory_path_(os::join(folder_, "checked")),
        seal_(workspaces.key(), "checked/" + os::boot_id() + "/" + std::string(kind) + "/" + id),
        read_(read) {}

  const std::string& folder() const { return folder_; }

  Status run() {
    const std::int64_t began_ns = os::SystemClock().wall().micros * 1000;
    if (!os::exists(tree_))
      return fail(ErrorKind::kNotFound, tree_ + " is gone (`pawl gc` takes it from old runs)");
    const std::string path = os::join(folder_, "manifest.jsonl");
    if (!has_type(folder_, S_IFDIR)) return was_changed(folder_);
    if (!has_type(path, S_IFREG)) return was_changed(path);
    PAWL_TRY(const auto manifest, os::MappedFile::open(path, kManifestBytesMax));
    if (!has_hash(manifest.bytes(), id_)) return was_changed(path);
    memory_ = FolderMemory::load(memory_path_, seal_);
    PAWL_OK(look_at_all());
    if (unread_count_ == 0 && found_count_ == memory_.entries().size()) return {};
    found_.reserve(found_count_);
    for (auto& seen : parts_) move_part(std::move(seen.part), seen.unread, found_, unread_);
    parts_.clear();
    PAWL_OK(read_contents());
    PAWL_OK(compare_with(manifest.bytes()));
    remember(began_ns);
    return {};
  }

 private:
  static std::unexpected<Error> was_changed(const std::string& path) {
    return fail(ErrorKind::kForged,
                path + " was changed since it was kept; restore the state folder from a backup");
  }
  std::unexpected<Error> entry_was_changed(const std::string& path) const {
    return was_changed(os::join(tree_, path));
  }

  static bool has_type(const std::string& path, mode_t type) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == type;
  }

  // A folder without its owner's rights would hide its entries.
  static bool is_open(const struct stat& status) { return (status.st_mode & 0700U) == 0700U; }

  Status look_at_all() {
    struct stat status {};
    if (lstat(tree_.c_str(), &status) != 0) return fail_errno(errno, "look at", tree_);
    if (!S_ISDIR(status.st_mode) || !is_open(status) || hides_by_attribute(tree_)) return was_changed(tree_);
    return walk_by_level<Seen>(
        tree_, [this](const std::string& folder, auto found) { return see(folder, std::move(found)); },
        [this](Seen&& seen, auto& below) -> Status {
          std::ranges::move(seen.below, std::back_inserter(below));
          found_count_ += seen.part.size();
          unread_count_ += seen.unread.size();
          parts_.push_back(std::move(seen));
          return {};
        });
  }

  // A thread's results about a folder of the tree.
  struct Seen {
    FolderPart part;
    std::vector<std::string> below;   // The folders in it.
    std::vector<std::size_t> unread;  // The places in `part` of entries whose content must be read.
  };

  Result<Seen> see(const std::string& folder, const Result<std::vector<Found>>& found) const {
    if (!found) return std::unexpected(found.error());
    Seen out;
    const auto remembered = memory_.in(folder);
    const auto leaves_nothing_out = [](const Found&) { return false; };
    if (is_as_remembered(folder, *found, remembered, leaves_nothing_out, out.below)) {
      out.part.same = remembered;
      return out;
    }
    out.part.entries.reserve(found->size());
    for (const auto& [name, status] : *found) {
      std::string path = child(folder, name);
      if (S_ISDIR(status.st_mode)) out.below.push_back(path);
      PAWL_OK(see(std::move(path), status, remembered, out));
    }
    return out;
  }

  Status see(std::string path, const struct stat& status, std::span<const Remembered> remembered,
             Seen& out) const {
    Looked looked{.entry = {.path = std::move(path)}, .stamp = stamp_of(status)};
    auto& entry = looked.entry;
    if (S_ISREG(status.st_mode) && (status.st_mode & 0400U) != 0) {
      entry.mode = status.st_mode & 0777U;
      entry.size = status.st_size;
    } else if (S_ISDIR(status.st_mode) && is_open(status)) {
      entry.type = EntryType::kFolder;
    } else if (S_ISLNK(status.st_mode)) {
      entry.type = EntryType::kSymlink;
    } else if (is_whiteout(status)) {
      entry.type = EntryType::kDeleted;
    } else {
      return entry_was_changed(entry.path);
    }
    const Remembered* before = find_in(remembered, entry.path);
    if (before != nullptr && before->fits(status))
      entry.content = before->content;
    else
      out.unread.push_back(out.part.entries.size());
    out.part.entries.push_back(std::move(looked));
    return {};
  }

  Status read_contents() {
    return os::for_each_in_parallel(unread_.size(), [this](std::size_t i) -> Status {
      auto& entry = found_[unread_[i]].entry;
      const std::string full = os::join(tree_, entry.path);
      const bool is_file = entry.type == EntryType::kFile, is_link = entry.type == EntryType::kSymlink;
      if (entry.type == EntryType::kFolder && hides_by_attribute(full)) return entry_was_changed(entry.path);
      if (is_file || is_link) {
        PAWL_TRY(entry.content, is_file ? hash_of_file(full) : target_of_link(full));
      }
      if (is_file) read_.add(entry.size);
      return {};
    });
  }

  // Compares only the execute permission: the others depend on the umask of that day. Times do not count: a
  // restored backup may have other times.
  static bool is_same(const Entry& kept, const Entry& there) {
    if (kept.type != there.type) return false;
    switch (kept.type) {
      case EntryType::kFile:
        return kept.content == there.content && (kept.mode & 0100U) == (there.mode & 0100U);
      case EntryType::kSymlink:
        return kept.content == there.content;
      case EntryType::kFolder:  // Its content says whether it is a submodule.
      case EntryType::kDeleted:
        return true;
    }
    return false;
  }

  // Calls `visit` with each entry of the manifest, in its order. A few parts are parsed at once: parsing the
  // lines of a large base costs as much as reading its files, and all of its entries would take much memory.
  static Status each_kept(std::string_view manifest, const std::function<Status(const Entry&)>& visit) {
    constexpr std::size_t kPartsAtOnce = 16;
    while (!manifest.empty()) {
      std::vector<std::string_view> parts;
      while (!manifest.empty() && parts.size() < kPartsAtOnce) {
        const auto end = manifest.find('\n', std::min(kPartBytes, manifest.size() - 1));
        parts.push_back(manifest.substr(0, end == std::string_view::npos ? end : end + 1));
        manifest.remove_prefix(parts.back().size());
      }
      std::vector<std::vector<Entry>> parsed(parts.size());
      PAWL_OK(os::for_each_in_parallel(parts.size(), [&](std::size_t i) -> Status {
        PAWL_TRY(parsed[i], parse_manifest(parts[i]));
        return {};
      }));
      for (const auto& part : parsed)
        for (const auto& entry : part) PAWL_OK(visit(entry));
    }
    return {};
  }

  // Compares them as sets. A manifest names folders only when they are more than the way to another entry.
  Status compare_with(std::string_view manifest) const {
    std::unordered_set<std::string> ways;
    std::vector<const Entry*> there, unnamed;
    for (const auto& looked : found_) there.push_back(&looked.entry);
    std::ranges::sort(there, {}, &Entry::path);
    auto next = there.begin();
    PAWL_OK(each_kept(manifest, [&](const Entry& kept) -> Status {
      for (auto above = parent_of(kept.path); !above.empty() && ways.insert(above).second;)
        above = parent_of(above);
      while (next != there.end() && (*next)->path < kept.path) unnamed.push_back(*next++);
      if (next == there.end() || (*next)->path != kept.path || !is_same(kept, **next))
        return entry_was_changed(kept.path);
      ++next;
      return {};
    }));
    unnamed.insert(unnamed.end(), next, there.end());
    for (const Entry* entry : unnamed)
      if (entry->type != EntryType::kFolder || !ways.contains(entry->path))
        return entry_was_changed(entry->path);
    return {};
  }

  // A failed save is ignored: all files are then read again the next time.
  void remember(std::int64_t began_ns) {
    bool any_sure = false;
    for (auto& looked : found_) {
      const bool is_sure = looked.stamp.changed_ns < began_ns - kStampUnsureNs;
      if (!is_sure) looked.stamp = {};
      any_sure = any_sure || is_sure;
    }
    if (any_sure) static_cast<void>(FolderMemory::save(memory_path_, seal_, id_, found_));
  }

  const std::string& id_;
  const std::string folder_, tree_, memory_path_;
  const Seal seal_;
  SoFar& read_;
  FolderMemory memory_;
  std::vector<Seen> parts_;  // By folder, in the order of the look.
  std::size_t found_count_ = 0, unread_count_ = 0;
  // Made of parts_ when any entry must be read.
  std::vector<Looked> found_;
  std::vector<std::size_t> unread_;  // The places in found_ of entries whose content must be read.
};

// For a derived base: checks that its parts make the base of its id.
Status check_derivation(const Workspaces& workspaces, const std::string& base_id) {
  const auto made = BaseManifest::open(workspaces, base_id);
  if (made) return {};
  Error error = made.error();
  if (error.kind == ErrorKind::kCorrupt) error.kind = ErrorKind::kForged;
  return std::unexpected(std::move(error));
}

class Check {
 public:
  Check(const Workspaces& workspaces, SoFar& read, bool when_due)
      : workspaces_(workspaces), read_(read), when_due_(when_due) {}

  Status base(const std::string& base_id) const {
    PAWL_TRY(const auto parts, parts_of(workspaces_, base_id));
    PAWL_OK(object("bases", parts.whole));
    std::string made_of = os::join(workspaces_.folder(), base_id + "/" + parts.whole);
    for (const auto& layer : parts.layers) {
      PAWL_OK(object("layers", layer));
      made_of += "/" + layer;
    }
    if (parts.layers.empty()) return {};
    return unless_lately(made_of, [&] { return check_derivation(workspaces_, base_id); });
  }

  Status object(std::string_view kind, const std::string& id) const {
    ObjectCheck check(workspaces_, kind, id, read_);
    return unless_lately(check.folder(), [&] { return check.run(); });
  }

 private:
  Status unless_lately(const std::string& name, const auto& look) const {
    const os::SystemClock clock;
    const MonoTime began = clock.mono();
    if (when_due_ && lately().has_looked(name, began)) return {};
    PAWL_OK(look());
    lately().looked(name, began, clock.mono());
    return {};
  }

  const Workspaces& workspaces_;
  SoFar& read_;
  const bool when_due_;
};

Status check_all(const Check& check, const std::string& base_id, const std::vector<std::string>& layers) {
  if (!os::defences().objects) return {};
  if (!base_id.empty()) PAWL_OK(check.base(base_id));
  for (const auto& layer : layers) PAWL_OK(check.object("layers", layer));
  return {};
}

}  // namespace

Status Workspaces::check_content(const std::string& base_id, const std::vector<std::string>& layers) const {
  return check_all(Check(*this, *read_again_, false), base_id, layers);
}

Status Workspaces::check_before_use(const std::string& base_id,
                                    const std::vector<std::string>& layers) const {
  return check_all(Check(*this, *read_again_, true), base_id, layers);
}

}  // namespace pawl::workspace
