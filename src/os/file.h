// Files and folders: the only place (with src/sandbox and src/workspace) that makes such system calls.
//
// Durability is visible: only functions that say "durable" are. Operations that matter to recovery carry a
// label
// ("spool.rename") at which tests crash the process (os/crash_point.h). Relative paths are never resolved
// here against anything but the current directory. No function follows a rule of its own about symlinks: each
// says.
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

// Owns a descriptor. -1 is empty.
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

// The whole file. kExhausted when it is larger than `bytes_max`: nothing hostile is read without a limit.
Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max);
// The same in pieces. Opened by the first call of next.
std::unique_ptr<ByteSource> file_source(std::string path, std::uint64_t bytes_max);
// A file that nobody changes any more, as one piece of memory that costs no copy.
class MappedFile {
 public:
  // kExhausted when it is larger than `bytes_max`.
  static Result<MappedFile> open(const std::string& path, std::uint64_t bytes_max);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) = delete;
  ~MappedFile();
  std::string_view bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;
};
// The last `bytes_max` bytes at most.
Result<std::string> read_tail(const std::string& path, std::uint64_t bytes_max);

// Not durable: for projections and caches, which can be made again. Still atomic (temporary, rename).
Status write_atomically(const std::string& path, std::string_view bytes, unsigned mode = 0644);
// Not durable: for projections.
Status append_to_file(const std::string& path, std::string_view bytes);
// The bytes of a regular file, never through a symlink, to a new file, with its times and its holes. Not
// durable.
Status copy_file(const std::string& from, const std::string& to, unsigned mode);
// `to` gets the times of `from`, both as they are: of a symlink, not of what it leads to.
Status copy_times(const std::string& from, const std::string& to);
// Durable when it returns: temporary, fsync, rename, fsync of the folder. `label` prefixes the crash points
// "<label>.fsync", "<label>.rename", "<label>.fsync_dir". On failure the old content is untouched.
Status write_durably(std::string_view label, const std::string& path, std::string_view bytes,
                     unsigned mode = 0644);
Status fsync_file(std::string_view label, const std::string& path);  // never through a symlink
Status fsync_folder(std::string_view label, const std::string& path);
// rename(2) followed by fsync of the target's folder: durable when it returns.
Status rename_durably(std::string_view label, const std::string& from, const std::string& to);

// Like `mkdir -p`; existing folders keep their mode.
Status make_folders(const std::string& path, unsigned mode = 0755);
// `path` last, with no rights for others whatever the caller's umask; folders above it as make_folders()
// does. One that exists keeps its mode.
Status make_private_folder(const std::string& path);
// Takes the rights of its group and of others. Never through a symlink.
Status make_private(const std::string& path);
// Like `rm -rf`, never through a symlink; kNotFound is success. Works by descriptors, so that a hostile tree
// cannot lead it elsewhere, and by few of them, however deep it is.
Status remove_tree(const std::string& path);
// The same, but nobody ever sees a part of it at `path`. Makes and removes `<path>.removed`.
Status remove_tree_at_once(const std::string& path);
struct PathFacts {
  bool is_link = false;
  unsigned uid = 0, mode = 0;  // the permission bits
};
Result<PathFacts> facts_of(const std::string& path);  // lstat(2): of a symlink, not of what it leads to
bool exists(const std::string& path);                 // lstat(2) succeeds
bool is_folder(const std::string& path);              // stat(2): follows symlinks
bool is_regular_file(const std::string& path);        // the same
// Names (not paths) in a folder, sorted, without . and ..
Result<std::vector<std::string>> list_folder(const std::string& path);
// The folders in `path`, whole, without links. Empty when it can't be read.
std::vector<std::string> folders_in(const std::string& path);
// What an ordinary user may still write to the file system that has `path`, a file or folder.
Result<std::int64_t> free_bytes(const std::string& path);
Result<std::string> absolute_path(const std::string& path);  // realpath(3)

// A flock(2) on a file, created when absent; exclusive unless it says otherwise. Released when destroyed, or
// when the process dies: that is how a supervisor proves that it lives. The descriptor is close-on-exec.
class FileLock {
 public:
  // Empty when somebody else holds it.
  static Result<std::optional<FileLock>> try_lock(const std::string& path);
  // Waits for it.
  static Result<FileLock> lock(const std::string& path);
  // Waits for it, and has it together with others who share it. With a stream of them, who wants it alone may
  // wait for long.
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
// A path inside a tree that nobody trusts yet: relative, no empty, "." or ".." component, no NUL or control
// character, at most 4096 bytes.
bool is_safe_relative_path(std::string_view path);

}  // namespace pawl::os
