// Copies, for where overlayfs is not to be had, and for copy_in that the sandbox may write.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pawl::sandbox {

// Copies a file or folder: regular files, folders and symlinks with their permission bits and times, nothing
// else.
Status copy_tree(const std::string& from, const std::string& to);
// The view of `lower` (topmost first, overlayfs form) as one tree in the existing, empty folder `to`.
Status copy_merged(const std::vector<std::string>& lower, const std::string& to);

}  // namespace pawl::sandbox
