#include "os/locks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "base/lines.h"
#include "os/file.h"

namespace pawl::os {
namespace {

constexpr std::uint64_t kLocksBytesMax = 16 << 20;

struct Lock {
  std::string kind, mode, file;  // file: "fe:00:4711", device and inode
  std::int64_t pid = 0, first = 0, last = 0;
};

// Parses "1: POSIX  ADVISORY  WRITE 4711 fe:00:123 120 EOF". No value for a process that waits ("1: -> ...").
std::optional<Lock> lock_of(const std::string& line) {
  Lock out;
  std::string number, advisory, first, last;
  std::istringstream words(line);
  if (!(words >> number >> out.kind) || out.kind == "->") return std::nullopt;
  if (!(words >> advisory >> out.mode >> out.pid >> out.file >> first >> last)) return std::nullopt;
  out.first = std::atoll(first.c_str());
  out.last = last == "EOF" ? std::numeric_limits<std::int64_t>::max() : std::atoll(last.c_str());
  return out;
}

std::string program_of(std::int64_t pid) {
  auto name = read_file(fmt::format("/proc/{}/comm", pid), 4096);
  if (!name) return "";
  name->erase(std::remove(name->begin(), name->end(), '\n'), name->end());
  return *std::move(name);
}

}  // namespace

std::optional<LockHolder> lock_holder(const std::string& path, LockKind kind, std::int64_t at) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  const auto locks = read_file("/proc/locks", kLocksBytesMax);
  if (!locks) return std::nullopt;
  const std::string inode = fmt::format(":{}", status.st_ino);
  // btrfs has another device number here than in stat(2): then the inode alone identifies the file.
  const std::string device = fmt::format("{:02x}:{:02x}", major(status.st_dev), minor(status.st_dev));
  std::optional<Lock> found;
  for (const auto line : TextLines(*locks)) {
    const auto lock = lock_of(std::string(line));
    if (!lock || lock->mode != "WRITE" || lock->kind != (kind == LockKind::kFlock ? "FLOCK" : "POSIX"))
      continue;
    if (!lock->file.ends_with(inode) || at < lock->first || at > lock->last) continue;
    if (!found || lock->file.starts_with(device)) found = lock;
  }
  if (!found) return std::nullopt;
  const std::int64_t pid = std::max<std::int64_t>(0, found->pid);
  return LockHolder{.pid = pid, .program = pid > 0 ? program_of(pid) : ""};
}

std::string to_text(const LockHolder& holder) {
  if (holder.pid == 0) return "a process that is not seen from here";
  return fmt::format("process {}{}", holder.pid, holder.program.empty() ? "" : " (" + holder.program + ")");
}

}  // namespace pawl::os
