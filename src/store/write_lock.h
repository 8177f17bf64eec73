// Who keeps others from writing to a database.
#pragma once

#include <optional>
#include <string>

#include "os/locks.h"

namespace pawl::store {

// `location` as for open_store. Nothing when nobody does, or nobody says.
std::optional<os::LockHolder> write_lock_holder(const std::string& location);

}  // namespace pawl::store
