// Who holds a lock of a file, as /proc/locks tells (proc(5)). For people: it may be another one by now, and
// nothing is decided by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pawl::os {

enum class LockKind { kFlock, kPosix };  // flock(2), fcntl(2)

struct LockHolder {
  std::int64_t pid = 0;  // 0: it is not seen from here
  std::string program;   // its name; "" when nobody says
  bool operator==(const LockHolder&) const = default;
};

// Who has `path` alone; of a POSIX lock: the byte `at`. Takes no lock and opens nothing.
std::optional<LockHolder> lock_holder(const std::string& path, LockKind kind, std::int64_t at = 0);

// "process 4711 (rsync)"
std::string to_text(const LockHolder& holder);

}  // namespace pawl::os
