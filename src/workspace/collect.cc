// Makes a layer of the tree that a sandbox left.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>

#include "base/glob.h"
#include "base/json.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/held_tree.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

struct Taken {
  bool was_opaque = false;  // A folder that was opaque in an overlay.
  bool has_none = true;     // False: there are more than can be listed, or one could not be removed.
};

// Removes attributes. user.overlay.* is overlayfs's bookkeeping for one mount; the others are the command's.
// Neither is content.
Taken take_attributes(const std::string& path) {
  auto attributes = attributes_of(path);
  Taken out{.was_opaque = attributes.is_opaque, .has_none = attributes.is_whole};
  if (attributes.is_opaque) attributes.names.emplace_back(kOpaqueAttribute);
  for (const auto& name : attributes.names)
    out.has_none = lremovexattr(path.c_str(), name.c_str()) == 0 && out.has_none;
  return out;
}

// The first hundred refused paths. When there are more, each top folder is named at least once while there is
// room, so that no folder hides another.
struct Refused {
  void add(const std::string& path) {
    ++total;
    const std::string top = path.substr(0, path.find('/'));
    if (first.size() == kRefusedNamedMax && (named.contains(top) || !make_room())) return;
    first.push_back(path);
    ++named[top];
  }
  std::vector<std::string> first;
  std::map<std::string, std::size_t> named;  // The number of named paths for each top folder.
  std::int64_t total = 0;

 private:
  bool make_room() {
    const auto most = std::ranges::max_element(named, {}, [](const auto& each) { return each.second; });
    if (most->second == 1) return false;
    const auto last = std::ranges::find(first.rbegin(), first.rend(), most->first,
                                        [](const auto& path) { return path.substr(0, path.find('/')); });
    first.erase(std::next(last).base());
    --most->second;
    return true;
  }
};

Result<struct stat> status_of(const os::HeldTree::Place& here) {
  struct stat status {};
  if (fstatat(here.folder.get(), here.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, "look at", here.name);
  return status;
}

// The repository that Pawl gives a workspace, at its top. Pawl reads no file of it: a command may have put there
// what it wants.
constexpr std::string_view kOwnGit = ".git";

Status drop_own_git(const os::HeldTree& tree) {
  PAWL_TRY(const auto here, tree.find(std::string(kOwnGit)));
  return os::remove_tree(here.path());
}

// chmod(2) would follow a symlink.
Status set_mode(const os::HeldTree::Place& here, mode_t mode) {
  if (fchmodat(here.folder.get(), here.name.c_str(), mode, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return fail_errno(errno, "chmod", here.name);
}

// The most of one step. An executor that judges a work holds each of its entries and names several times.
constexpr std::int64_t kStepNamesBytesMax = 16 << 20;
constexpr std::int64_t kStepMemoryBytesMax = 40 << 20;  // kEntryBytes for each entry, and all names
constexpr std::int64_t kEntryBytes = 256;

bool fits(std::int64_t entries, std::int64_t names_bytes) {
  if (!os::defences().bounds) return true;
  return names_bytes < kStepNamesBytesMax && entries * kEntryBytes + names_bytes < kStepMemoryBytesMax;
}

std::int64_t names_bytes_of(const Entry& entry) {
  const auto target = entry.type == EntryType::kSymlink ? entry.content.size() : 0;
  return static_cast<std::int64_t>(entry.path.size() + target);
}

bool has_any(std::string_view bytes, const std::vector<std::string>& texts) {
  return std::ranges::any_of(texts, [&](const std::string& text) {  // memmem(3) is faster than find()
    return memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
  });
}

// Whether the file has one of the texts, also across two pieces.
Result<bool> file_has_any(const std::string& path, const std::vector<std::string>& texts) {
  if (texts.empty()) return false;
  const std::size_t longest =
      std::ranges::max(texts, {}, [](const auto& text) { return text.size(); }).size();
  const auto source = os::file_source(path, std::numeric_limits<std::uint64_t>::max());
  for (std::string window;;) {
    PAWL_TRY(const auto piece, source->next());
    if (piece.empty()) return false;
    window.erase(0, window.size() - std::min(window.size(), longest - 1)).append(piece);
    if (has_any(window, texts)) return true;
  }
}

struct FromSandbox {
  os::HeldTree tree;
  std::string spare;  // An unused path beside the tree, on its file system.
  bool copied;
};

class Collector {
 public:
  Collector(FromSandbox from, std::vector<std::string> lower, const Caps& caps)
      : tree_(std::move(from.tree)),
        spare_(std::move(from.spare)),
        view_(std::move(lower)),
        copied_(from.copied),
        caps_(caps) {}

  Status run() {
    PAWL_TRY(const auto root, tree_.find(""));
    // The result is ignored: attributes that can't be listed stay on the top folder. Without its top there is
    // no tree.
    take_attributes(root.path());
    if (caps_.had_git) PAWL_OK(drop_own_git(tree_));
    PAWL_OK(folder("", copied_));
    return {};
  }
  std::vector<Entry> entries() { return std::move(entries_); }
  Refused refused() { return std::move(refused_); }
  std::vector<std::string> withheld() { return std::move(withheld_); }
  std::int64_t rewritten() const { return rewritten_; }

 private:
  Status remove(const std::string& path) const {
    PAWL_TRY(const auto here, tree_.find(path));
    return os::remove_tree(here.path());
  }

  Status refuse(const std::string& path) {
    if (!checks_) return {};
    refused_.add(path);
    return remove(path);
  }

  Status withhold(const std::string& path) {
    if (withheld_.size() < kRefusedNamedMax) withheld_.push_back(path);
    return refuse(path);
  }

  bool is_full() const {
    const auto entries = static_cast<std::int64_t>(entries_.size());
    return entries >= caps_.entries || names_bytes_ >= caps_.names_bytes || !fits(entries, names_bytes_);
  }

  Status add(Entry entry) {
    if (is_full()) return refuse(entry.path);
    bytes_ += entry.size;
    names_bytes_ += names_bytes_of(entry);
    entries_.push_back(std::move(entry));
    return {};
  }

  // Collects a folder. `hides`: entries of the lower trees that the folder does not have are deleted. That
  // holds for its folders, too.
  Status folder(const std::string& path, bool hides) {
    PAWL_TRY(const auto names, tree_.list(path));
    for (const auto& name : names) {
      const std::string below = child(path, name);
      if (checks_ && (!is_kept_name(name) || below.size() > kPathBytesMax))
        PAWL_OK(refuse(below));
      else if (has_any(below, caps_.withheld))
        PAWL_OK(withhold(below));
      else
        PAWL_OK(visit(below, hides));
    }
    return hides ? hide_missing(path, names) : Status();
  }

  // A function of its own: folder() is called once a level, and its frame must be small.
  Status hide_missing(const std::string& path, const std::vector<std::string>& names) {
    for (const auto& name : view_.names(path)) {
      if (std::ranges::binary_search(names, name)) continue;
      const std::string below = child(path, name);
      PAWL_TRY(const auto here, tree_.find(below));
      if (mknodat(here.folder.get(), name.c_str(), S_IFCHR, 0) != 0)
        return fail_errno(errno, "make whiteout", below);
      PAWL_OK(add({.path = below, .type = EntryType::kDeleted}));
    }
    return {};
  }

  // `hides`: the folder that contains `path` hides the lower trees.
  Status visit(const std::string& path, bool hides) {
    PAWL_TRY(auto here, tree_.find(path));
    PAWL_TRY(const auto status, status_of(here));
    const auto below = view_.find(path);
    if (is_whiteout(status)) {
      if (below) return add({.path = path, .type = EntryType::kDeleted});
      return remove(path);
    }
    if (S_ISDIR(status.st_mode)) return visit_folder(path, std::move(here), status, below, hides);
    if (S_ISLNK(status.st_mode)) return visit_link(path, here, below);
    if (S_ISREG(status.st_mode)) return visit_file(path, here, status, below);
    return refuse(path);
  }

  Status visit_folder(const std::string& path, os::HeldTree::Place here, const struct stat& status,
                      const std::optional<std::string>& below, bool parent_hides) {
    PAWL_TRY(const auto found, enter(path, std::move(here), status, below));
    if (found.is_refused) return refuse(path);
    const auto entries_before = entries_.size();
    PAWL_OK(folder(path, found.is_opaque || parent_hides));
    const bool is_empty = entries_.size() == entries_before;
    return is_empty && !found.is_entry ? remove(path) : put_time_back(path, status);
  }

  struct Entered {
    bool is_refused = false;  // with everything in it
    bool is_opaque = false;   // overlayfs marks only the top of a new tree: no lower entry shows below
    bool is_entry = false;    // it is an entry of the layer whatever it contains
  };
  // Takes the folder itself. A tree may be deeper than the limit of descriptors, so `here` ends with it.
  Result<Entered> enter(const std::string& path, os::HeldTree::Place here, const struct stat& status,
                        const std::optional<std::string>& below) {
    // The owner must be able to read and remove the folder. It never needs bits beyond the permissions.
    const mode_t mode = (status.st_mode & 0777U) | 0700U;
    PAWL_OK(set_mode(here, mode));
    struct stat before {};
    const bool was_folder = below && lstat(below->c_str(), &before) == 0 && S_ISDIR(before.st_mode);
    const auto taken = take_attributes(here.path());
    if (checks_ && !taken.has_none) return Entered{.is_refused = true};
    const bool is_entry = !was_folder || (before.st_mode & 0777U) != mode;
    if (is_entry && is_full()) return Entered{.is_refused = true};
    if (is_entry) PAWL_OK(add({.path = path, .type = EntryType::kFolder, .mode = mode}));
    return Entered{.is_opaque = taken.was_opaque, .is_entry = is_entry};
  }

  // Collecting removes and renames entries of a folder, which changes its time. This restores the agent's
  // time.
  Status put_time_back(const std::string& path, const struct stat& status) const {
    PAWL_TRY(const auto here, tree_.find(path));
    const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
    if (utimensat(here.folder.get(), here.name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(errno, "set the times of", path);
    return {};
  }

  Status visit_link(const std::string& path, const os::HeldTree::Place& here,
                    const std::optional<std::string>& below) {
    PAWL_TRY(auto entry, entry_of(here.path(), path));
    if (is_same(entry, below)) return remove(path);
    // git refuses trees with a link of this name (CVE-2018-11235).
    const bool is_gitmodules = path.substr(path.rfind('/') + 1) == ".gitmodules";
    if (!is_kept_target(entry.content) || !(caps_.outer_links || link_stays_inside(path, entry.content)) ||
        (checks_ && is_gitmodules))
      return refuse(path);
    return has_any(entry.content, caps_.withheld) ? withhold(path) : add(std::move(entry));
  }

  Status visit_file(const std::string& path, const os::HeldTree::Place& here, const struct stat& status,
                    const std::optional<std::string>& below) {
    if (checks_ && status.st_size > caps_.bytes - bytes_)
      // Before its holes are read.
      return refuse(path);
    // No setuid, setgid or sticky bit.
    const mode_t mode = (status.st_mode & (checks_ ? 0777U : 07777U)) | 0400U;
    if ((status.st_mode & 07777U) != mode) PAWL_OK(set_mode(here, mode));
    const bool has_attributes = !take_attributes(here.path()).has_none;
    PAWL_TRY(auto entry, entry_of(here.path(), path));
    if (!is_same(entry, below)) {
      PAWL_TRY(const bool is_withheld, file_has_any(here.path(), caps_.withheld));
      if (is_withheld) return withhold(path);
      const bool needs_own = status.st_nlink > 1 || has_attributes;
      if (needs_own && !is_full()) PAWL_OK(give_own_file(here, mode));
      return add(std::move(entry));
    }
    struct stat before {};
    const bool known = lstat(below->c_str(), &before) == 0;
    const auto& then = before.st_mtim;
    if (known && (then.tv_sec != status.st_mtim.tv_sec || then.tv_nsec != status.st_mtim.tv_nsec))
      ++rewritten_;
    return remove(path);
  }

  // Gives a file with several names its own copy. Otherwise all names share one time, and a build takes one
  // of them for older than another. A file that its owner may not write keeps its attributes, so it is
  // copied, too.
  Status give_own_file(const os::HeldTree::Place& here, mode_t mode) const {
    PAWL_OK(os::remove_tree(spare_));  // A leftover of a process that died.
    PAWL_OK(os::copy_file(here.path(), spare_, mode));
    if (renameat(AT_FDCWD, spare_.c_str(), here.folder.get(), here.name.c_str()) != 0)
      return fail_errno(errno, "rename to", here.name);
    return {};
  }

  static bool is_same(const Entry& entry, const std::optional<std::string>& below) {
    struct stat status {};
    if (!below || lstat(below->c_str(), &status) != 0) return false;
    if (entry.type == EntryType::kFile && (!S_ISREG(status.st_mode) || status.st_size != entry.size))
      return false;
    const auto before = entry_of(*below, entry.path);
    return before && *before == entry;
  }

  const os::HeldTree tree_;
  const std::string spare_;
  const View view_;
  const bool copied_;
  const Caps caps_;
  const bool checks_ = os::defences().copy_out;
  std::vector<Entry> entries_;
  Refused refused_;
  std::vector<std::string> withheld_;
  std::int64_t bytes_ = 0, names_bytes_ = 0, rewritten_ = 0;
};

// Copies the files that match to `to`. Never follows links.
class Matcher {
 public:
  Matcher(os::HeldTree tree, const std::vector<std::string>& patterns, const Caps& caps, std::string to)
      : tree_(std::move(tree)), patterns_(patterns), left_(caps), to_(std::move(to)) {}

  Status folder(const std::string& path) {
    PAWL_TRY(const auto names, tree_.list(path));
    for (const auto& name : names) {
      const std::string below = child(path, name);
      if (left_.had_git && below == kOwnGit) continue;
      if (is_kept_name(name) && below.size() <= kPathBytesMax)
        PAWL_OK(visit(below));
      else if (is_wanted(below) || may_hold_wanted(below))
        refused.add(below);
    }
    return {};
  }

  std::vector<Entry> entries;
  Refused refused;

 private:
  bool is_wanted(const std::string& path) const {
    return std::ranges::any_of(patterns_, [&](const auto& pattern) { return glob_matches(pattern, path); });
  }
  // Whether a folder that is not entered may contain a match: a file in it would match if it had the last
  // name of a pattern.
  bool may_hold_wanted(const std::string& folder) const {
    return std::ranges::any_of(patterns_, [&](const auto& pattern) {
      return glob_matches(pattern, child(folder, pattern.substr(pattern.rfind('/') + 1)));
    });
  }

  Status visit(const std::string& path) {
    PAWL_TRY(auto here, tree_.find(path));
    PAWL_TRY(const auto status, status_of(here));
    const bool readable = access(here.path().c_str(), S_ISDIR(status.st_mode) ? R_OK | X_OK : R_OK) == 0;
    if (S_ISDIR(status.st_mode)) {
      here.folder.reset();  // A tree may be deeper than the limit of descriptors.
      if (readable) return folder(path);
      if (may_hold_wanted(path)) refused.add(path);
      return {};
    }
    if (is_whiteout(status) || !is_wanted(path)) return {};
    const bool is_full = left_.entries == 0 || left_.names_bytes <= 0 || status.st_size > left_.bytes ||
                         !fits(static_cast<std::int64_t>(entries.size()), names_bytes_);
    if (!S_ISREG(status.st_mode) || !readable || is_full) {
      refused.add(path);
      return {};
    }
    left_.entries -= 1;
    left_.bytes -= status.st_size;
    left_.names_bytes -= static_cast<std::int64_t>(path.size());
    names_bytes_ += static_cast<std::int64_t>(path.size());
    PAWL_TRY(auto entry, entry_of(here.path(), path));
    const std::string to = os::join(to_, path);
    PAWL_OK(os::make_folders(os::folder_of(to)));
    PAWL_OK(os::copy_file(here.path(), to, 0644));
    entries.push_back(std::move(entry));
    return {};
  }

  const os::HeldTree tree_;
  const std::vector<std::string>& patterns_;
  Caps left_;
  const std::string to_;
  std::int64_t names_bytes_ = 0;
};

}  // namespace

Result<os::HeldTree> open_upper(const std::string& upper) {
  struct stat status {};
  if (lstat(upper.c_str(), &status) != 0) return fail_errno(errno, "look at", upper);
  const mode_t mode = (status.st_mode & 07777U) | 0700U;
  if ((status.st_mode & 07777U) != mode && fchmodat(AT_FDCWD, upper.c_str(), mode, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, "chmod", upper);
  return os::HeldTree::open(upper);
}

Result<Collected> Workspaces::collect(const std::string& upper, const std::vector<std::string>& lower,
                                      bool copied, const Caps& caps) {
  // The tree moves first. After a crash, no later process finds a half-collected tree at `upper` and takes it
  // for the result of the step.
  const std::string taken = upper + ".taken";
  PAWL_OK(os::remove_tree(taken));
  if (rename(upper.c_str(), taken.c_str()) != 0) return fail_errno(errno, "rename", upper);
  PAWL_TRY(auto tree, open_upper(taken));
  Collector collector({.tree = std::move(tree), .spare = upper + ".spare", .copied = copied}, lower, caps);
  PAWL_OK(collector.run());
  auto refused = collector.refused();
  Collected out{.refused = std::move(refused.first),
                .refused_total = refused.total,
                .withheld = collector.withheld(),
                .rewritten = collector.rewritten()};
  auto entries = collector.entries();
  if (entries.empty()) {
    PAWL_OK(os::remove_tree(taken));
    return out;
  }
  if (chmod(taken.c_str(), 0755) != 0) return fail_errno(errno, "chmod", taken);
  PAWL_TRY(auto temporary, make_temporary(folder_));
  if (rename(taken.c_str(), os::join(temporary.path(), "tree").c_str()) != 0)
    return fail_errno(errno, "rename", taken);
  PAWL_TRY(out.layer_id,
           keep_object(folder_, "layers", std::move(temporary), std::move(entries), caps.own_times));
  return out;
}

Result<Collected> Workspaces::collect_matching(const std::string& upper,
                                               const std::vector<std::string>& patterns, const Caps& caps) {
  PAWL_TRY(auto tree, open_upper(upper));
  PAWL_TRY(auto temporary, make_temporary(folder_));
  Matcher matcher(std::move(tree), patterns, caps, os::join(temporary.path(), "tree"));
  PAWL_OK(matcher.folder(""));
  Collected out{.refused = std::move(matcher.refused.first), .refused_total = matcher.refused.total};
  if (matcher.entries.empty()) return out;
  PAWL_TRY(out.layer_id, keep_object(folder_, "layers", std::move(temporary), std::move(matcher.entries)));
  return out;
}

}  // namespace pawl::workspace
