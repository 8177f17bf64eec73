#include "workspace/held_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/walls.h"

namespace pawl::workspace {

Result<HeldTree> HeldTree::open(const std::string& root) {
  os::UniqueFd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open folder", root);
  constexpr std::uint64_t kBeneath =
      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return HeldTree(std::move(fd), os::walls().beneath ? kBeneath : 0);
}

Result<HeldTree::Place> HeldTree::find(const std::string& path) const {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = resolve_;
  os::UniqueFd fd(static_cast<int>(syscall(SYS_openat2, root_.get(), folder.c_str(), &how, sizeof how)));
  if (!fd) return fail_errno(errno, "open folder", folder);
  if (path.empty()) return Place{.folder = std::move(fd), .name = "."};
  return Place{.folder = std::move(fd), .name = slash == std::string::npos ? path : path.substr(slash + 1)};
}

}  // namespace pawl::workspace
