// Trees of files as Pawl keeps them: entries, manifests, and the view of several trees on top of each other.
// A detail of this room. Trees may come from a sandbox that is gone: nobody changes them any more, but
// nothing in them is believed, and no symlink is ever followed.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "workspace/workspace.h"

namespace pawl::workspace {

// Longer ones do not fit behind our own folders in PATH_MAX.
constexpr std::size_t kPathBytesMax = 3000;

// A file's time in nanoseconds since 1970. Sandboxes choose it: what lies more than 292 years away is cut to
// that, some seconds before the end of the type.
std::int64_t ns_of(const timespec& time);
bool is_whiteout(const struct stat& status);  // overlayfs: a character device 0:0
// A name that a tree of ours may hold: valid UTF-8, no control characters, and neither .git nor .pawl nor a
// name that a file system without capital letters, HFS+ or NTFS takes for one of them or for .gitmodules.
bool is_kept_name(std::string_view name);

// Whether a pattern of the source's `exclude` names `path` or a folder that it is in.
bool is_left_out(const std::vector<std::string>& patterns, std::string_view path);

// kInvalid, for a path that no base can have, relative to the source; `what` it is begins the message.
std::unexpected<Error> unusable(const std::string& what, const std::string& path);
// kInvalid, as unusable(), for the link `path` when no base can have its `target`.
Status check_target(const std::string& what, const std::string& path, std::string_view target);
// `error`, of a system call on `path` of the source ("" is the source), with what to do about it.
std::unexpected<Error> unread(Error error, const std::string& path);
// kExhausted: `where` has more than a base may have.
Status check_limits(std::int64_t entries, std::int64_t bytes, const std::string& where);

// A target that a link of ours may have: a manifest can say it, and file systems can have it.
bool is_kept_target(std::string_view target);
// Whether the link `path` -> `target` stays inside its tree. Absolute ones do not.
bool link_stays_inside(std::string_view path, std::string_view target);

std::string line_of(const Entry& entry);  // canonical JSON
Result<std::vector<Entry>> parse_manifest(std::string_view text);
std::string manifest_of(const std::vector<Entry>& sorted);

Result<std::string> hash_of_file(const std::string& path);
// The extended attributes that no tree of ours has: user.*, ACLs, and what a file may do more than its user.
// Others are labels that the machine gives.
struct Attributes {
  std::vector<std::string> names;  // without the next
  bool is_opaque = false;          // to overlayfs: a folder that hides what lies below
  bool is_whole = true;            // else there are more than the kernel lists (64 KiB of names)
};
constexpr const char* kOpaqueAttribute = "user.overlay.opaque";
Attributes attributes_of(const std::string& path);
Result<std::string> target_of_link(const std::string& path);
// Entry of what is at `full`. kInvalid for other types than file, folder, symlink.
Result<Entry> entry_of(const std::string& full, std::string path);

// Makes everything below `tree` durable: file by file when they are few, else the whole file system at once.
Status sync_tree(std::string_view label, const std::string& tree, std::size_t entries);

// The view of `trees` (topmost first, overlayfs form without opaque folders) as overlayfs shows it.
class View {
 public:
  explicit View(std::vector<std::string> trees) : trees_(std::move(trees)) {}

  // Where `path` comes from (the full path in its tree), or nothing.
  std::optional<std::string> find(const std::string& path) const;
  bool has_folder(const std::string& path) const;
  std::set<std::string> names(const std::string& folder) const;  // of a folder; "" is the root
  // Every file and symlink at or below `path`.
  void each_file(const std::string& path, const std::function<void(const std::string&)>& visit) const;

 private:
  std::vector<std::string> trees_;
};

using Found = std::pair<std::string, struct stat>;  // a name in a folder
// Sorted by name. No descriptor stays: trees are deeper than we have descriptors.
Result<std::vector<Found>> names_and_stats(const std::string& folder);

std::string child(const std::string& folder, std::string_view name);  // "name" in ""
std::string parent_of(const std::string& path);                       // "" of "name"

// Of a map by path.
void erase_below(auto& by_path, const std::string& path) {
  const std::string prefix = path + "/";
  auto at = by_path.lower_bound(prefix);
  while (at != by_path.end() && at->first.starts_with(prefix)) at = by_path.erase(at);
}

}  // namespace pawl::workspace
