// The entries of a folder of the host. Files that did not change since the last look are not read again. A
// detail of this room.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/seal.h"
#include "workspace/tree.h"

namespace pawl::workspace {

// An entry of a folder. `stamp` identifies the file and the time of its last change.
struct Looked {
  struct Stamp {
    std::uint64_t device = 0, inode = 0;
    std::int64_t written_ns = 0, changed_ns = 0;  // mtime, ctime.
    bool operator==(const Stamp&) const = default;
  };
  Entry entry;
  Stamp stamp;
};

Looked::Stamp stamp_of(const struct stat& status);

// The result of the last look at a folder. It is a cache: without it all files are read again.
class FolderMemory {
 public:
  // Empty when there is no file at `path`, or it does not have this seal.
  static FolderMemory load(const std::string& path, const Seal& seal);
  // Not durable. A torn file fails its seal, and is ignored.
  static Status save(const std::string& path, const Seal& seal, const std::string& base_id,
                     const std::vector<Looked>& entries);

  // The base of the look that is stored at `path`; "" when there is none. Cheap; the seal is not checked.
  static std::string base_of(const std::string& path);

  const std::string& base_id() const { return base_id_; }
  const std::vector<Looked>& entries() const { return entries_; }  // In the order of the look.
  // Cheap when the paths are asked for in the order of the look. nullptr: the look did not have `path`.
  const Looked* find(const std::string& path);

 private:
  std::string base_id_;
  std::vector<Looked> entries_;
  std::size_t next_ = 0;
  std::map<std::string_view, std::size_t> by_path_;  // Made when the order differs.
};

struct FolderLook {
  std::vector<Looked> entries;  // A folder comes before its entries.
  bool is_as_remembered = true;
};
// Looks at the folder `path`. `state` is the status of the state folder, which is never part of a source,
// wherever it lies. kInvalid: a name or a link target that no base can have. kExhausted: more than a base may
// have.
Result<FolderLook> look_at(const std::string& path, const Without& without, const struct stat& state,
                           FolderMemory& memory, SoFar& so_far);

// Copies `entries` of the folder `from` below `to`, with their times and those of the folders on the way. A
// deleted entry becomes a whiteout. Returns the entries as they were copied: a process may have written since
// the look. Not durable.
Result<std::vector<Entry>> copy_looked(const std::string& from, const std::vector<Looked>& entries,
                                       const std::string& to, SoFar& so_far);

}  // namespace pawl::workspace
