#include "sandbox/namespace/upper_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "os/file.h"

namespace pawl::sandbox {
namespace {

constexpr int kPassesMax = 16;  // over a folder that other processes write to meanwhile
constexpr int kNamesMax = 1000;
constexpr mode_t kModeBits = 07777;
constexpr char kTrial[] = "x";  // so that the target of a rename is not empty

int result_of(int returned) { return returned == 0 ? 0 : errno; }

bool is_dots(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

// The layout of linux_dirent64, whose name continues past the end of the structure (getdents64(2)).
struct Entry {
  static constexpr std::size_t kType = 18, kName = 19, kSize = 16;
};

bool is_folder_at(int parent, const char* name, unsigned char type) {
  if (type != DT_UNKNOWN) return type == DT_DIR;
  struct stat status {};
  return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

// visit(name, is_folder) returns 0, or an errno that ends the walk.
template <typename Visit>
int for_each_entry(int folder, const Visit& visit) {
  alignas(std::uint64_t) char buffer[4096];
  if (lseek(folder, 0, SEEK_SET) < 0) return errno;
  for (;;) {
    const long got = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (got <= 0) return got == 0 ? 0 : errno;
    std::uint16_t size = 0;
    for (const char* at = buffer; at < buffer + got; at += size) {
      std::memcpy(&size, at + Entry::kSize, sizeof size);
      const char* name = at + Entry::kName;
      if (is_dots(name)) continue;
      const auto type = static_cast<unsigned char>(at[Entry::kType]);
      if (const int error = visit(name, is_folder_at(folder, name, type)); error != 0) return error;
    }
  }
}

// Some file systems set attributes of their own. Only the user's attributes must be in the copy.
int copy_attributes(int from, int to) {
  static char names[XATTR_LIST_MAX], value[XATTR_SIZE_MAX];
  const ssize_t size = flistxattr(from, names, sizeof names);
  if (size < 0) return errno == ENOTSUP ? 0 : errno;
  for (const char* name = names; name < names + size; name += std::strlen(name) + 1) {
    const ssize_t bytes = fgetxattr(from, name, value, sizeof value);
    if (bytes >= 0 && fsetxattr(to, name, value, static_cast<std::size_t>(bytes), 0) == 0) continue;
    if (std::strncmp(name, "user.", 5) == 0) return errno;
  }
  return 0;
}

int make_like(const struct stat& status, int from, int to) {
  const timespec times[] = {status.st_atim, status.st_mtim};
  if (const int error = copy_attributes(from, to); error != 0) return error;
  return result_of(fchmod(to, status.st_mode & kModeBits) != 0 ? -1 : futimens(to, times));
}

// A folder whose owner, which is our user, may lack rights to it. The owner has `rights`
// while this object lives.
class Opened {
 public:
  Opened(int parent, const char* name, mode_t rights) : parent_(parent), name_(name) {
    if (fstatat(parent, name, &before_, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (!S_ISDIR(before_.st_mode)) {
      errno = ENOTDIR;
      return;
    }
    const mode_t mode = before_.st_mode & kModeBits;
    is_changed_ = (mode & rights) != rights && fchmodat(parent, name, mode | rights, 0) == 0;
    fd_ = os::UniqueFd(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  ~Opened() {
    const int error = errno;
    if (is_changed_) fchmodat(parent_, name_, before_.st_mode & kModeBits, 0);
    errno = error;
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  explicit operator bool() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  const struct stat& before() const { return before_; }
  void stay() { is_changed_ = false; }  // it is gone, or has its final mode

 private:
  int parent_;
  const char* name_;
  struct stat before_ {};
  bool is_changed_ = false;
  os::UniqueFd fd_;
};

bool is_mount(int folder) {
  struct statx status {};
  return statx(folder, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0 ||
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool is_same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

// Whether two names are of one file. overlayfs may show the inode number of a lower layer for one name, and
// that of the upper layer for the other.
bool is_one_file(const struct stat& one, const struct stat& other) {
  return one.st_mode == other.st_mode && one.st_size == other.st_size && one.st_rdev == other.st_rdev &&
         is_same_time(one.st_mtim, other.st_mtim) && is_same_time(one.st_ctim, other.st_ctim);
}

int drain_file(int from, const char* name, int to) {
  if (linkat(from, name, to, name, 0) == 0) return result_of(unlinkat(from, name, 0));
  if (errno != EEXIST) return errno;
  struct stat one {
  }, other{};
  if (fstatat(from, name, &one, AT_SYMLINK_NOFOLLOW) != 0 ||
      fstatat(to, name, &other, AT_SYMLINK_NOFOLLOW) != 0)
    return errno;
  // If the files differ, another process has put a new one there since.
  if (!is_one_file(one, other) && (unlinkat(to, name, 0) != 0 || linkat(from, name, to, name, 0) != 0))
    return errno;
  return result_of(unlinkat(from, name, 0));
}

// A move changes ".." in the folder, so the kernel requires the right to write to it.
int drain_folder(int from, const char* name, int to, UpperProgress::Level& level) {
  struct stat status {};
  if (fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  const mode_t mode = status.st_mode & kModeBits;
  const bool is_closed = (mode & S_IWUSR) == 0;
  if (is_closed) {
    level.moving_mode = mode;
    std::strcpy(level.moving, name);
  }
  if (is_closed && fchmodat(from, name, mode | S_IRWXU, 0) != 0) return errno;
  const int error = result_of(renameat(from, name, to, name));
  if (is_closed) fchmodat(error == 0 ? to : from, name, mode, 0);
  level.moving[0] = '\0';
  return error;
}

// Moves every entry from `from` to `to`. REQUIRES: only the upper layer has the folders in `from`.
int drain(int from, int to, UpperProgress::Level& level) {
  for (int pass = 0; pass < kPassesMax; ++pass) {
    bool is_empty = true;
    const int error = for_each_entry(from, [&](const char* name, bool is_folder) {
      is_empty = false;
      const int gone = is_folder ? drain_folder(from, name, to, level) : drain_file(from, name, to);
      return gone == ENOENT ? 0 : gone;  // another process has removed it
    });
    if (error != 0 || is_empty) return error;
  }
  return EBUSY;
}

class Replacement {
 public:
  Replacement(int parent, const char* name, const volatile std::sig_atomic_t& stop, UpperProgress& progress)
      : parent_(parent), name_(name), depth_(progress.depth), stop_(stop), progress_(progress) {}

  int make() {
    if (depth_ == UpperProgress::kDepthMax || std::strlen(name_) > NAME_MAX) return ENAMETOOLONG;
    auto& level = progress_.levels[depth_];
    std::strcpy(level.name, name_);
    level.own_name[0] = '\0';
    level.moving[0] = '\0';
    level.is_made = level.is_tried = false;
    if (fstatat(parent_, name_, &level.before, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    progress_.depth = depth_ + 1;
    const int error = make_at(level);
    progress_.depth = depth_;
    return is_not_empty(error) ? 0 : error;
  }

 private:
  static bool is_not_empty(int error) { return error == ENOTEMPTY || error == EEXIST; }

  int make_at(UpperProgress::Level& level) {
    int error = make_own(level);
    if (error != 0) return error;
    level.is_made = level.is_tried = true;
    error = try_rename();
    level.is_tried = false;
    if (error == EXDEV) error = fill_and_replace();
    if (error != 0) unlinkat(parent_, own_name_, AT_REMOVEDIR);
    return error;
  }

  // A name may belong to a folder of another process, or to one that a killed process left.
  int make_own(UpperProgress::Level& level) {
    for (int number = 0; number < kNamesMax; ++number) {
      std::snprintf(own_name_, sizeof own_name_, ".pawl-rename-%d", number);
      std::strcpy(level.own_name, own_name_);
      if (mkdirat(parent_, own_name_, S_IRWXU) == 0) return 0;
      if (errno != EEXIST) break;
    }
    level.own_name[0] = '\0';
    return errno == EEXIST ? EBUSY : errno;
  }

  // Returns the kernel's error for a rename that never succeeds, because the target is not
  // empty. EXDEV comes first.
  int try_rename() const {
    char below[sizeof own_name_ + sizeof kTrial];
    std::snprintf(below, sizeof below, "%s/%s", own_name_, kTrial);
    if (mkdirat(parent_, below, S_IRWXU) != 0) return errno;
    const int error = result_of(renameat(parent_, name_, parent_, own_name_));
    return unlinkat(parent_, below, AT_REMOVEDIR) == 0 ? error : errno;
  }

  int fill_and_replace() const {
    Opened old(parent_, name_, S_IRWXU);
    if (!old) return errno;
    if (old.before().st_uid != geteuid()) return EPERM;  // the copy would belong to us
    if (is_mount(old.fd())) return EBUSY;
    const os::UniqueFd own(openat(parent_, own_name_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!own) return errno;
    int error = fill(old.fd(), own.get());
    if (error == 0) error = replace(old, own.get());
    if (error == 0) {
      old.stay();
      return 0;
    }
    fchmod(own.get(), S_IRWXU);
    drain(own.get(), old.fd(), progress_.levels[depth_]);
    const timespec times[] = {old.before().st_atim, old.before().st_mtim};
    futimens(old.fd(), times);
    return is_not_empty(error) ? EBUSY : error;
  }

  // First replaces each inner folder, so that all entries of one move at once. Then gives
  // each file a second name.
  int fill(int old, int own) const {
    int error = for_each_entry(old, [&](const char* name, bool is_folder) {
      if (stop_ != 0) return EINTR;
      if (!is_folder || is_upper_alone(old, name)) return 0;
      const int made = Replacement(old, name, stop_, progress_).make();
      return made == ENOENT ? 0 : made;
    });
    if (error != 0) return error;
    return for_each_entry(old, [&](const char* name, bool is_folder) {
      if (stop_ != 0) return EINTR;
      const int linked = is_folder ? 0 : result_of(linkat(old, name, own, name, 0));
      return linked == ENOENT ? 0 : linked;
    });
  }

  int replace(const Opened& old, int own) const {
    for (int pass = 0; pass < kPassesMax; ++pass) {
      if (fchmod(own, S_IRWXU) != 0) return errno;
      if (const int error = drain(old.fd(), own, progress_.levels[depth_]); error != 0) return error;
      if (const int error = make_like(old.before(), old.fd(), own); error != 0) return error;
      if (renameat(parent_, own_name_, parent_, name_) == 0) return 0;
      if (!is_not_empty(errno)) return errno;
    }
    return EBUSY;
  }

  int parent_;
  const char* name_;
  int depth_;
  const volatile std::sig_atomic_t& stop_;
  UpperProgress& progress_;
  char own_name_[sizeof(UpperProgress::Level::own_name)] = {};
};

// Moves the content of the replacement folder back. The old folder then has its content again, at any stage.
void undo_level(int parent, const UpperProgress::Level& level) {
  if (level.own_name[0] == '\0') return;
  if (!level.is_made) unlinkat(parent, level.own_name, AT_REMOVEDIR);  // just made, and empty
  if (!level.is_made) return;
  const Opened own(parent, level.own_name, S_IRWXU);
  if (!own) return;  // it has the folder's name already
  {
    const Opened old(parent, level.name, S_IRWXU);
    if (!old) return;
    if (level.is_tried) unlinkat(own.fd(), kTrial, AT_REMOVEDIR);
    UpperProgress::Level here{};
    if (drain(own.fd(), old.fd(), here) != 0) return;
    if (level.moving[0] != '\0') fchmodat(old.fd(), level.moving, level.moving_mode, 0);
    unlinkat(parent, level.own_name, AT_REMOVEDIR);
  }
  const timespec times[] = {level.before.st_atim, level.before.st_mtim};
  fchmodat(parent, level.name, level.before.st_mode & kModeBits, 0);
  utimensat(parent, level.name, times, AT_SYMLINK_NOFOLLOW);
}

// Undoes the deepest level first.
void undo_from(int parent, int index, UpperProgress& progress) {
  if (index == progress.depth || index == UpperProgress::kDepthMax) return;
  const auto& level = progress.levels[index];
  {
    const Opened here(parent, level.name, S_IRWXU);
    if (here) undo_from(here.fd(), index + 1, progress);
  }
  undo_level(parent, level);
}

}  // namespace

bool is_upper_alone(int parent, const char* name) {
  struct stat status {};
  const auto is_counted = [&] {
    return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_nlink > 1;
  };
  constexpr auto kSame = static_cast<uid_t>(-1);
  return is_counted() && fchownat(parent, name, kSame, kSame, AT_SYMLINK_NOFOLLOW) == 0 && is_counted();
}

int make_upper_alone(int parent, const char* name, const volatile std::sig_atomic_t& stop,
                     UpperProgress& progress) {
  return Replacement(parent, name, stop, progress).make();
}

void undo_upper_alone(int parent, UpperProgress& progress) {
  undo_from(parent, 0, progress);
  progress.depth = 0;
}

}  // namespace pawl::sandbox
