#include "sandbox/namespace/copy_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "os/file.h"

namespace pawl::sandbox {
namespace {

constexpr mode_t kCopiedBits = 0777;  // never setuid, setgid or sticky

Status copy_link(const std::string& from, const std::string& to) {
  std::array<char, PATH_MAX + 1> target{};
  if (readlink(from.c_str(), target.data(), PATH_MAX) < 0 || symlink(target.data(), to.c_str()) != 0)
    return fail_errno(errno, "copy", to);
  return os::copy_times(from, to);
}

bool is_whiteout(const struct stat& status) { return S_ISCHR(status.st_mode) && status.st_rdev == 0; }

// Copies `from` over `to`, which may exist.
Status copy_over(const std::string& from, const std::string& to) {
  struct stat status {
  }, below{};
  if (lstat(from.c_str(), &status) != 0) return fail_errno(errno, "copy", from);
  const bool is_folder = S_ISDIR(status.st_mode);
  const bool there = lstat(to.c_str(), &below) == 0;
  if (there && !(is_folder && S_ISDIR(below.st_mode))) PAWL_OK(os::remove_tree(to));
  if (is_whiteout(status)) return {};
  if (S_ISREG(status.st_mode)) return os::copy_file(from, to, status.st_mode & kCopiedBits);
  if (S_ISLNK(status.st_mode)) return copy_link(from, to);
  if (!is_folder) return {};
  if (mkdir(to.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, "copy", to);
  PAWL_TRY(const auto names, os::list_folder(from));
  for (const auto& name : names) PAWL_OK(copy_over(os::join(from, name), os::join(to, name)));
  if (chmod(to.c_str(), status.st_mode & kCopiedBits) != 0) return fail_errno(errno, "copy", to);
  return os::copy_times(from, to);
}

}  // namespace

Status copy_tree(const std::string& from, const std::string& to) { return copy_over(from, to); }

Status copy_merged(const std::vector<std::string>& lower, const std::string& to) {
  for (auto tree = lower.rbegin(); tree != lower.rend(); ++tree) PAWL_OK(copy_over(*tree, to));
  return {};
}

}  // namespace pawl::sandbox
