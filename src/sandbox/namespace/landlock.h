// Landlock in addition to the mounts: programs write only below the writable paths, even where a mount would
// allow more. Source: landlock(7), Documentation/userspace-api/landlock.rst.
#pragma once

#include <string>
#include <vector>

namespace pawl::sandbox {

// The kernel's ABI version; 0 without Landlock. Version 1 cannot allow a rename between folders and is not
// used.
int landlock_abi();
inline constexpr int kLandlockAbiMin = 2;

// Restricts the calling process and its descendants to reading, and to writing below `writable` (absent paths
// are skipped). REQUIRES: no_new_privs; landlock_abi() >= kLandlockAbiMin. False with errno.
bool restrict_writing(const std::vector<std::string>& writable);

}  // namespace pawl::sandbox
