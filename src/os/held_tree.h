// An untrusted tree, held by a descriptor of its root. Paths are resolved below that root only, whatever
// symlinks the tree contains. Thread-safe.
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
    // A path for system calls that take one: only its last component can be a symlink. Valid while `folder`
    // is open.
    std::string path() const { return "/proc/self/fd/" + std::to_string(folder.get()) + "/" + name; }
  };
  // Whether a path may cross other mounted file systems.
  enum class Mounts { kNone, kAny };

  // Fails if `root` itself is a symlink.
  static Result<HeldTree> open(const std::string& root, Mounts mounts = Mounts::kNone);

  // Resolves `path` with openat2(2): without symlinks in its folders, and never above the root. The entry
  // itself may be missing, or be a symlink. "" is the root. kDenied: a folder on the way is a symlink.
  Result<Place> find(const std::string& path) const;
  // The names in a folder, sorted. The folder itself must not be a symlink.
  Result<std::vector<std::string>> list(const std::string& folder) const;
  // Like `mkdir -p`, below the root.
  Status make_folders(const std::string& path, unsigned mode) const;

 private:
  HeldTree(UniqueFd root, std::uint64_t resolve) : root_(std::move(root)), resolve_(resolve) {}
  UniqueFd root_;
  std::uint64_t resolve_;  // flags of openat2(2)
};

}  // namespace pawl::os
