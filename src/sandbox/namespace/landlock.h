// Landlock on top of the mounts: what is written stays in the places that are for writing, even where a mount
// would allow more. Source: landlock(7), Documentation/userspace-api/landlock.rst.
#pragma once

#include <string>
#include <vector>

namespace pawl::sandbox {

// The kernel's ABI version, 0 when it has none. Version 1 can't allow a rename between folders, and is not
// used.
int landlock_abi();
inline constexpr int kLandlockAbiMin = 2;

// Restricts the calling process and all it starts to reading, and to writing below `writable` (paths; those
// that are not there are left out). REQUIRES: no_new_privs; landlock_abi() >= kLandlockAbiMin. False with
// errno.
bool restrict_writing(const std::vector<std::string>& writable);

}  // namespace pawl::sandbox
