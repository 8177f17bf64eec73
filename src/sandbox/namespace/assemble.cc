#include "sandbox/namespace/assemble.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace pawl::sandbox {
namespace {

using Kind = MountOp::Kind;

bool set_attributes(const char* target, std::uint64_t attributes, bool recursive) {
  mount_attr change{.attr_set = attributes};
  return mount_setattr(AT_FDCWD, target, recursive ? AT_RECURSIVE : 0, &change, sizeof change) == 0;
}

bool make_file(const MountOp& op) {
  if (op.text.empty()) return mknod(op.target.c_str(), S_IFREG | 0644, 0) == 0 || errno == EEXIST;
  const int fd = open(op.target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  const bool ok = write(fd, op.text.data(), op.text.size()) == static_cast<ssize_t>(op.text.size());
  return close(fd) == 0 && ok;
}

bool show_of_host(const char* path, const char* target) {
  struct stat status {};
  if (lstat(path, &status) != 0) return errno == ENOENT;
  if (S_ISLNK(status.st_mode)) {
    char link[PATH_MAX] = {};
    return readlink(path, link, sizeof link - 1) > 0 && symlink(link, target) == 0;
  }
  if (S_ISDIR(status.st_mode) ? mkdir(target, 0755) != 0 : mknod(target, S_IFREG | 0644, 0) != 0)
    return false;
  return mount(path, target, nullptr, MS_BIND | MS_REC, nullptr) == 0;
}

bool attach(const MountOp& op, int tree, const os::Defences& defences) {
  const std::uint64_t attributes =
      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (op.read_only && defences.read_only ? MOUNT_ATTR_RDONLY : 0ULL);
  return move_mount(tree, "", AT_FDCWD, op.target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0 &&
         set_attributes(op.target.c_str(), attributes, true);
}

bool hide_file(const char* target) { return mount("/dev/null", target, nullptr, MS_BIND, nullptr) == 0; }

bool hide_folder(const char* target) {
  return mount(kEmptyFolder, target, nullptr, MS_BIND, nullptr) == 0 &&
         set_attributes(target, MOUNT_ATTR_RDONLY, false);
}

// Most masked files are open only to the host's root (proc(5)), who is not mapped in the sandbox:
// they are closed already.
bool mask(const char* target) {
  struct stat status {};
  if (stat(target, &status) != 0) return errno == ENOENT;
  if ((status.st_mode & S_IRWXO) == 0) return true;
  return S_ISDIR(status.st_mode) ? hide_folder(target) : hide_file(target);
}

// Hides the folder or file whatever its mode is, because its owner may be the sandbox's user outside.
bool cover(const char* target) {
  struct stat status {};
  // It does not exist, lies below a covered folder, or lies in one that no process
  // of the sandbox can enter.
  if (stat(target, &status) != 0) return errno == ENOENT || errno == EACCES;
  return S_ISDIR(status.st_mode) ? hide_folder(target) : hide_file(target);
}

bool make_read_only(const char* target) {
  if (set_attributes(target, MOUNT_ATTR_RDONLY, false)) return true;
  if (errno != EINVAL) return false;
  // EINVAL: the target is not a mount of its own yet.
  return mount(target, target, nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         set_attributes(target, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
                        true);
}

bool show_cgroup(const MountOp& op, const os::Defences& defences) {
  const std::uint64_t read_only = defences.read_only ? MOUNT_ATTR_RDONLY : 0;
  return mount(op.text.c_str(), op.target.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         set_attributes(op.target.c_str(),
                        read_only | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, false);
}

// The kernel, or a security module, may refuse the mount. Programs that look for its type then find no limit.
// Read-only by mount_setattr(2): the flag of mount(2) would make the whole machine's cgroup2 read-only, if
// this mount is its first.
bool show_cgroup2(const char* target) {
  if (unshare(CLONE_NEWCGROUP) != 0 ||
      mount("cgroup2", target, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return true;
  return set_attributes(target, MOUNT_ATTR_RDONLY, false);
}

// A kernel without the feature has no such file.
bool show_file_over(const char* file, const char* target) {
  if (mount(file, target, nullptr, MS_BIND, nullptr) != 0) return errno == ENOENT;
  return set_attributes(target, MOUNT_ATTR_RDONLY, false);
}

// One call changes all mounts. The second call makes the mount at target writable again,
// because more is created on it.
bool make_read_only_below(const char* target, const os::Defences& defences) {
  const std::uint64_t read_only = defences.read_only ? MOUNT_ATTR_RDONLY : 0;
  mount_attr undo{.attr_clr = read_only};
  return set_attributes(target, read_only | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, true) &&
         mount_setattr(AT_FDCWD, target, 0, &undo, sizeof undo) == 0;
}

// The file sets the limit of the writer's user namespace, in any mount of /proc. A kernel that does not count
// the resource has no such file.
bool set_quota(const MountOp& op) {
  const int fd = open(op.target.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  const bool ok = write(fd, op.text.data(), op.text.size()) == static_cast<ssize_t>(op.text.size());
  return close(fd) == 0 && ok;
}

bool apply(const MountOp& op, std::span<const int> trees, const os::Defences& defences) {
  const char* target = op.target.c_str();
  switch (op.kind) {
    case Kind::kTmpfs:
      return mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, op.text.c_str()) == 0;
    case Kind::kFolder:
      return mkdir(target, 0755) == 0 || errno == EEXIST;
    case Kind::kSharedFolder:
      return mkdir(target, 0755) == 0 && chmod(target, 01777) == 0;
    case Kind::kBind:
      return mount(op.text.c_str(), target, nullptr, MS_BIND | MS_REC, nullptr) == 0;
    case Kind::kFile:
      return make_file(op);
    case Kind::kSymlink:
      return symlink(op.text.c_str(), target) == 0;
    case Kind::kHost:
      return show_of_host(op.text.c_str(), target);
    case Kind::kAttach:
      return attach(op, trees[static_cast<std::size_t>(op.source)], defences);
    case Kind::kOverlay:
      return mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, op.text.c_str()) == 0;
    case Kind::kProc:
      return mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
    case Kind::kDevpts:
      return mount("devpts", target, "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620") ==
             0;
    case Kind::kQuota:
      return !defences.quotas || set_quota(op);
    case Kind::kMask:
      return !defences.masks || mask(target);
    case Kind::kCover:
      return !defences.masks || cover(target);
    case Kind::kReadOnly:
      return !defences.read_only || make_read_only(target);
    case Kind::kCgroup:
      return show_cgroup(op, defences);
    case Kind::kCgroup2:
      return show_cgroup2(target);
    case Kind::kFileOver:
      return show_file_over(op.text.c_str(), target);
    case Kind::kReadOnlyBelow:
      return make_read_only_below(target, defences);
  }
  return false;
}

}  // namespace

int clone_tree(const std::string& path) {
  return open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

std::size_t assemble(const MountPlan& plan, std::size_t first, const Ready& ready,
                     const os::Defences& defences, bool& failed) {
  for (std::size_t i = first; i < plan.ops.size(); ++i) {
    const MountOp& op = plan.ops[i];
    if (op.kind == Kind::kAttach && ready.trees[static_cast<std::size_t>(op.source)] < 0) return i;
    if (op.kind == Kind::kCgroup && !ready.cgroups) return i;
    failed = !apply(op, ready.trees, defences);
    if (failed) return i;
  }
  return plan.ops.size();
}

}  // namespace pawl::sandbox
