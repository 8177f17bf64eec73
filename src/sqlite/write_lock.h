// Finds the process that holds the write lock of a database, for messages to people. A detail of this room
// and of the store's driver.
#pragma once

#include <optional>
#include <string>

#include "os/locks.h"

namespace pawl::sqlite {

// `path` is that of a database in WAL mode. Returns nullopt when no process holds the lock or the holder is
// unknown.
std::optional<os::LockHolder> write_lock_holder(const std::string& path);

}  // namespace pawl::sqlite
