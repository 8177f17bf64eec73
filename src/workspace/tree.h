// Trees of files as Pawl stores them: entries, manifests, and the view of several trees on top of each other.
// A detail of this room. A tree may come from a sandbox that has ended: it does not change any more. This
// code still trusts no entry of a tree, and never follows a symlink.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "os/file.h"
#include "os/held_tree.h"
#include "os/parallel.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

// Longer paths do not fit after the object folders in PATH_MAX.
constexpr std::size_t kPathBytesMax = 3000;

// A file's time in nanoseconds since 1970. Sandboxes choose it: a time more than 292 years away is cut to
// some seconds before the end of the type.
std::int64_t ns_of(const timespec& time);
bool is_whiteout(const struct stat& status);  // In overlayfs: a character device 0:0.
// Whether a stored tree may have the name: valid UTF-8, no control characters, neither .git nor .pawl. Also refused:
// names that a file system without capital letters, HFS+ or NTFS takes for .git, .pawl or .gitmodules.
bool is_kept_name(std::string_view name);

// Whether a pattern of the source's `exclude` matches `path` or a folder above it.
bool is_left_out(const std::vector<std::string>& patterns, std::string_view path);
// Whether a base of the folder `root` is taken without `path`, which is relative to it.
bool is_without(const Without& without, const std::string& root, const std::string& path);

// kInvalid, for a path of the source that no base can have. `path` is relative to the source; the message
// begins with `what`.
std::unexpected<Error> unusable(const std::string& what, const std::string& path);
// kInvalid, as unusable(), when no base can have the link `path` with this `target`.
Status check_target(const std::string& what, const std::string& path, std::string_view target);
// `error` of a system call on `path` of the source, with advice in its message. "" is the source itself.
std::unexpected<Error> unread(Error error, const std::string& path);
// kExhausted: `where` has more than a base may have.
Status check_limits(std::int64_t entries, std::int64_t bytes, const std::string& where);
// The same for a source, with the plan's way out in the message. `largest`: the path of the largest file that was
// found, or "" when it is not known.
Status check_source_limits(std::int64_t entries, std::int64_t bytes, const std::string& where,
                           const std::string& largest);

// Whether a stored link may have the target: a manifest can express it, and file systems can have it.
bool is_kept_target(std::string_view target);
// Whether the link `path` -> `target` stays inside its tree. Absolute targets do not.
bool link_stays_inside(std::string_view path, std::string_view target);

std::string line_of(const Entry& entry);  // Canonical JSON.
Result<std::vector<Entry>> parse_manifest(std::string_view text);
// The same, with a visit for each entry in order. An error of visit() ends the walk, and is returned.
Status each_entry_of(std::string_view manifest, const std::function<Status(Entry)>& visit);
std::string manifest_of(const std::vector<Entry>& sorted);

Result<std::string> hash_of_file(const std::string& path);
// The extended attributes that no stored tree has: user.*, ACLs, and security.capability, which gives a
// program more rights than its user has. Other attributes are labels that the machine gives.
struct Attributes {
  std::vector<std::string> names;  // Without the opaque attribute.
  bool is_opaque = false;          // In overlayfs: a folder that hides what lies below.
  bool is_whole = true;            // False: there are more than the kernel lists (64 KiB of names).
};
constexpr const char* kOpaqueAttribute = "user.overlay.opaque";
Attributes attributes_of(const std::string& path);
Result<std::string> target_of_link(const std::string& path);
// The entry of the file, folder or symlink at `full`, without its time. kInvalid for other types.
Result<Entry> entry_of(const std::string& full, std::string path);

// Opens the folder that has a sandbox's changes. A command can remove all rights from /workspace itself. The owner
// gets its rights back.
Result<os::HeldTree> open_upper(const std::string& upper);

// Makes everything below `tree` durable: file by file for few entries, else by one syncfs(2) of the file
// system.
Status sync_tree(std::string_view label, const std::string& tree, std::size_t entries);

// `trees` on top of each other, as overlayfs shows them. They are topmost first, in overlayfs form without
// opaque folders.
class View {
 public:
  explicit View(std::vector<std::string> trees) : trees_(std::move(trees)) {}

  // The full path, in its tree, of the entry that shows at `path`; nullopt: no entry shows there.
  std::optional<std::string> find(const std::string& path) const;
  bool has_folder(const std::string& path) const;
  std::set<std::string> names(const std::string& folder) const;  // The names in a folder; "" is the root.
  // Visits every file and symlink at or below `path`.
  void each_file(const std::string& path, const std::function<void(const std::string&)>& visit) const;

 private:
  std::vector<std::string> trees_;
};

using Found = std::pair<std::string, struct stat>;  // A name in a folder, and its status.
// Sorted by name. No descriptor stays open: a tree may be deeper than the limit of descriptors.
Result<std::vector<Found>> names_and_stats(const std::string& folder);

constexpr std::size_t kListedAtOnce = 1024;  // Folders of a level whose entries are in memory at a time.

// Lists the folder `root` and the folders below it, level by level. `read` runs for each folder, in several threads
// at once; `folder` is its path below `root` ("" is `root`). `visit` gets what `read` returned, in the caller's
// thread and in the order of the folders. It appends the paths of the folders to enter to `below`. The first error of
// `read` or `visit` in that order ends the walk.
template <typename Seen>
Status walk_by_level(
    const std::string& root,
    const std::function<Result<Seen>(const std::string& folder, Result<std::vector<Found>> found)>& read,
    const std::function<Status(Seen&& seen, std::vector<std::string>& below)>& visit) {
  for (std::vector<std::string> folders{""}, below; !folders.empty(); folders.swap(below)) {
    below.clear();
    for (std::size_t begin = 0; begin < folders.size(); begin += kListedAtOnce) {
      std::vector<Result<Seen>> seen(std::min(kListedAtOnce, folders.size() - begin));
      PAWL_OK(os::for_each_in_parallel(seen.size(), [&](std::size_t i) -> Status {
        const auto& folder = folders[begin + i];
        seen[i] = read(folder, names_and_stats(folder.empty() ? root : os::join(root, folder)));
        return {};
      }));
      for (auto& each : seen) {
        if (!each) return std::unexpected(std::move(each).error());
        PAWL_OK(visit(*std::move(each), below));
      }
    }
  }
  return {};
}

std::string child(const std::string& folder, std::string_view name);  // For "" just `name`.
std::string parent_of(const std::string& path);                       // "" for a path without a slash.
std::string_view last_name(std::string_view path);
// The suffix of a name, with its dot; "" without a suffix. The name ".x" has no suffix.
std::string_view suffix_of(std::string_view name);

// Erases the keys below `path` from a map by path.
void erase_below(auto& by_path, const std::string& path) {
  const std::string prefix = path + "/";
  auto at = by_path.lower_bound(prefix);
  while (at != by_path.end() && at->first.starts_with(prefix)) at = by_path.erase(at);
}

}  // namespace pawl::workspace
