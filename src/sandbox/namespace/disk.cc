#include "sandbox/namespace/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "os/file.h"
#include "sandbox/namespace/processes.h"

namespace pawl::sandbox {
namespace {

constexpr std::int64_t kEntryBytesMin = 4096;  // files without content also fill a disk, with inodes
constexpr int kDepthMax = 256;                 // each level of folders takes a descriptor
constexpr mode_t kPermissionBits = 07777;
constexpr mode_t kMayLook = S_IRUSR | S_IXUSR;

// While this object lives, a folder that its owner may not read can be read. The owner is the
// sandbox's user, who is also ours.
class Opened {
 public:
  Opened(int parent, const char* name)
      : fd_(openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    struct stat status {};
    if (!fd_ || fstat(fd_.get(), &status) != 0) return;
    path_ = "/proc/self/fd/" + std::to_string(fd_.get());
    before_ = status.st_mode & kPermissionBits;
    is_changed_ = chmod(path_.c_str(), before_ | kMayLook) == 0;
  }
  ~Opened() {
    struct stat status {};
    const bool is_still = is_changed_ && fstat(fd_.get(), &status) == 0 &&
                          (status.st_mode & kPermissionBits) == (before_ | kMayLook);
    if (is_still) chmod(path_.c_str(), before_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  os::UniqueFd fd_;
  std::string path_;
  mode_t before_ = 0;
  bool is_changed_ = false;
};

}  // namespace

class DiskWatch::Walk {
 public:
  void add_entry(int parent, const char* name, int depth) {
    struct stat status {};
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      use_.complete = use_.complete && errno == ENOENT;
      return;
    }
    const auto bytes = std::max(static_cast<std::int64_t>(status.st_blocks) * 512, kEntryBytesMin);
    if (S_ISDIR(status.st_mode)) {
      use_.bytes += bytes;
      return add_folder(parent, name, status.st_mode, depth);
    }
    // Each name of a file counts for a part of it.
    use_.bytes += bytes / static_cast<std::int64_t>(std::max<nlink_t>(status.st_nlink, 1));
    if (S_ISREG(status.st_mode)) use_.longest = std::max<std::int64_t>(use_.longest, status.st_size);
  }

  Use result() const { return use_; }

 private:
  void add_folder(int parent, const char* name, mode_t mode, int depth) {
    if (depth == kDepthMax) {
      use_.complete = false;
      return;
    }
    std::optional<Opened> opened;
    const bool may_look = (mode & kMayLook) == kMayLook || geteuid() == 0;
    if (!may_look) opened.emplace(parent, name);
    const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(folder < 0 ? nullptr : fdopendir(folder), closedir);
    if (!stream) {
      use_.complete = use_.complete && folder < 0 && errno == ENOENT;
      if (folder >= 0) close(folder);
      return;
    }
    while (const dirent* entry = readdir(stream.get())) {
      const std::string_view below = entry->d_name;
      if (below != "." && below != "..") add_entry(folder, entry->d_name, depth + 1);
    }
  }

  Use use_;
};

DiskWatch::DiskWatch(std::vector<WritablePath> paths, std::int64_t limit)
    : paths_(std::move(paths)), limit_(limit), free_when_complete_(free_bytes()) {
  Walk walk;
  const auto add = [&](bool whole) {
    for (const auto& path : paths_)
      if (path.counts_whole == whole) walk.add_entry(AT_FDCWD, path.outside.c_str(), 0);
  };
  add(false);
  at_start_ = walk.result();
  add(true);
  taken_when_complete_ = walk.result().bytes - at_start_.bytes;
  for (const auto& path : paths_) inside_.push_back(path.inside);
}

bool DiskWatch::is_over(int init) {
  if (paths_.empty()) return false;
  const std::int64_t free = free_bytes();
  const Use now = use();
  if (now.longest > std::max(limit_, at_start_.longest)) return true;
  std::int64_t held = 0;
  bool complete = now.complete;
  if (init >= 0) {
    const auto nameless = nameless_files_inside(init, inside_);
    for (const auto& [inode, bytes] : nameless.bytes) held += std::max(bytes, kEntryBytesMin);
    complete = complete && nameless.complete;
  }
  const std::int64_t rest = limit_ - held;
  // A file counts twice if it is moved while names are read, or loses its name before descriptors are read. A
  // second look at the names must confirm the excess.
  if (now.bytes - at_start_.bytes > rest && use().bytes - at_start_.bytes > rest) return true;
  if (complete) {
    taken_when_complete_ = now.bytes - at_start_.bytes + held;
    free_when_complete_ = free;
  }
  return init >= 0 && !complete && taken_when_complete_ + free_when_complete_ - free > limit_;
}

DiskWatch::Use DiskWatch::use() const {
  Walk walk;
  for (const auto& path : paths_) walk.add_entry(AT_FDCWD, path.outside.c_str(), 0);
  return walk.result();
}

std::int64_t DiskWatch::free_bytes() const {
  return paths_.empty() ? 0 : os::free_bytes(paths_.front().outside).value_or(0);
}

}  // namespace pawl::sandbox
