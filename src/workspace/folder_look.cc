#include "workspace/folder_look.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ranges>
#include <set>
#include <utility>

#include "base/hash.h"
#include "os/file.h"
#include "os/parallel.h"
#include "os/walls.h"
#include "workspace/objects.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kMemoryFormat = "pawl folder 3\n";
constexpr std::uint64_t kMemoryBytesMax = 4ULL << 30;

struct Record {
  Looked::Stamp stamp;
  std::int64_t size, mtime_ns;
  std::uint32_t type, mode, path_bytes, content_bytes;
};

void append_record(std::string& out, const Looked& looked) {
  const auto& entry = looked.entry;
  Record record{};
  record.stamp = looked.stamp;
  record.size = entry.size;
  record.mtime_ns = entry.mtime_ns;
  record.type = static_cast<std::uint32_t>(entry.type);
  record.mode = entry.mode;
  record.path_bytes = static_cast<std::uint32_t>(entry.path.size());
  record.content_bytes = static_cast<std::uint32_t>(entry.content.size());
  out.append(reinterpret_cast<const char*>(&record), sizeof record);
  out += entry.path;
  out += entry.content;
}

// Takes the first record off `bytes`. REQUIRES: the seal of `bytes` was checked.
Looked take_record(std::string_view& bytes) {
  Record record{};
  std::memcpy(&record, bytes.data(), sizeof record);
  bytes.remove_prefix(sizeof record);
  Looked out{.entry = {.path = std::string(bytes.substr(0, record.path_bytes)),
                       .type = static_cast<EntryType>(record.type),
                       .mode = record.mode,
                       .size = record.size,
                       .content = std::string(bytes.substr(record.path_bytes, record.content_bytes)),
                       .mtime_ns = record.mtime_ns},
             .stamp = record.stamp};
  bytes.remove_prefix(record.path_bytes + record.content_bytes);
  return out;
}

class Looker {
 public:
  Looker(const std::string& root, const Without& without, const struct stat& state, FolderMemory& memory,
         SoFar& so_far)
      : root_(root), without_(without), state_(state), memory_(memory), so_far_(so_far) {}

  Result<FolderLook> look() {
    PAWL_OK(walk_by_level(root_, [this](const std::string& path, const auto& found, auto& below) {
      return folder(path, found, below);
    }));
    out_.is_as_remembered =
        unread_.empty() && differs_ == 0 && out_.entries.size() == memory_.entries().size();
    PAWL_OK(os::for_each_in_parallel(unread_.size(), [this](std::size_t i) -> Status {
      PAWL_OK(so_far_.go_on());
      auto& entry = out_.entries[unread_[i]].entry;
      auto content = hash_of_file(os::join(root_, entry.path));
      if (!content) return unread(std::move(content).error(), without_.above + entry.path);
      entry.content = *std::move(content);
      so_far_.add(entry.size);
      return {};
    }));
    return std::move(out_);
  }

 private:
  Status folder(const std::string& path, const Result<std::vector<Found>>& found,
                std::vector<std::string>& folders) {
    PAWL_OK(so_far_.go_on());
    PAWL_OK(check_limits(static_cast<std::int64_t>(out_.entries.size()), bytes_, root_));
    const std::string full = path.empty() ? root_ : os::join(root_, path);
    if (!found) return unread(found.error(), path.empty() ? "" : without_.above + path);
    for (const auto& [name, status] : *found) {
      if (name == ".git" || name == ".pawl") continue;
      std::string below = child(path, name);
      if (std::ranges::find(without_.folders, os::join(full, name)) != without_.folders.end()) continue;
      if (is_left_out(without_.patterns, without_.above + below)) continue;
      if (!is_kept_name(name) || below.size() > kPathBytesMax)
        return unusable("source: ", without_.above + below);
      if (status.st_dev == state_.st_dev && status.st_ino == state_.st_ino) continue;
      if (S_ISDIR(status.st_mode)) folders.push_back(below);
      PAWL_OK(entry(std::move(below), status));
    }
    return {};
  }

  Status entry(std::string path, const struct stat& status) {
    // Sockets and devices are not part of a source.
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) return {};
    Looked looked{
        .entry = {.path = std::move(path), .mode = status.st_mode & 0777U, .mtime_ns = ns_of(status.st_mtim)},
        .stamp = stamp_of(status)};
    auto& entry = looked.entry;
    if (S_ISDIR(status.st_mode)) {
      entry.type = EntryType::kFolder;
      entry.mode |= 0700U;
    } else if (S_ISLNK(status.st_mode)) {
      entry.type = EntryType::kSymlink;
      entry.mode = 0;
      auto target = target_of_link(os::join(root_, entry.path));
      if (!target) return unread(std::move(target).error(), without_.above + entry.path);
      entry.content = *std::move(target);
      PAWL_OK(check_target("source: ", without_.above + entry.path, entry.content));
    } else {
      entry.mode |= 0400U;
      entry.size = status.st_size;
    }
    const Looked* before = memory_.find(entry.path);
    const bool is_file = entry.type == EntryType::kFile;
    if (is_file && before != nullptr && before->stamp == looked.stamp && before->entry.size == entry.size &&
        before->entry.type == EntryType::kFile)
      entry.content = before->entry.content;
    else if (is_file)
      unread_.push_back(out_.entries.size());
    // The content of a folder says that it is a submodule. A look can't find that out.
    if (entry.type == EntryType::kFolder && before != nullptr && before->entry.type == entry.type)
      entry.content = before->entry.content;
    if (before == nullptr || before->entry != entry) ++differs_;
    bytes_ += entry.size;
    out_.entries.push_back(std::move(looked));
    return {};
  }

  const std::string& root_;
  const Without& without_;
  const struct stat& state_;
  FolderMemory& memory_;
  SoFar& so_far_;
  FolderLook out_;
  std::vector<std::size_t> unread_;
  std::int64_t bytes_ = 0;
  std::size_t differs_ = 0;
};

// Sets permissions and times of folders, the deepest first, after all entries are in them.
Status finish_folders(const std::string& from, const std::set<std::string>& folders, const std::string& to) {
  for (const auto& path : folders | std::views::reverse) {
    const std::string made = path.empty() ? to : os::join(to, path);
    const std::string source = path.empty() ? from : os::join(from, path);
    struct stat status {};
    if (lstat(source.c_str(), &status) != 0) return unread(fail_errno(errno, "read", source).error(), path);
    if (!S_ISDIR(status.st_mode)) return unread(fail_errno(ENOTDIR, "read", source).error(), path);
    const mode_t mode = path.empty() ? 0755 : (status.st_mode & 0777U) | 0700U;
    if (chmod(made.c_str(), mode) != 0) return fail_errno(errno, "chmod", made);
    PAWL_OK(os::copy_times(source, made));
  }
  return {};
}

}  // namespace

Looked::Stamp stamp_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .written_ns = ns_of(status.st_mtim),
          .changed_ns = ns_of(status.st_ctim)};
}

std::string FolderMemory::base_of(const std::string& path) {
  const auto file = os::MappedFile::open(path, kMemoryBytesMax);
  constexpr std::size_t kHeadBytes = kMemoryFormat.size() + 2 * kHashHexSize;
  if (!file || file->bytes().size() < kHeadBytes || !file->bytes().starts_with(kMemoryFormat)) return {};
  return std::string(file->bytes().substr(kMemoryFormat.size() + kHashHexSize, kHashHexSize));
}

FolderMemory FolderMemory::load(const std::string& path, const Seal& seal) {
  FolderMemory out;
  // The file is read, not mapped: sealed bytes must not change between the check and the parsing.
  const auto file = os::read_file(path, kMemoryBytesMax);
  constexpr std::size_t kHeadBytes = kMemoryFormat.size() + 2 * kHashHexSize;
  if (!file || file->size() < kHeadBytes || !file->starts_with(kMemoryFormat)) return out;
  const std::string_view whole = *file;
  auto bytes = whole.substr(kMemoryFormat.size() + kHashHexSize);
  const bool is_ours = seal.holds(whole.substr(kMemoryFormat.size(), kHashHexSize), bytes);
  if (!is_ours && os::walls().objects) return out;
  out.base_id_ = bytes.substr(0, kHashHexSize);
  bytes.remove_prefix(kHashHexSize);
  while (!bytes.empty()) out.entries_.push_back(take_record(bytes));
  return out;
}

Status FolderMemory::save(const std::string& path, const Seal& seal, const std::string& base_id,
                          const std::vector<Looked>& entries) {
  std::string bytes = base_id;
  for (const auto& looked : entries) append_record(bytes, looked);
  return os::write_atomically(path, std::string(kMemoryFormat) + seal.of(bytes) + bytes, 0600);
}

const Looked* FolderMemory::find(const std::string& path) {
  if (next_ < entries_.size() && entries_[next_].entry.path == path) return &entries_[next_++];
  if (by_path_.empty())
    for (std::size_t i = 0; i < entries_.size(); ++i) by_path_[entries_[i].entry.path] = i;
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  next_ = found->second + 1;
  return &entries_[found->second];
}

Result<FolderLook> look_at(const std::string& path, const Without& without, const struct stat& state,
                           FolderMemory& memory, SoFar& so_far) {
  return Looker(path, without, state, memory, so_far).look();
}

Result<std::vector<Entry>> copy_looked(const std::string& from, const std::vector<Looked>& entries,
                                       const std::string& to, SoFar& so_far) {
  std::set<std::string> folders{""};
  for (const auto& looked : entries) {
    const auto& path = looked.entry.path;
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      folders.insert(path.substr(0, slash));
    if (looked.entry.type == EntryType::kFolder) folders.insert(path);
  }
  for (const auto& folder : folders) PAWL_OK(os::make_folders(folder.empty() ? to : os::join(to, folder)));
  std::vector<Entry> out(entries.size());
  PAWL_OK(os::for_each_in_parallel(entries.size(), [&](std::size_t i) -> Status {
    PAWL_OK(so_far.go_on());
    const auto& entry = entries[i].entry;
    const std::string source = os::join(from, entry.path), made = os::join(to, entry.path);
    out[i] = entry;
    if (entry.type == EntryType::kFile) {
      if (auto copied = os::copy_file(source, made, entry.mode); !copied)
        return unread(std::move(copied).error(), entry.path);
      PAWL_TRY(out[i], entry_of(made, entry.path));
      so_far.add(out[i].size);
    } else if (entry.type == EntryType::kSymlink) {
      auto target = target_of_link(source);
      if (!target) return unread(std::move(target).error(), entry.path);
      out[i].content = *std::move(target);
      PAWL_OK(check_target("source: ", entry.path, out[i].content));
      if (symlink(out[i].content.c_str(), made.c_str()) != 0) return fail_errno(errno, "make link", made);
      if (auto copied = os::copy_times(source, made); !copied)
        return unread(std::move(copied).error(), entry.path);
    } else if (entry.type == EntryType::kDeleted && mknod(made.c_str(), S_IFCHR, 0) != 0) {
      return fail_errno(errno, "make whiteout", made);
    }
    return {};
  }));
  PAWL_OK(finish_folders(from, folders, to));
  for (auto& entry : out) {
    if (entry.type == EntryType::kDeleted) continue;
    const std::string made = os::join(to, entry.path);
    struct stat status {};
    if (lstat(made.c_str(), &status) != 0) return fail_errno(errno, "look at", made);
    entry.mtime_ns = ns_of(status.st_mtim);
  }
  return out;
}

}  // namespace pawl::workspace
