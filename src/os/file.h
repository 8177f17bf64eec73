// Files and folders. Only this room, src/sandbox and src/workspace make such system calls.
//
// Durability is visible: only functions whose comment says "durable" are. Operations that matter to recovery
// have a label ("spool.rename"), at which tests end the process (os/crash_point.h). Relative paths are
// resolved against the current directory only. Functions follow symlinks unless their comment says otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"

namespace pawl::os {

// Owns a descriptor; -1: none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// The whole file. kExhausted: larger than `bytes_max`, so that a hostile file is never read without a limit.
Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max);
// The same in pieces. The first call of next() opens the file.
std::unique_ptr<ByteSource> file_source(std::string path, std::uint64_t bytes_max);
// Maps a file that no process changes any more into memory, without a copy.
class MappedFile {
 public:
  // kExhausted: larger than `bytes_max`. Throws std::bad_alloc where no memory is left for it.
  static Result<MappedFile> open(const std::string& path, std::uint64_t bytes_max);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) = delete;
  ~MappedFile();
  std::string_view bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;
};
// The last bytes of the file, at most `bytes_max`.
Result<std::string> read_tail(const std::string& path, std::uint64_t bytes_max);

// Replaces `path`, also if it is a symlink. Atomic (temporary file, rename). Not durable: for projections and
// caches, which can be rebuilt.
Status write_atomically(const std::string& path, std::string_view bytes, unsigned mode = 0644);
// Appends to an existing file; fails if it is a symlink. Not durable: for projections.
Status append_to_file(const std::string& path, std::string_view bytes);
// Copies a regular file to a new file, with its times and its holes. Never follows a symlink at `from`. Not
// durable.
Status copy_file(const std::string& from, const std::string& to, unsigned mode);
// Gives `to` the times of `from`. Both may be symlinks, and are not followed.
Status copy_times(const std::string& from, const std::string& to);
// Replaces `path`, also if it is a symlink. Durable when it returns: temporary file, fsync, rename, fsync of
// the folder. `label` prefixes the crash points "<label>.fsync", "<label>.rename", "<label>.fsync_dir". If it
// fails before the rename, the old content is untouched.
Status write_durably(std::string_view label, const std::string& path, std::string_view bytes,
                     unsigned mode = 0644);
Status fsync_file(std::string_view label, const std::string& path);  // does not follow a symlink
Status fsync_folder(std::string_view label, const std::string& path);
// rename(2), then fsync of the target's folder: durable when it returns.
Status rename_durably(std::string_view label, const std::string& from, const std::string& to);

// Like `mkdir -p`; existing folders retain their mode.
Status make_folders(const std::string& path, unsigned mode = 0755);
// Creates `path` with mode 0700 whatever the umask, and the folders above it as make_folders() does. An
// existing folder retains its mode.
Status make_private_folder(const std::string& path);
// Removes the permissions of the group and of others. Ignores a symlink.
Status make_private(const std::string& path);
// Like `rm -rf`, never through a symlink; a missing path is a success. It works relative to descriptors, so a
// hostile tree cannot lead it elsewhere. The number of open descriptors is bounded, however deep the tree is.
// kCancelled as soon as `should_stop` says so; a part of the tree is then left.
Status remove_tree(const std::string& path, const std::function<bool()>& should_stop = {});
// The same, but renames the tree to `<path>.removed` first, so that no process sees a part of it at `path`.
// If the rename fails, the tree is removed in place.
Status remove_tree_at_once(const std::string& path);
struct PathFacts {
  bool is_link = false;
  unsigned uid = 0, mode = 0;  // the permission bits
};
Result<PathFacts> facts_of(const std::string& path);  // lstat(2): does not follow a symlink
bool exists(const std::string& path);                 // lstat(2) succeeds
bool is_folder(const std::string& path);              // stat(2): follows symlinks
bool is_regular_file(const std::string& path);        // stat(2): follows symlinks
// The names (not paths) in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_folder(const std::string& path);
// The paths of the folders in `path`, without symlinks to folders. Empty if `path` cannot be read.
std::vector<std::string> folders_in(const std::string& path);
// The bytes that an ordinary user may still write to the file system of `path`, a file or folder.
Result<std::int64_t> free_bytes(const std::string& path);
Result<std::string> absolute_path(const std::string& path);  // realpath(3)

// A flock(2) on a file, which is created if absent; fails if it is a symlink. Exclusive unless stated
// otherwise. Released by the destructor, or when the process dies: a held lock proves that a supervisor
// lives. The descriptor is close-on-exec.
class FileLock {
 public:
  // No value: another holder has the lock.
  static Result<std::optional<FileLock>> try_lock(const std::string& path);
  // Waits for the lock.
  static Result<FileLock> lock(const std::string& path);
  // Waits for a shared lock, which several holders may have. A continuous stream of sharers may delay an
  // exclusive lock for long.
  static Result<FileLock> lock_shared(const std::string& path);
  int fd() const { return fd_.get(); }

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  static Result<FileLock> wait_for(const std::string& path, int how);
  UniqueFd fd_;
};

// "a/b" from "a", "b"; "a/b" from "a/", "b".
std::string join(std::string_view folder, std::string_view name);
std::string folder_of(const std::string& path);  // "." for a bare name
// Whether `path` is safe inside an untrusted tree: relative, without empty, "." or ".." components, without
// NUL and control characters, at most 4096 bytes.
bool is_safe_relative_path(std::string_view path);

}  // namespace pawl::os
