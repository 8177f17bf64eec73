#include "os/held_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/defences.h"

namespace pawl::os {
namespace {

std::unexpected<Error> failed(int number, const std::string& path) {
  if (number != ELOOP) return fail_errno(number, "open folder", path);
  return std::unexpected(Error{.kind = ErrorKind::kDenied,
                               .message = path + ": a symbolic link is on the way, which would lead out of "
                                                 "the folder that this belongs to. Remove it",
                               .path = path,
                               .sys_errno = number});
}

}  // namespace

Result<HeldTree> HeldTree::open(const std::string& root, Mounts mounts) {
  UniqueFd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open folder", root);
  std::uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (mounts == Mounts::kNone) resolve |= RESOLVE_NO_XDEV;
  return HeldTree(std::move(fd), defences().beneath ? resolve : 0);
}

Result<HeldTree::Place> HeldTree::find(const std::string& path) const {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = resolve_;
  UniqueFd fd(static_cast<int>(syscall(SYS_openat2, root_.get(), folder.c_str(), &how, sizeof how)));
  if (!fd) return failed(errno, folder);
  if (path.empty()) return Place{.folder = std::move(fd), .name = "."};
  return Place{.folder = std::move(fd), .name = slash == std::string::npos ? path : path.substr(slash + 1)};
}

Result<std::vector<std::string>> HeldTree::list(const std::string& folder) const {
  PAWL_TRY(const auto here, find(folder.empty() ? "" : folder + "/."));  // no symlink as the last component
  return list_folder(here.path());
}

Status HeldTree::make_folders(const std::string& path, unsigned mode) const {
  if (find(path + "/.")) return {};
  for (auto end = path.find('/');; end = path.find('/', end + 1)) {
    PAWL_TRY(const auto here, find(path.substr(0, end)));
    if (mkdirat(here.folder.get(), here.name.c_str(), mode) != 0 && errno != EEXIST)
      return fail_errno(errno, "create folder", path);
    if (end == std::string::npos) break;
  }
  PAWL_OK(find(path + "/."));  // fails if the last component is a symlink
  return {};
}

}  // namespace pawl::os
