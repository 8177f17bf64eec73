#include "workspace/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <limits>
#include <memory>

#include "base/glob.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/lines.h"
#include "os/file.h"
#include "os/parallel.h"

namespace pawl::workspace {
namespace {

constexpr std::size_t kReadAtOnceBytes = 1 << 20, kReadAtLeastBytes = 4096;
constexpr std::size_t kSyncEachMax = 64;  // Above it one syncfs(2) is cheaper than an fsync for each file.

constexpr std::size_t kAttributesBytesMax = 64 << 10;

constexpr std::size_t kShownBytesMax = 400;  // The part of a path that a message shows.

constexpr std::array kTypeNames = {"file", "folder", "symlink", "deleted"};

// A pattern for one path. A pattern cannot quote, so "?" also stands for a "*" of a name: "**" for the name
// "*\x01" would leave out everything.
std::string pattern_of(const std::string& path) {
  std::string pattern = printable(path);
  std::ranges::replace(pattern, '*', '?');
  return pattern;
}

// A path of the source in a message, and the pattern that leaves it out.
struct ShownPath {
  std::string path, pattern;
};

ShownPath shown_path(const std::string& path) {
  ShownPath out{.path = escaped(path), .pattern = pattern_of(path)};
  if (out.path.size() > kShownBytesMax) {
    out.path = out.path.substr(0, kShownBytesMax) + "...";
    out.pattern = pattern_of(path.substr(0, path.rfind('/', kShownBytesMax))) + "/**";
  }
  return out;
}

std::string way_out(const std::string& what, const std::string& pattern) {
  return "take the source without " + what + ": `exclude: " + canonical(Json::array({pattern})) +
         "` below `source` in the plan";
}

std::unexpected<Error> unusable_for(const std::string& what, const std::string& path,
                                    const std::string& reason) {
  const auto [name, pattern] = shown_path(path);
  return fail(ErrorKind::kInvalid,
              what + name + " can't be used: " + reason + ", or " + way_out("it", pattern));
}

Status sync_each(std::string_view label, const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return fail_errno(errno, "fsync", path);
  if (S_ISREG(status.st_mode)) return os::fsync_file(label, path);
  if (!S_ISDIR(status.st_mode)) return {};
  PAWL_TRY(const auto names, os::list_folder(path));
  for (const auto& name : names) PAWL_OK(sync_each(label, os::join(path, name)));
  return os::fsync_folder(label, path);
}

}  // namespace

std::int64_t ns_of(const timespec& time) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kSecondNs - 60;
  return std::clamp<std::int64_t>(time.tv_sec, -kMost, kMost) * kSecondNs + time.tv_nsec;
}

bool is_whiteout(const struct stat& status) { return S_ISCHR(status.st_mode) && status.st_rdev == 0; }

bool is_left_out(const std::vector<std::string>& patterns, std::string_view path) {
  return std::ranges::any_of(patterns, [&](const auto& pattern) {
    for (auto end = path.find('/');; end = path.find('/', end + 1)) {
      if (glob_matches(pattern, path.substr(0, end))) return true;
      if (end == std::string_view::npos) return false;
    }
  });
}

bool is_without(const Without& without, const std::string& root, const std::string& path) {
  if (without.folders.empty() && without.patterns.empty()) return false;
  return std::ranges::find(without.folders, os::join(root, path)) != without.folders.end() ||
         is_left_out(without.patterns, without.above + path);
}

std::unexpected<Error> unusable(const std::string& what, const std::string& path) {
  return unusable_for(
      what, path,
      "names are UTF-8 without control characters and not .git in another spelling, paths have at "
      "most " +
          std::to_string(kPathBytesMax) + " bytes; rename it");
}

Status check_target(const std::string& what, const std::string& path, std::string_view target) {
  if (is_kept_target(target)) return {};
  return unusable_for(what, path,
                      "the target of a link is UTF-8 without NUL and has 1 to " +
                          std::to_string(PATH_MAX - 1) + " bytes; let it lead elsewhere");
}

std::unexpected<Error> unread(Error error, const std::string& path) {
  const int number = error.sys_errno;
  if (number == EACCES || number == EPERM) {
    const std::string reason = "user " + std::to_string(geteuid()) +
                               " may not read it; give the right to it (`chmod u+rX` does for its owner)";
    error.message = path.empty() ? "source: " + error.message + ": " + reason
                                 : unusable_for("source: ", path, reason).error().message;
  } else if (number == ENOENT || number == ENOTDIR || number == EISDIR || number == ELOOP ||
             number == EINVAL) {
    // The entry is gone, or has another type than a moment before.
    error.message +=
        "; the source changed while Pawl read it: run the command again when no program writes there";
  }
  return std::unexpected(std::move(error));
}

Status check_limits(std::int64_t entries, std::int64_t bytes, const std::string& where) {
  if (entries <= kEntriesMax && bytes <= kTreeBytesMax) return {};
  return fail(ErrorKind::kExhausted, where + " has more than " + std::to_string(kEntriesMax) +
                                         " entries or " + std::to_string(kTreeBytesMax >> 30) + " GiB");
}

Status check_source_limits(std::int64_t entries, std::int64_t bytes, const std::string& where,
                           const std::string& largest) {
  auto checked = check_limits(entries, bytes, where);
  if (checked) return checked;
  auto error = std::move(checked).error();
  if (bytes > kTreeBytesMax && !largest.empty()) {
    const auto [name, pattern] = shown_path(largest);
    error.message += ", holes included; the largest file found is " + name + "; " + way_out("it", pattern);
  } else {
    error.message += "; " + way_out("a part of it", "PATTERN");
  }
  return std::unexpected(std::move(error));
}

bool is_kept_target(std::string_view target) {
  return !target.empty() && target.size() < PATH_MAX && target.find('\0') == std::string_view::npos &&
         valid_utf8(target) == target;
}

bool link_stays_inside(std::string_view path, std::string_view target) {
  if (target.empty() || target.starts_with('/')) return false;
  auto depth = std::ranges::count(path, '/');
  for (std::size_t start = 0; start <= target.size();) {
    const auto end = std::min(target.find('/', start), target.size());
    const auto part = target.substr(start, end - start);
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    if (depth < 0) return false;
    start = end + 1;
  }
  return true;
}

std::string line_of(const Entry& entry) {
  Json json = {{"path", entry.path}, {"type", kTypeNames.at(static_cast<std::size_t>(entry.type))}};
  if (entry.mode != 0) json["mode"] = entry.mode;
  if (entry.type == EntryType::kFile) json["size"] = entry.size;
  if (!entry.content.empty()) json["content"] = valid_utf8(entry.content);
  if (entry.mtime_ns != 0) json["mtime_ns"] = entry.mtime_ns;
  return canonical(json);
}

std::string manifest_of(const std::vector<Entry>& sorted) {
  std::string out;
  for (const auto& entry : sorted) out += line_of(entry) + "\n";
  return out;
}

Result<std::vector<Entry>> parse_manifest(std::string_view text) {
  std::vector<Entry> out;
  PAWL_OK(each_entry_of(text, [&](Entry entry) -> Status {
    out.push_back(std::move(entry));
    return {};
  }));
  return out;
}

Status each_entry_of(std::string_view manifest, const std::function<Status(Entry)>& visit) try {
  for (const auto line : TextLines(manifest)) {
    PAWL_TRY(const Json json, parse_json(line));
    const auto type = std::ranges::find(kTypeNames, json.value("type", ""));
    if (type == kTypeNames.end()) return fail(ErrorKind::kCorrupt, "manifest: no such type of entry");
    PAWL_OK(visit({.path = json.value("path", ""),
                   .type = static_cast<EntryType>(type - kTypeNames.begin()),
                   .mode = json.value("mode", 0U),
                   .size = json.value("size", std::int64_t{0}),
                   .content = json.value("content", ""),
                   .mtime_ns = json.value("mtime_ns", std::int64_t{0})}));
  }
  return {};
} catch (const Json::exception& error) {
  return fail(ErrorKind::kCorrupt, std::string("manifest: ") + error.what());
}

Result<std::string> hash_of_file(const std::string& path) {
  const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return fail_errno(errno, "read", path);
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return fail_errno(errno, "read", path);
  Hasher hasher;
  // Most files are small, and a large buffer costs more than reading them. One byte more than the size finds
  // the end in one call.
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  std::string buffer(std::clamp(size + 1, kReadAtLeastBytes, kReadAtOnceBytes), '\0');
  for (;;) {
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read", path);
    if (got == 0) return hasher.hex();
    hasher.update({buffer.data(), static_cast<std::size_t>(got)});
  }
}

Attributes attributes_of(const std::string& path) {
  std::array<char, kAttributesBytesMax> names;  // Not cleared: this function runs for each entry.
  const ssize_t size = llistxattr(path.c_str(), names.data(), names.size());
  Attributes out{.is_whole = size >= 0 || (errno != E2BIG && errno != ERANGE)};
  if (!out.is_whole) out.is_opaque = lgetxattr(path.c_str(), kOpaqueAttribute, nullptr, 0) >= 0;
  for (ssize_t at = 0; at < size;) {
    const std::string_view name = names.data() + at;
    at += static_cast<ssize_t>(name.size()) + 1;
    if (name == kOpaqueAttribute)
      out.is_opaque = true;
    else if (name.starts_with("user.") || name.starts_with("system.posix_acl_") ||
             name == "security.capability")
      out.names.emplace_back(name);
  }
  return out;
}

Result<std::string> target_of_link(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return fail_errno(errno, "read link", path);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

Result<Entry> entry_of(const std::string& full, std::string path) {
  struct stat status {};
  if (lstat(full.c_str(), &status) != 0) return fail_errno(errno, "look at", full);
  Entry entry{.path = std::move(path), .mode = status.st_mode & 0777U};
  if (S_ISREG(status.st_mode)) {
    entry.size = status.st_size;
    PAWL_TRY(entry.content, hash_of_file(full));
  } else if (S_ISDIR(status.st_mode)) {
    entry.type = EntryType::kFolder;
  } else if (S_ISLNK(status.st_mode)) {
    entry.type = EntryType::kSymlink;
    entry.mode = 0;
    PAWL_TRY(entry.content, target_of_link(full));
  } else {
    return fail(ErrorKind::kInvalid, full + " is no file, folder or symbolic link");
  }
  return entry;
}

Status sync_tree(std::string_view label, const std::string& tree, std::size_t entries) {
  if (entries <= kSyncEachMax) return sync_each(label, tree);
  const os::UniqueFd fd(open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || syncfs(fd.get()) != 0) return fail_errno(errno, "syncfs", tree);
  return {};
}

Result<std::vector<Found>> names_and_stats(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(folder.c_str()), closedir);
  if (!stream) return fail_errno(errno, "list folder", folder);
  // Sorting the names alone moves a fifth of the bytes.
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  std::vector<Found> out;
  out.reserve(names.size());
  for (auto& name : names) {
    struct stat status {};
    if (fstatat(dirfd(stream.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      out.emplace_back(std::move(name), status);
    else if (errno != ENOENT)  // ENOENT: the entry was deleted meanwhile.
      return fail_errno(errno, "read", os::join(folder, name));
  }
  return out;
}

std::string child(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + "/" + std::string(name);
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view suffix_of(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

std::optional<std::string> View::find(const std::string& path) const {
  for (const auto& tree : trees_) {
    struct stat status {};
    bool lower_may_have_it = true;
    for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
      const std::string full = os::join(tree, path.substr(0, end));
      if (lstat(full.c_str(), &status) != 0) break;  // This tree does not have the path.
      const bool last = end == std::string::npos;
      if (is_whiteout(status) || (!last && !S_ISDIR(status.st_mode))) lower_may_have_it = false;
      if (!lower_may_have_it) break;
      if (last) return full;
    }
    if (!lower_may_have_it) return std::nullopt;
  }
  return std::nullopt;
}

bool View::has_folder(const std::string& path) const {
  const auto full = find(path);
  struct stat status {};
  return full && lstat(full->c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::set<std::string> View::names(const std::string& folder) const {
  std::set<std::string> seen, hidden;
  for (std::size_t i = 0; i < trees_.size(); ++i) {
    // The view of this tree and those below it; a tree above may hide the folder.
    const View below({trees_.begin() + static_cast<std::ptrdiff_t>(i), trees_.end()});
    if (!folder.empty() && !below.find(folder)) break;
    const std::string full = folder.empty() ? trees_[i] : os::join(trees_[i], folder);
    struct stat status {};
    if (lstat(full.c_str(), &status) != 0) continue;
    if (!S_ISDIR(status.st_mode)) break;
    const auto names = os::list_folder(full);
    if (!names) continue;
    for (const auto& name : *names) {
      if (hidden.contains(name) || seen.contains(name)) continue;
      if (lstat(os::join(full, name).c_str(), &status) == 0 && is_whiteout(status))
        hidden.insert(name);
      else
        seen.insert(name);
    }
  }
  return seen;
}

void View::each_file(const std::string& path, const std::function<void(const std::string&)>& visit) const {
  const auto full = path.empty() ? std::optional<std::string>() : find(path);
  if (!path.empty() && !full) return;
  struct stat status {};
  if (full && (lstat(full->c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) {
    visit(path);
    return;
  }
  for (const auto& name : names(path)) each_file(child(path, name), visit);
}

}  // namespace pawl::workspace
