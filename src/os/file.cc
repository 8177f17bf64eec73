#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>

#include "os/crash_point.h"

namespace pawl::os {
namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr std::size_t kCopyAtOnceBytes = 1U << 30;
constexpr std::size_t kBufferBytes = 1U << 20;

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, "write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

struct Part {
  off_t begin, end;
};

// The first range of data at or after `from`; the bytes before it are a hole. On file systems without holes
// all bytes are data.
std::optional<Part> next_data(int fd, off_t from, off_t size) {
  if (from >= size) return std::nullopt;
  const off_t begin = lseek(fd, from, SEEK_DATA);
  if (begin < 0 && errno == ENXIO) return std::nullopt;
  if (begin < 0) return Part{from, size};
  const off_t end = lseek(fd, begin, SEEK_HOLE);
  return Part{begin, end < 0 ? size : end};
}

// False with errno. A file that shrinks meanwhile is not an error: the copy is shorter, or has a hole.
bool copy_part(int in, int out, Part part) {
  off_t to = part.begin;
  while (part.begin < part.end) {
    const auto left =
        std::min<std::size_t>(static_cast<std::size_t>(part.end - part.begin), kCopyAtOnceBytes);
    const ssize_t copied = copy_file_range(in, &part.begin, out, &to, left, 0);
    if (copied == 0) return true;
    if (copied < 0) break;  // another file system (EXDEV), or an unsupported one: copy_file_range(2)
  }
  std::string buffer(part.begin < part.end ? kBufferBytes : 0, '\0');
  while (part.begin < part.end) {
    const auto left = std::min<std::size_t>(static_cast<std::size_t>(part.end - part.begin), buffer.size());
    const ssize_t got = pread(in, buffer.data(), left, part.begin);
    if (got == 0) return true;
    if (got < 0) return false;
    const ssize_t written = pwrite(out, buffer.data(), static_cast<std::size_t>(got), part.begin);
    if (written <= 0) return false;
    part.begin += written;  // after a short write, the next one writes the rest or fails
  }
  return true;
}

std::string label_of(std::string_view label, std::string_view suffix) {
  return std::string(label) + "." + std::string(suffix);
}

// Writes `bytes` to a new temporary file beside `path`; `durable`: with fsync.
Result<std::string> write_temporary(const std::string& path, std::string_view bytes, unsigned mode,
                                    bool durable) {
  std::string temporary = path + ".tmp.XXXXXX";
  UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return fail_errno(errno, "create", temporary);
  auto give_up = [&](Status status) -> Result<std::string> {
    unlink(temporary.c_str());
    return std::unexpected(std::move(status).error());
  };
  if (auto status = write_all(fd.get(), bytes, temporary); !status) return give_up(std::move(status));
  if (fchmod(fd.get(), mode) != 0) return give_up(fail_errno(errno, "chmod", temporary));
  if (durable && fsync(fd.get()) != 0) return give_up(fail_errno(errno, "fsync", temporary));
  return temporary;
}

// Removes a tree of any depth. A folder that lies too deep is first moved to the top of the tree, which
// bounds the number of descriptors and the stack.
class Remover {
 public:
  explicit Remover(const std::function<bool()>& should_stop) : should_stop_(should_stop) {}

  Status remove(int parent, const char* name, int depth = 0) {
    if (should_stop_ && should_stop_()) return fail(ErrorKind::kCancelled, "interrupted");
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return fail_errno(errno, "remove", name);
    if (depth > kDepthMax) return move_up(parent, name);
    for (;;) {
      const auto moved_before = moved_;
      PAWL_OK(empty(parent, name, depth));
      if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
      const bool came_up = depth == 0 && errno == ENOTEMPTY && moved_ != moved_before;
      if (!came_up) return fail_errno(errno, "remove", name);
    }
  }

 private:
  static constexpr int kDepthMax = 64;

  static int open_folder(int parent, const char* name) {
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }

  Status empty(int parent, const char* name, int depth) {
    int folder = open_folder(parent, name);
    if (folder < 0 && errno == EACCES) {  // a step made the folder unreadable
      fchmodat(parent, name, 0700, 0);
      folder = open_folder(parent, name);
    }
    if (folder < 0) return fail_errno(errno, "open folder to remove", name);
    fchmod(folder, 0700);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(folder), closedir);
    if (!stream) {
      close(folder);
      return fail_errno(errno, "list folder", name);
    }
    if (depth == 0) top_ = folder;
    while (const dirent* entry = readdir(stream.get())) {
      const std::string_view below = entry->d_name;
      if (below != "." && below != "..") PAWL_OK(remove(folder, entry->d_name, depth + 1));
    }
    return {};
  }

  Status move_up(int parent, const char* name) {
    fchmodat(parent, name, 0700, 0);  // rename(2) changes its "..", and so needs write permission
    int renamed = 0;
    do {
      const std::string above = "moved-up-" + std::to_string(moved_++);
      renamed = renameat2(parent, name, top_, above.c_str(), RENAME_NOREPLACE);
    } while (renamed != 0 && errno == EEXIST);
    if (renamed != 0) return fail_errno(errno, "move up to remove", name);
    return {};
  }

  const std::function<bool()>& should_stop_;
  int top_ = -1;
  std::int64_t moved_ = 0;
};

Result<UniqueFd> open_lock(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, "open lock", path);
  return fd;
}

}  // namespace

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, std::uint64_t bytes_max)
      : path_(std::move(path)),
        bytes_max_(bytes_max),
        piece_bytes_(bytes_max < kPieceBytes ? static_cast<std::size_t>(bytes_max) + 1 : kPieceBytes) {}

  Result<std::string_view> next() override {
    if (!buffer_) {
      fd_.reset(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
      if (!fd_) return fail_errno(errno, "open", path_);
      buffer_ = std::make_unique_for_overwrite<char[]>(piece_bytes_);
    }
    ssize_t got = 0;
    do got = read(fd_.get(), buffer_.get(), piece_bytes_);
    while (got < 0 && errno == EINTR);
    if (got < 0) return fail_errno(errno, "read", path_);
    const auto size = static_cast<std::size_t>(got);
    if ((read_ += size) > bytes_max_)
      return fail(ErrorKind::kExhausted,
                  path_ + ": larger than the limit of " + std::to_string(bytes_max_) + " bytes");
    return std::string_view(buffer_.get(), size);
  }

 private:
  const std::string path_;
  const std::uint64_t bytes_max_;
  const std::size_t piece_bytes_;  // a small file needs no large buffer
  std::uint64_t read_ = 0;
  UniqueFd fd_;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace

std::unique_ptr<ByteSource> file_source(std::string path, std::uint64_t bytes_max) {
  return std::make_unique<FileSource>(std::move(path), bytes_max);
}

Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max) {
  return read_all(*file_source(path, bytes_max));
}

Result<MappedFile> MappedFile::open(const std::string& path, std::uint64_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0) return fail_errno(errno, "read", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > bytes_max)
    return fail(ErrorKind::kExhausted, path + " is larger than " + std::to_string(bytes_max) + " bytes");
  if (size == 0) return MappedFile(std::string_view());
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd.get(), 0);
  if (memory == MAP_FAILED && errno == ENOMEM) throw std::bad_alloc();
  if (memory == MAP_FAILED) return fail_errno(errno, "read", path);
  return MappedFile(std::string_view(static_cast<const char*>(memory), size));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

Result<std::string> read_tail(const std::string& path, std::uint64_t bytes_max) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open", path);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return fail_errno(errno, "stat", path);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  std::uint64_t at = size > bytes_max ? size - bytes_max : 0;
  std::string out(size - at, '\0');
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got = pread(fd.get(), out.data() + filled, out.size() - filled, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read", path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    at += static_cast<std::uint64_t>(got);
  }
  out.resize(filled);
  return out;
}

Status write_atomically(const std::string& path, std::string_view bytes, unsigned mode) {
  PAWL_TRY(const std::string temporary, write_temporary(path, bytes, mode, false));
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return fail_errno(error, "rename to", path);
  }
  return {};
}

Status write_durably(std::string_view label, const std::string& path, std::string_view bytes, unsigned mode) {
  crash_point(label_of(label, "fsync"));
  PAWL_TRY(const std::string temporary, write_temporary(path, bytes, mode, true));
  auto renamed = rename_durably(label, temporary, path);
  if (!renamed) unlink(temporary.c_str());
  return renamed;
}

Status append_to_file(const std::string& path, std::string_view bytes) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail_errno(errno, "append to", path);
  return write_all(fd.get(), bytes, path);
}

Status copy_file(const std::string& from, const std::string& to, unsigned mode) {
  // Without O_NONBLOCK a FIFO at `from` would block the open for ever.
  const UniqueFd in(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!in || fstat(in.get(), &status) != 0) return fail_errno(errno, "copy", from);
  if (!S_ISREG(status.st_mode))
    return std::unexpected(Error{.kind = ErrorKind::kInvalid,
                                 .message = "copy: " + from + " is not a regular file",
                                 .path = from,
                                 .sys_errno = EINVAL});
  const UniqueFd out(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out) return fail_errno(errno, "copy", to);
  for (auto part = next_data(in.get(), 0, status.st_size); part;
       part = next_data(in.get(), part->end, status.st_size))
    if (!copy_part(in.get(), out.get(), *part)) return fail_errno(errno, "copy", to);
  const timespec times[2] = {status.st_atim, status.st_mtim};
  if (ftruncate(out.get(), status.st_size) != 0 || fchmod(out.get(), mode) != 0 ||
      futimens(out.get(), times) != 0)
    return fail_errno(errno, "copy", to);
  return {};
}

Status copy_times(const std::string& from, const std::string& to) {
  struct stat status {};
  if (lstat(from.c_str(), &status) != 0) return fail_errno(errno, "copy times of", from);
  const timespec times[2] = {status.st_atim, status.st_mtim};
  if (utimensat(AT_FDCWD, to.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, "copy times to", to);
  return {};
}

Status fsync_file(std::string_view label, const std::string& path) {
  crash_point(label_of(label, "fsync"));
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd || fsync(fd.get()) != 0) return fail_errno(errno, "fsync", path);
  return {};
}

Status fsync_folder(std::string_view label, const std::string& path) {
  crash_point(label_of(label, "fsync_dir"));
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open folder", path);
  if (fsync(fd.get()) != 0) return fail_errno(errno, "fsync folder", path);
  return {};
}

Status rename_durably(std::string_view label, const std::string& from, const std::string& to) {
  crash_point(label_of(label, "rename"));
  if (rename(from.c_str(), to.c_str()) != 0) return fail_errno(errno, "rename to", to);
  return fsync_folder(label, folder_of(to));
}

Status make_folders(const std::string& path, unsigned mode) {
  if (path.empty() || is_folder(path)) return {};
  if (const std::string parent = folder_of(path); parent != path) PAWL_OK(make_folders(parent, mode));
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return fail_errno(errno, "create folder", path);
  return {};
}

Status make_private_folder(const std::string& path) {
  if (is_folder(path)) return {};
  PAWL_OK(make_folders(folder_of(path)));
  if (mkdir(path.c_str(), kOwnerOnly) != 0) {
    if (errno == EEXIST) return {};
    return fail_errno(errno, "create folder", path);
  }
  if (chmod(path.c_str(), kOwnerOnly) != 0) return fail_errno(errno, "chmod", path);
  return {};
}

Status make_private(const std::string& path) {
  PAWL_TRY(const auto facts, facts_of(path));
  if (facts.is_link || (facts.mode & ~kOwnerOnly) == 0) return {};
  if (fchmodat(AT_FDCWD, path.c_str(), facts.mode & kOwnerOnly, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, "chmod", path);
  return {};
}

Status remove_tree(const std::string& path, const std::function<bool()>& should_stop) {
  if (rmdir(path.c_str()) == 0) return {};  // most trees to remove are empty folders
  auto status = Remover(should_stop).remove(AT_FDCWD, path.c_str());
  if (!status) return std::unexpected(std::move(status).error().in(path));
  return {};
}

Status remove_tree_at_once(const std::string& path) {
  const std::string aside = path + ".removed";
  PAWL_OK(remove_tree(aside));  // left by a removal that did not finish
  // Once it has its other name, `path` may be somebody's new tree.
  if (rename(path.c_str(), aside.c_str()) == 0) return remove_tree(aside);
  return errno == ENOENT ? Status() : remove_tree(path);
}

Result<PathFacts> facts_of(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return fail_errno(errno, "stat", path);
  return PathFacts{.is_link = S_ISLNK(status.st_mode), .uid = status.st_uid, .mode = status.st_mode & 07777U};
}

bool exists(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

bool is_regular_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<std::vector<std::string>> list_folder(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(path.c_str()), closedir);
  if (!stream) return fail_errno(errno, "list folder", path);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> folders_in(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(path.c_str()), closedir);
  std::vector<std::string> out;
  while (const dirent* entry = stream ? readdir(stream.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)) continue;
    std::string below = join(path, std::string(name));
    struct stat status {};  // some file systems do not store the type in the entry
    const bool is_one =
        entry->d_type == DT_DIR || (lstat(below.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
    if (is_one) out.push_back(std::move(below));
  }
  return out;
}

Result<std::int64_t> free_bytes(const std::string& path) {
  struct statvfs status {};
  if (statvfs(path.c_str(), &status) != 0) return fail_errno(errno, "ask for free space", path);
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

Result<std::string> absolute_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  if (!real) return fail_errno(errno, "resolve", path);
  return std::string(real.get());
}

Result<std::optional<FileLock>> FileLock::try_lock(const std::string& path) {
  PAWL_TRY(UniqueFd fd, open_lock(path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return FileLock(std::move(fd));
  if (errno == EWOULDBLOCK) return std::optional<FileLock>();
  return fail_errno(errno, "lock", path);
}

Result<FileLock> FileLock::wait_for(const std::string& path, int how) {
  PAWL_TRY(UniqueFd fd, open_lock(path));
  while (flock(fd.get(), how) != 0) {
    if (errno != EINTR) return fail_errno(errno, "lock", path);
  }
  return FileLock(std::move(fd));
}

Result<FileLock> FileLock::lock(const std::string& path) { return wait_for(path, LOCK_EX); }

Result<FileLock> FileLock::lock_shared(const std::string& path) { return wait_for(path, LOCK_SH); }

std::string join(std::string_view folder, std::string_view name) {
  std::string out(folder);
  if (!out.empty() && out.back() != '/') out += '/';
  return out.append(name);
}

std::string folder_of(const std::string& path) {
  const auto end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const auto slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  const auto stop = path.find_last_not_of('/', slash);
  return stop == std::string::npos ? "/" : path.substr(0, stop + 1);
}

bool is_safe_relative_path(std::string_view path) {
  if (path.empty() || path.size() > PATH_MAX || path.front() == '/' || path.back() == '/') return false;
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return true;
}

}  // namespace pawl::os
