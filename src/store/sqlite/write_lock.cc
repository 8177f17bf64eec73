#include "store/write_lock.h"

namespace pawl::store {

std::optional<os::LockHolder> write_lock_holder(const std::string& location) {
  // WAL_WRITE_LOCK (sqlite.org/walformat.html, 2.3.1).
  constexpr std::int64_t kWriteLockByte = 120;
  constexpr std::string_view kSqlite = "sqlite:";
  const std::string path = location.starts_with(kSqlite) ? location.substr(kSqlite.size()) : location;
  return os::lock_holder(path + "-shm", os::LockKind::kPosix, kWriteLockByte);
}

}  // namespace pawl::store
