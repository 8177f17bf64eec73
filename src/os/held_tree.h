// A tree that nobody trusts, held by a descriptor of its root: what is in it is reached from there and
// nowhere else, whatever its names lead to. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/file.h"

namespace pawl::os {

class HeldTree {
 public:
  // An entry: the descriptor of its folder, and its name there.
  struct Place {
    UniqueFd folder;
    std::string name;
    // For calls that take a path: only its last component can be a symlink. Valid while `folder` is open.
    std::string path() const { return "/proc/self/fd/" + std::to_string(folder.get()) + "/" + name; }
  };
  // What else may be on the way: other file systems, which somebody has mounted there, or nothing.
  enum class Mounts { kNone, kAny };

  // `root` itself is no symlink.
  static Result<HeldTree> open(const std::string& root, Mounts mounts = Mounts::kNone);

  // Where `path` is, by openat2(2): no symlink on the way, nothing above the root. The entry itself may be
  // missing, or a symlink. "" is the root. kDenied: a symlink is on the way.
  Result<Place> find(const std::string& path) const;
  // Names in a folder, sorted; the folder is no symlink either.
  Result<std::vector<std::string>> list(const std::string& folder) const;
  // Like `mkdir -p`, below the root.
  Status make_folders(const std::string& path, unsigned mode) const;

 private:
  HeldTree(UniqueFd root, std::uint64_t resolve) : root_(std::move(root)), resolve_(resolve) {}
  UniqueFd root_;
  std::uint64_t resolve_;  // of openat2(2)
};

}  // namespace pawl::os
