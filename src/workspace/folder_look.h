// What a folder of the host has, without reading again what did not change since it was looked at last. A
// detail of this room.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workspace/seal.h"
#include "workspace/tree.h"

namespace pawl::workspace {

// An entry of a folder. `stamp` says which file it was and when it was written.
struct Looked {
  struct Stamp {
    std::uint64_t device = 0, inode = 0;
    std::int64_t written_ns = 0, changed_ns = 0;  // mtime, ctime
    bool operator==(const Stamp&) const = default;
  };
  Entry entry;
  Stamp stamp;
};

Looked::Stamp stamp_of(const struct stat& status);

// The last look at a folder. It can be lost: then all is read again.
class FolderMemory {
 public:
  // Empty when there is no such file, or one that is not under this seal.
  static FolderMemory load(const std::string& path, const Seal& seal);
  // Not durable, and of no use when torn.
  static Status save(const std::string& path, const Seal& seal, const std::string& base_id,
                     const std::vector<Looked>& entries);

  // The base of the look at `path`; "" when there is none. Cheap.
  static std::string base_of(const std::string& path);

  const std::string& base_id() const { return base_id_; }
  const std::vector<Looked>& entries() const { return entries_; }  // in the order of the look
  // Cheap when `path`s are asked in that order.
  const Looked* find(const std::string& path);

 private:
  std::string base_id_;
  std::vector<Looked> entries_;
  std::size_t next_ = 0;
  std::map<std::string_view, std::size_t> by_path_;  // made when an order differs
};

struct FolderLook {
  std::vector<Looked> entries;  // a folder before what is in it
  bool is_as_remembered = true;
};
// `state` is the state folder's status, which is nobody's source wherever it lies. kInvalid: a name that
// can't be used. kExhausted: too much.
Result<FolderLook> look_at(const std::string& path, const Without& without, const struct stat& state,
                           FolderMemory& memory, SoFar& so_far);

// Copies `entries` of the folder `from` below `to`, with their times and those of the folders on the way; for
// one that is deleted, makes a whiteout. Tells them as they were copied: somebody may have written since the
// look. Nothing is durable.
Result<std::vector<Entry>> copy_looked(const std::string& from, const std::vector<Looked>& entries,
                                       const std::string& to, SoFar& so_far);

}  // namespace pawl::workspace
