#include "sqlite/write_lock.h"

namespace pawl::sqlite {

std::optional<os::LockHolder> write_lock_holder(const std::string& path) {
  // WAL_WRITE_LOCK (sqlite.org/walformat.html, 2.3.1).
  constexpr std::int64_t kWriteLockByte = 120;
  return os::lock_holder(path + "-shm", os::LockKind::kPosix, kWriteLockByte);
}

}  // namespace pawl::sqlite
