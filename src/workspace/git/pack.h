// Packs of git objects, in the format of gitformat-pack(5), version 2. These packs have no deltas, because the search
// for deltas would take longer than the rest of the work. A detail of this room.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "os/file.h"
#include "workspace/git/sha1.h"

namespace pawl::workspace {

enum class ObjectType : unsigned { kCommit = 1, kTree = 2, kBlob = 3 };

ObjectId id_of(ObjectType type, std::string_view content);

// An object as it lies in a pack.
struct PackedObject {
  ObjectId id{};
  std::string bytes;
};
PackedObject packed(ObjectType type, std::string_view content);  // Thread-safe.

// The names of the objects in a pack.
class PackIndex {
 public:
  // kCorrupt: the file is not an index of a pack. Otherwise the errors of os::MappedFile::open().
  static Result<PackIndex> open(const std::string& path);
  bool has(const ObjectId& id) const;

 private:
  explicit PackIndex(os::MappedFile file) : file_(std::move(file)) {}
  // The number of ids whose first byte is at most `first_byte`.
  std::uint32_t count_to(unsigned first_byte) const;

  os::MappedFile file_;
};

// Writes one pack. Not durable. Not thread-safe.
//
// Errors of all calls: those of fail_errno(), mostly kExhausted (the disk is full) or kUnavailable. After an error the
// pack has no use: remove the folder, which may have a part of the pack and its index.
class PackWriter {
 public:
  // `folder` exists, and no other PackWriter writes there. Objects that `known` has are not written again.
  static Result<PackWriter> open(const std::string& folder, std::vector<PackIndex> known);

  bool has(const ObjectId& id) const;
  // Without an effect when has() the object. Bytes are buffered, so an error may be that of an earlier object.
  Status add(const PackedObject& object);
  // The same, without the whole packed object in memory. Returns the object's id.
  Result<ObjectId> add_large(ObjectType type, std::string_view content);
  // Writes the end of the pack, and its index. Without objects, no file is left. The last call. kExhausted also for a
  // pack of more than kTreeBytesMax.
  Status finish();

 private:
  PackWriter(std::string folder, std::string path, os::UniqueFd fd, std::vector<PackIndex> known)
      : folder_(std::move(folder)), path_(std::move(path)), fd_(std::move(fd)), known_(std::move(known)) {}
  Status write(std::string_view bytes);
  Status flush();
  std::string index_text(const ObjectId& of_pack) const;

  struct Placed {
    std::uint64_t offset = 0;
    std::uint32_t crc = 0;
  };
  struct HashOfId {
    std::size_t operator()(const ObjectId& id) const;
  };
  std::string folder_, path_;
  os::UniqueFd fd_;
  std::vector<PackIndex> known_;
  std::unordered_map<ObjectId, Placed, HashOfId> placed_;
  std::string buffer_;
  std::uint64_t size_ = 0;
};

}  // namespace pawl::workspace
