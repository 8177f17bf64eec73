// Makes a second tree of the files of a step that died.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "os/file.h"
#include "os/held_tree.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

class Linker {
 public:
  Linker(os::HeldTree from, os::HeldTree to) : from_(std::move(from)), to_(std::move(to)) {}

  Status folder(const std::string& path) const {
    PAWL_TRY(const auto names, from_.list(path));
    for (const auto& name : names) {
      const std::string below = path.empty() ? name : path + "/" + name;
      if (below.size() <= kPathBytesMax) PAWL_OK(visit(below));  // collect() refuses longer ones
    }
    return {};
  }

 private:
  Status visit(const std::string& path) const {
    PAWL_TRY(const auto here, from_.find(path));
    PAWL_TRY(const auto there, to_.find(path));
    struct stat status {};
    if (fstatat(here.folder.get(), here.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(errno, "look at", path);
    if (S_ISDIR(status.st_mode)) return visit_folder(path, status);
    if (linkat(here.folder.get(), here.name.c_str(), there.folder.get(), there.name.c_str(), 0) == 0)
      return {};
    // The file has as many names as its file system allows.
    if (errno == EMLINK && S_ISREG(status.st_mode))
      return os::copy_file(here.path(), there.path(), status.st_mode & 07777U);
    return fail_errno(errno, "link", path);
  }

  // No descriptor stays open while the folders below are visited.
  Status visit_folder(const std::string& path, const struct stat& status) const {
    {
      PAWL_TRY(const auto here, from_.find(path));
      PAWL_TRY(const auto there, to_.find(path));
      // The rights that collect() gives the owner, too.
      if (fchmodat(here.folder.get(), here.name.c_str(), (status.st_mode & 07777U) | 0700U,
                   AT_SYMLINK_NOFOLLOW) != 0)
        return fail_errno(errno, "chmod", path);
      if (mkdirat(there.folder.get(), there.name.c_str(), 0700) != 0)
        return fail_errno(errno, "make folder", path);
      const bool is_opaque = attributes_of(here.path()).is_opaque;
      if (is_opaque && lsetxattr(there.path().c_str(), kOpaqueAttribute, "y", 1, 0) != 0)
        return fail_errno(errno, "set an attribute of", path);
    }
    PAWL_OK(folder(path));
    PAWL_TRY(const auto there, to_.find(path));
    const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
    if (fchmodat(there.folder.get(), there.name.c_str(), (status.st_mode & 0777U) | 0700U,
                 AT_SYMLINK_NOFOLLOW) != 0 ||
        utimensat(there.folder.get(), there.name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(errno, "set mode and times of", path);
    return {};
  }

  const os::HeldTree from_, to_;
};

}  // namespace

Status link_upper(const std::string& upper, const std::string& to) {
  PAWL_OK(os::remove_tree(to));  // A leftover of a process that died.
  PAWL_OK(os::make_folders(to));
  PAWL_TRY(auto from, open_upper(upper));
  PAWL_TRY(auto tree, os::HeldTree::open(to));
  return Linker(std::move(from), std::move(tree)).folder("");
}

}  // namespace pawl::workspace
