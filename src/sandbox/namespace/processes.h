// The processes of a sandbox and the files that they hold, seen from outside by proc(5). All of it may
// change during the calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pawl::sandbox {

// Memory in bytes of all processes below `init`, which itself is not counted. Exact when it may exceed
// `limit`; otherwise without shared pages.
std::int64_t memory_inside(int init, std::int64_t limit);

// Open or mapped files without a name. They take disk space for as long as a process holds them.
struct NamelessFiles {
  std::map<std::uint64_t, std::int64_t> bytes;  // by inode: bytes on disk
  // False: some files cannot be examined. They wait in a socket, are mapped in part (only root may ask for
  // the rest), or are too many.
  bool complete = true;
};
// The nameless files below `folders` (paths as the sandbox sees them) that `init` and all processes
// below it have open or mapped.
NamelessFiles nameless_files_inside(int init, const std::vector<std::string>& folders);

}  // namespace pawl::sandbox
