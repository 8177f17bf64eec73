// The holder of a file's lock, from /proc/locks (proc(5)). Only for messages: the holder may have changed
// since, so no decision may depend on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pawl::os {

enum class LockKind { kFlock, kPosix };  // flock(2), fcntl(2)

struct LockHolder {
  std::int64_t pid = 0;  // 0: not visible in this pid namespace
  std::string program;   // the process name; "": unknown
  bool operator==(const LockHolder&) const = default;
};

// The process with an exclusive lock on `path`; for a POSIX lock, on the byte `at`. Takes no lock, and does
// not open `path`.
std::optional<LockHolder> lock_holder(const std::string& path, LockKind kind, std::int64_t at = 0);

// "process 4711 (rsync)"
std::string to_text(const LockHolder& holder);

}  // namespace pawl::os
