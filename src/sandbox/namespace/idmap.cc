#include "sandbox/namespace/idmap.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "os/defences.h"
#include "sandbox/inside.h"
#include "sandbox/namespace/assemble.h"
#include "sandbox/namespace/child.h"
#include "sandbox/namespace/dumpable.h"

// clone(2) by the name that ThreadSanitizer does not replace. Its replacement keeps the function's address on the stack of the
// caller, which may have returned before a process that shares its memory begins.
extern "C" int __clone(int (*run)(void*), void* stack_end, int flags, void* argument, ...);

namespace pawl::sandbox {
namespace {

// Above every range that systemd assigns (UIDS-GIDS: containers end at 1879048191) and below 2^31.
constexpr unsigned kOutsideUid = 1'900'000'000;
constexpr std::uint64_t kIdMapBytesMax = 16 << 10;  // 340 lines (user_namespaces(7)) of 33 bytes

bool can_map(unsigned uid) {
  auto text = os::read_file("/proc/self/uid_map", kIdMapBytesMax);
  unsigned inside = 0, outside = 0, count = 0;
  int used = 0;
  for (const char* at = text ? text->c_str() : "";
       std::sscanf(at, "%u %u %u%n", &inside, &outside, &count, &used) == 3; at += used)
    if (uid >= inside && uid - inside < count) return true;
  return false;
}

Status write_proc(int pid, const char* file, const std::string& text) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
  const os::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno(errno, "user namespace", path);
  return {};
}

// The process keeps its namespace alive until that is opened. It runs in the memory of its parent's thread, at the same
// time as that thread. ThreadSanitizer would take the two for one thread, so it leaves out this function and its calls.
__attribute__((no_sanitize("thread"))) int wait_for_the_end(void* parent) {
  syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // ppoll(2) without descriptors waits as pause(2) does, which not every machine has.
  while (syscall(SYS_getppid) == *static_cast<const int*>(parent))
    syscall(SYS_ppoll, nullptr, 0L, nullptr, nullptr, 0L);
  return 0;  // the parent died before prctl(2)
}

std::string map_line(unsigned inside, unsigned outside) {
  return std::to_string(inside) + " " + std::to_string(outside) + " 1";
}

}  // namespace

Identity sandbox_identity() {
  if (geteuid() == 0 && can_map(kOutsideUid)) {
    const unsigned id = os::defences().user ? kOutsideUid : 0;
    return {.privileged = true, .outside_uid = id, .outside_gid = id};
  }
  return {.privileged = false, .outside_uid = geteuid(), .outside_gid = getegid()};
}

void give_pipe(int end, const Identity& identity) {
  if (identity.privileged) static_cast<void>(fchown(end, identity.outside_uid, identity.outside_gid) == 0);
}

Status write_id_maps(int pid, const Identity& identity) {
  // user_namespaces(7): without privileges, setgroups must be denied before a group can be mapped.
  if (!identity.privileged) PAWL_OK(write_proc(pid, "setgroups", "deny"));
  PAWL_OK(write_proc(pid, "gid_map", map_line(inside::kUid, identity.outside_gid)));
  return write_proc(pid, "uid_map", map_line(inside::kUid, identity.outside_uid));
}

Result<std::unique_ptr<IdmapNamespace>> IdmapNamespace::make(const Identity& identity) {
  std::unique_ptr<IdmapNamespace> made(new IdmapNamespace);
  PAWL_OK(made->open(identity));
  return made;
}

Status IdmapNamespace::open(const Identity& identity) {
  const Dumpable for_its_files;
  // The process shares our memory, because copying the page tables costs more than all other work here.
  child_ =
      __clone(wait_for_the_end, stack_.data() + stack_.size(), CLONE_NEWUSER | CLONE_VM | SIGCHLD, &parent_);
  if (child_ < 0) return fail_errno(errno, "user namespace for idmapped mounts");
  PAWL_OK(write_proc(child_, "gid_map", map_line(0, identity.outside_gid)));
  PAWL_OK(write_proc(child_, "uid_map", map_line(0, identity.outside_uid)));
  const std::string path = "/proc/" + std::to_string(child_) + "/ns/user";
  namespace_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!namespace_) return fail_errno(errno, "user namespace for idmapped mounts", path);
  return {};
}

IdmapNamespace::~IdmapNamespace() {
  if (child_ < 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

Result<os::UniqueFd> IdmapNamespace::clone_tree(const std::string& path) const {
  os::UniqueFd tree(sandbox::clone_tree(path));
  if (!tree) return fail_errno(errno, "open_tree", path);
  mount_attr change{.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = static_cast<std::uint64_t>(namespace_.get())};
  if (mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) != 0)
    return fail_errno(
        errno,
        "idmapped mount (keep .pawl on ext4, xfs, btrfs or, since Linux 6.3, tmpfs; or run as an "
        "ordinary user)",
        path);
  return tree;
}

}  // namespace pawl::sandbox
