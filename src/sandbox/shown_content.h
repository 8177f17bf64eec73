// Names the content of a file or folder of the host that a sandbox shows. Reads the host.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace pawl::sandbox {

// A BLAKE3 hash (CopyIn::content) over all that lies at `path`: names, kinds, permissions and targets of links,
// and sizes and times of files. Contents of files count in the order of their paths, as long as they fit into
// `content_left` bytes, which it lowers. A larger file is named by its size and time alone. Unreadable files
// and folders, and entries that vanish meanwhile, are not errors. kInvalid: too many entries. Thread-safe.
Result<std::string> shown_content(const std::string& path, std::uint64_t& content_left);

}  // namespace pawl::sandbox
