// The entries of a folder of the host. Files that did not change since the last look are not read again. A
// detail of this room.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

// An entry of the last look. The texts lie in the FolderMemory.
struct Remembered {
  Looked::Stamp stamp;
  std::int64_t size = 0, mtime_ns = 0;
  EntryType type = EntryType::kFile;
  unsigned mode = 0;
  std::string_view path, content;

  bool is(const Entry& entry) const;
  // Whether `status` belongs to the same entry, which no process has changed since. Only root can give a changed
  // entry its old ctime.
  bool fits(const struct stat& status) const;
  Looked looked() const;
};

// The result of the last look at a folder. It is a cache: without it all files are read again.
class FolderMemory {
 public:
  // Empty when there is no file at `path`, or it does not have this seal.
  static FolderMemory load(const std::string& path, const Seal& seal);
  // Not durable. A torn file fails its seal, and is ignored. REQUIRES: the entries of one folder are beside
  // each other, sorted by name, as a look returns them.
  static Status save(const std::string& path, const Seal& seal, const std::string& base_id,
                     const std::vector<Looked>& entries);

  // The base of the look that is stored at `path`; "" without a stored look. Cheap, because it does not check the
  // seal.
  static std::string base_of(const std::string& path);

  const std::string& base_id() const { return base_id_; }
  const std::vector<Remembered>& entries() const { return entries_; }  // In the order of the look.
  // The entries that lie in `folder` itself ("" is the root), sorted by name. Thread-safe.
  std::span<const Remembered> in(std::string_view folder) const;
  std::vector<Looked> looked() const;

 private:
  void index();

  struct Range {
    std::size_t begin = 0, count = 0;
  };
  std::string base_id_;
  std::shared_ptr<const std::string> text_;  // Has the texts of entries_; shared, since copies refer to it.
  std::vector<Remembered> entries_;
  std::unordered_map<std::string_view, Range> folders_;
};

// The entries of one folder, in the order of their names.
struct FolderPart {
  std::span<const Remembered> same;  // As they are remembered; empty when any of them differs.
  std::vector<Looked> entries;       // Otherwise.
  std::size_t size() const { return same.size() + entries.size(); }
};
// The entry with this path; nullptr when there is none. REQUIRES: all entries lie in one folder.
const Remembered* find_in(std::span<const Remembered> remembered, std::string_view path);
// Whether `found` are the `remembered` entries of `folder`, each unchanged. Entries that `leaves_out` takes do not
// count. When true, appends the paths of their folders to `below`.
bool is_as_remembered(const std::string& folder, const std::vector<Found>& found,
                      std::span<const Remembered> remembered,
                      const std::function<bool(const Found&)>& leaves_out, std::vector<std::string>& below);
// Appends the part's entries to `to`, and the places there of `unread` to `places`. `unread` has places in
// the part.
void move_part(FolderPart part, const std::vector<std::size_t>& unread, std::vector<Looked>& to,
               std::vector<std::size_t>& places);

struct FolderLook {
  // A folder comes before its entries. Empty when all is as remembered, without new stamps.
  std::vector<Looked> entries;
  bool is_as_remembered = true;  // Stamps do not count.
  bool has_new_stamps = false;   // on folders or links, such as by chmod(2) there and back
};
// Looks at the folder `path`. `state` is the status of the state folder, which is never part of a source, wherever it
// lies. No other state folder is part of a source, either (os/state_folder.h). kInvalid: a name or a link target that
// no base can have. kExhausted: more entries or bytes than a base may have.
Result<FolderLook> look_at(const std::string& path, const Without& without, const struct stat& state,
                           const FolderMemory& memory, SoFar& so_far);

// Copies `entries` of the folder `from` below `to`, with their times and the times of the folders on the way. A
// deleted entry becomes a whiteout. Returns the entries as they were copied: a process may have written since the
// look. Not durable.
Result<std::vector<Entry>> copy_looked(const std::string& from, const std::vector<Looked>& entries,
                                       const std::string& to, SoFar& so_far);

}  // namespace pawl::workspace
