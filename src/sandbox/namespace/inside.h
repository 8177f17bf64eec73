// What lives in a sandbox and what it holds, seen from outside by proc(5). All of it may change meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pawl::sandbox {

// In bytes, of everything below `init`. Exact when it may be more than `limit`; else without what is shared.
std::int64_t memory_inside(int init, std::int64_t limit);

// Files that have no name any more, and go on taking their part of the disk for as long as somebody has them.
struct NamelessFiles {
  std::map<std::uint64_t, std::int64_t> bytes;  // by inode: what they take of the disk
  // False: some can't be looked at. They wait in a socket, are mapped in part (only root may ask for the
  // rest), or there are too many.
  bool complete = true;
};
// Those below `folders`, paths as the sandbox sees them, that `init` and everything below it has open or
// mapped.
NamelessFiles nameless_files_inside(int init, const std::vector<std::string>& folders);

}  // namespace pawl::sandbox
