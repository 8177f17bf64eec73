#include "workspace/folder_look.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <ranges>
#include <set>
#include <utility>

#include "base/hash.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/parallel.h"
#include "os/state_folder.h"
#include "workspace/objects.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kMemoryFormat = "pawl folder 3\n";
constexpr std::uint64_t kMemoryBytesMax = 4ULL << 30;
constexpr std::size_t kRecordBytesUsual = 160;  // With a short path; for the room that entries need.

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

// Takes the first record off `bytes`, to which the result refers. REQUIRES: the seal of `bytes` was checked.
Remembered take_record(std::string_view& bytes) {
  Record record{};
  std::memcpy(&record, bytes.data(), sizeof record);
  bytes.remove_prefix(sizeof record);
  const Remembered out{.stamp = record.stamp,
                       .size = record.size,
                       .mtime_ns = record.mtime_ns,
                       .type = static_cast<EntryType>(record.type),
                       .mode = record.mode,
                       .path = bytes.substr(0, record.path_bytes),
                       .content = bytes.substr(record.path_bytes, record.content_bytes)};
  bytes.remove_prefix(record.path_bytes + record.content_bytes);
  return out;
}

std::string_view folder_part(std::string_view path) {
  const auto slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

// Permissions as a look keeps them.
unsigned kept_mode(const struct stat& status) {
  if (S_ISLNK(status.st_mode)) return 0;
  return (status.st_mode & 0777U) | (S_ISDIR(status.st_mode) ? 0700U : 0400U);
}

bool is_of_type(const struct stat& status, EntryType type) {
  switch (type) {
    case EntryType::kFile:
      return S_ISREG(status.st_mode);
    case EntryType::kFolder:
      return S_ISDIR(status.st_mode);
    case EntryType::kSymlink:
      return S_ISLNK(status.st_mode);
    case EntryType::kDeleted:
      return is_whiteout(status);
  }
  return false;
}

class Looker {
 public:
  Looker(const std::string& root, const Without& without, const struct stat& state,
         const FolderMemory& memory, SoFar& so_far)
      : root_(root), without_(without), state_(state), memory_(memory), so_far_(so_far) {}

  Result<FolderLook> look() {
    PAWL_OK(walk_by_level<Seen>(
        root_, [this](const std::string& path, auto found) { return see(path, std::move(found)); },
        [this](Seen&& seen, auto& below) { return add(std::move(seen), below); }));
    const bool is_same = unread_ == 0 && differ_ == 0 && entries_ == memory_.entries().size();
    FolderLook out{.is_as_remembered = is_same, .has_new_stamps = restamped_ > 0};
    if (is_same && !out.has_new_stamps) return out;
    std::vector<std::size_t> unread_places;
    out.entries.reserve(entries_);
    for (auto& seen : parts_) move_part(std::move(seen.part), seen.unread, out.entries, unread_places);
    PAWL_OK(os::for_each_in_parallel(unread_places.size(), [&](std::size_t i) -> Status {
      PAWL_OK(so_far_.go_on());
      auto& entry = out.entries[unread_places[i]].entry;
      auto content = hash_of_file(os::join(root_, entry.path));
      if (!content) return unread(std::move(content).error(), without_.above + entry.path);
      entry.content = *std::move(content);
      so_far_.add(entry.size);
      return {};
    }));
    return out;
  }

 private:
  struct Largest {
    std::int64_t size = -1;
    std::string path;
    void see(std::int64_t other, std::string_view at) {
      if (other > size) *this = {.size = other, .path = std::string(at)};
    }
  };

  // A thread's results about a folder.
  struct Seen {
    FolderPart part;
    std::vector<std::string> below;   // The folders in it.
    std::vector<std::size_t> unread;  // The places in `part` of files that must be read.
    std::int64_t bytes = 0;
    Largest largest;
    std::size_t differ = 0, restamped = 0;
  };

  Result<Seen> see(const std::string& folder, const Result<std::vector<Found>>& found) const {
    PAWL_OK(so_far_.go_on());
    if (!found) return unread(found.error(), folder.empty() ? "" : without_.above + folder);
    Seen out;
    const auto remembered = memory_.in(folder);
    const auto leaves_it_out = [&](const Found& one) { return leaves_out(folder, one); };
    if (is_as_remembered(folder, *found, remembered, leaves_it_out, out.below)) {
      out.part.same = remembered;
      for (const auto& each : remembered) {
        out.bytes += each.size;
        out.largest.see(each.size, each.path);
      }
      return out;
    }
    for (const auto& one : *found)
      if (!leaves_it_out(one)) PAWL_OK(see(child(folder, one.first), one, remembered, out));
    return out;
  }

  bool leaves_out(const std::string& folder, const Found& one) const {
    const auto& [name, status] = one;
    if (name == ".git" || name == ".pawl") return true;
    if (status.st_dev == state_.st_dev && status.st_ino == state_.st_ino) return true;
    const std::string path = child(folder, name);
    return is_without(without_, root_, path) ||
           (S_ISDIR(status.st_mode) && os::is_state_folder(os::join(root_, path)));
  }

  Status see(std::string path, const Found& one, std::span<const Remembered> remembered, Seen& out) const {
    const auto& [name, status] = one;
    if (!is_kept_name(name) || path.size() > kPathBytesMax)
      return unusable("source: ", without_.above + path);
    // Sockets and devices are not part of a source.
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) return {};
    Looked looked{
        .entry = {.path = std::move(path), .mode = kept_mode(status), .mtime_ns = ns_of(status.st_mtim)},
        .stamp = stamp_of(status)};
    auto& entry = looked.entry;
    const Remembered* before = find_in(remembered, entry.path);
    if (S_ISDIR(status.st_mode)) {
      entry.type = EntryType::kFolder;
      out.below.push_back(entry.path);
      // The content of a folder says that it is a submodule. A look can't find that out.
      if (before != nullptr && before->type == entry.type) entry.content = before->content;
    } else if (S_ISLNK(status.st_mode)) {
      entry.type = EntryType::kSymlink;
      auto target = target_of_link(os::join(root_, entry.path));
      if (!target) return unread(std::move(target).error(), without_.above + entry.path);
      entry.content = *std::move(target);
      PAWL_OK(check_target("source: ", without_.above + entry.path, entry.content));
    } else {
      entry.size = status.st_size;
      if (before != nullptr && before->fits(status))
        entry.content = before->content;
      else
        out.unread.push_back(out.part.entries.size());
    }
    if (before == nullptr || !before->is(entry))
      ++out.differ;
    else if (before->stamp != looked.stamp)
      ++out.restamped;
    out.bytes += entry.size;
    out.largest.see(entry.size, entry.path);
    out.part.entries.push_back(std::move(looked));
    return {};
  }

  Status add(Seen&& seen, std::vector<std::string>& below) {
    std::ranges::move(seen.below, std::back_inserter(below));
    entries_ += seen.part.size();
    bytes_ += seen.bytes;
    unread_ += seen.unread.size();
    differ_ += seen.differ;
    restamped_ += seen.restamped;
    largest_.see(seen.largest.size, seen.largest.path);
    parts_.push_back(std::move(seen));
    return check_source_limits(static_cast<std::int64_t>(entries_), bytes_, root_,
                               without_.above + largest_.path);
  }

  const std::string& root_;
  const Without& without_;
  const struct stat& state_;
  const FolderMemory& memory_;
  SoFar& so_far_;
  std::vector<Seen> parts_;
  std::int64_t bytes_ = 0;
  Largest largest_;
  std::size_t entries_ = 0, unread_ = 0, differ_ = 0, restamped_ = 0;
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

bool Remembered::is(const Entry& entry) const {
  return path == entry.path && type == entry.type && mode == entry.mode && size == entry.size &&
         content == entry.content && mtime_ns == entry.mtime_ns;
}

bool Remembered::fits(const struct stat& status) const {
  return stamp == stamp_of(status) && is_of_type(status, type) &&
         (type != EntryType::kFile || size == status.st_size) && (mode == 0 || mode == kept_mode(status));
}

Looked Remembered::looked() const {
  return {.entry = {.path = std::string(path),
                    .type = type,
                    .mode = mode,
                    .size = size,
                    .content = std::string(content),
                    .mtime_ns = mtime_ns},
          .stamp = stamp};
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
  auto file = os::read_file(path, kMemoryBytesMax);
  constexpr std::size_t kHeadBytes = kMemoryFormat.size() + 2 * kHashHexSize;
  if (!file || file->size() < kHeadBytes || !file->starts_with(kMemoryFormat)) return out;
  const auto text = std::make_shared<const std::string>(*std::move(file));
  const std::string_view whole = *text;
  auto bytes = whole.substr(kMemoryFormat.size() + kHashHexSize);
  const bool is_ours = seal.holds(whole.substr(kMemoryFormat.size(), kHashHexSize), bytes);
  if (!is_ours && os::defences().objects) return out;
  out.base_id_ = bytes.substr(0, kHashHexSize);
  bytes.remove_prefix(kHashHexSize);
  out.entries_.reserve(bytes.size() / kRecordBytesUsual);
  while (!bytes.empty()) out.entries_.push_back(take_record(bytes));
  out.text_ = text;
  out.index();
  return out;
}

void FolderMemory::index() {
  std::string_view folder;
  Range* range = nullptr;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto above = folder_part(entries_[i].path);
    if (range == nullptr || above != folder) {
      folder = above;
      range = &(folders_[folder] = {.begin = i});
    }
    ++range->count;
  }
}

std::span<const Remembered> FolderMemory::in(std::string_view folder) const {
  const auto found = folders_.find(folder);
  if (found == folders_.end()) return {};
  return std::span(entries_).subspan(found->second.begin, found->second.count);
}

std::vector<Looked> FolderMemory::looked() const {
  std::vector<Looked> out;
  out.reserve(entries_.size());
  for (const auto& each : entries_) out.push_back(each.looked());
  return out;
}

Status FolderMemory::save(const std::string& path, const Seal& seal, const std::string& base_id,
                          const std::vector<Looked>& entries) {
  // The seal's place is kept free: a second copy of the records would double the memory.
  constexpr std::size_t kHeadBytes = kMemoryFormat.size() + kHashHexSize;
  std::string bytes = std::string(kMemoryFormat) + std::string(kHashHexSize, '0') + base_id;
  std::size_t size = bytes.size() + entries.size() * sizeof(Record);
  for (const auto& looked : entries) size += looked.entry.path.size() + looked.entry.content.size();
  bytes.reserve(size);
  for (const auto& looked : entries) append_record(bytes, looked);
  bytes.replace(kMemoryFormat.size(), kHashHexSize, seal.of(std::string_view(bytes).substr(kHeadBytes)));
  return os::write_atomically(path, bytes, 0600);
}

const Remembered* find_in(std::span<const Remembered> remembered, std::string_view path) {
  const auto found = std::ranges::lower_bound(remembered, path, {}, &Remembered::path);
  return found != remembered.end() && found->path == path ? &*found : nullptr;
}

bool is_as_remembered(const std::string& folder, const std::vector<Found>& found,
                      std::span<const Remembered> remembered,
                      const std::function<bool(const Found&)>& leaves_out, std::vector<std::string>& below) {
  const std::size_t start = folder.empty() ? 0 : folder.size() + 1;
  auto next = remembered.begin();
  std::vector<std::string> folders;
  for (const auto& one : found) {
    const auto& [name, status] = one;
    const bool is_folder = S_ISDIR(status.st_mode);
    const bool is_next = next != remembered.end() && next->path.substr(start) == name;
    // A remembered file was not left out at the last look. A folder may have become the state folder.
    if ((is_folder || !is_next) && leaves_out(one)) continue;
    if (!is_next || !next->fits(status)) return false;
    if (is_folder) folders.push_back(child(folder, name));
    ++next;
  }
  if (next != remembered.end()) return false;
  std::ranges::move(folders, std::back_inserter(below));
  return true;
}

void move_part(FolderPart part, const std::vector<std::size_t>& unread, std::vector<Looked>& to,
               std::vector<std::size_t>& places) {
  for (const auto place : unread) places.push_back(to.size() + place);
  for (const auto& each : part.same) to.push_back(each.looked());
  std::ranges::move(part.entries, std::back_inserter(to));
}

Result<FolderLook> look_at(const std::string& path, const Without& without, const struct stat& state,
                           const FolderMemory& memory, SoFar& so_far) {
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
