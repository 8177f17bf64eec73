// Copies, for where overlayfs is not to be had, and for copy_in that the sandbox may write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace pawl::sandbox {

// Copies a file or folder: regular files, folders and symlinks with their permission bits, nothing else.
Status copy_tree(const std::string& from, const std::string& to);
// The view of `lower` (topmost first, overlayfs form) as one tree in the existing, empty folder `to`.
Status copy_merged(const std::vector<std::string>& lower, const std::string& to);

// What a tree takes of the disk, by what the file system says; what can't be read is not counted.
struct DiskUse {
  std::int64_t bytes = 0;
  std::int64_t longest = 0;  // of its files, holes and all
};
DiskUse disk_use(const std::string& folder);

}  // namespace pawl::sandbox
