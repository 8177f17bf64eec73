// Copies of trees, for hosts without overlayfs and for writable copy_in items.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pawl::sandbox {

// Copies a file or folder: regular files, folders and symlinks, with their permission bits and times. Skips
// all other types. Never copies setuid, setgid or sticky bits.
Status copy_tree(const std::string& from, const std::string& to);
// Copies the merged view of `lower` (topmost first, overlayfs form) into the existing, empty folder `to`.
Status copy_merged(const std::vector<std::string>& lower, const std::string& to);

}  // namespace pawl::sandbox
