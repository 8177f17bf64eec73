// Finds the process that holds the write lock of a database, for messages to people. Other rooms ask the store
// (store/write_lock.h), which knows where its database lies.
#pragma once

#include <optional>
#include <string>

#include "os/locks.h"

namespace pawl::sqlite {

// `path` is that of a database in WAL mode. Returns nullopt when no process holds the lock or the holder is
// unknown.
std::optional<os::LockHolder> write_lock_holder(const std::string& path);

}  // namespace pawl::sqlite
