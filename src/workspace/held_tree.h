// A tree that nobody trusts, held by a descriptor of its root: what is in it is reached from there and
// nowhere else, whatever its names lead to. A detail of this room. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "os/file.h"

namespace pawl::workspace {

class HeldTree {
 public:
  // An entry: the descriptor of its folder, and its name there.
  struct Place {
    os::UniqueFd folder;
    std::string name;
    // For calls that take a path: only its last component can be a symlink. Valid while `folder` is open.
    std::string path() const { return "/proc/self/fd/" + std::to_string(folder.get()) + "/" + name; }
  };

  static Result<HeldTree> open(const std::string& root);

  // Where `path` is, by openat2(2): no symlink on the way, no other file system, nothing above the root. The
  // entry itself may be missing, or a symlink. "" is the root.
  Result<Place> find(const std::string& path) const;

 private:
  HeldTree(os::UniqueFd root, std::uint64_t resolve) : root_(std::move(root)), resolve_(resolve) {}
  os::UniqueFd root_;
  std::uint64_t resolve_;  // of openat2(2)
};

}  // namespace pawl::workspace
