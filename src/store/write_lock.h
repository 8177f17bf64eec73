// Finds the process that holds the write lock of a database, for messages to people.
#pragma once

#include <optional>
#include <string>

#include "os/locks.h"

namespace pawl::store {

// `location` as for open_store(). Returns nullopt when no process holds the lock or the holder is unknown.
std::optional<os::LockHolder> write_lock_holder(const std::string& location);

}  // namespace pawl::store
