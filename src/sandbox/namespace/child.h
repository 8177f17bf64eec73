// What happens between clone3 and exec: two processes that get ready at the same time. The init of the
// sandbox's pid namespace makes the mounts; the command makes the network namespace and gives up its rights.
//
// None of it allocates or takes a lock, because the parent may have other threads (a probe inside an
// executor): a lock that one of them held when we were cloned stays held for ever.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

#include "os/walls.h"
#include "sandbox/namespace/listeners.h"
#include "sandbox/namespace/mounts.h"
#include "sandbox/namespace/user.h"

namespace pawl::sandbox {

// Made by whoever can do so while others work: the parent makes the cgroups and the command the network's
// namespace (half a millisecond) while the init makes the mounts.
constexpr std::uint64_t namespaces_from_start(const os::Walls& walls) {
  return CLONE_NEWUSER | (walls.pid ? CLONE_NEWPID : 0);
}
constexpr int namespaces_of_init(const os::Walls& walls) {
  return CLONE_NEWNS | (walls.ipc ? CLONE_NEWIPC : 0) | (walls.uts ? CLONE_NEWUTS : 0);
}
inline constexpr char kNoNamespaces[] =
    "namespaces (is kernel.unprivileged_userns_clone or AppArmor in the way?)";
// The kernel notifies one listener of a process, so Pawl inside of somebody else's has none (EBUSY); before
// Linux 5.5 it can't let a call go on (EINVAL).
inline constexpr char kNoTrace[] =
    "trace_unavailable: no seccomp notification can be had here, which needs Linux 5.5 and that Pawl itself "
    "does not run under one (some containers); run it elsewhere, or the step without `trace: true`";

inline constexpr char kTraceIsEmpty[] =
    "Pawl may not read the sandbox's memory (is kernel.yama.ptrace_scope above 1?)";

// What the parent finds out while the init starts. Comes over sync_fd, when the id maps are written.
struct ChildStart {
  bool privileged = false;  // supplementary groups are dropped; trees follow, with their owners mapped
};
// And while the command starts. Comes over cgroups_fd.
struct CommandLimits {
  bool by_rlimits = false;         // no cgroup bounds memory and processes
  std::size_t cgroups_follow = 0;  // how many to join
};

// Where a sandbox's processes may run: wherever the one that starts it may.
//
// The kernel leaves most new processes on the processor of their parent, behind it, while another one idles:
// of a start of 4 ms, 0.3 to 0.6 ms were that wait, twice. So the parent sends each to another one, and the
// child takes the whole set back, once it hears from its parent and so comes after it.
class Processors {
 public:
  static Processors of_this_process();
  void send_elsewhere(int pid) const;  // in the parent; a hint: errors are none
  bool take_back() const;              // in the child

 private:
  cpu_set_t all_{};
  bool several_ = false;
};

struct ChildJob {
  const SandboxSpec* spec = nullptr;
  const MountPlan* plan = nullptr;
  // For a detached mount of each of plan->sources, -1 until it is there: it comes over sync_fd when the start
  // is privileged, else the child makes it.
  std::vector<int> trees;
  ChildStart start;  // in the child, once it has come
  bool use_landlock = false;
  bool has_layers = false;  // /workspace is an overlay that can be written
  Processors processors;
  os::Walls walls;
  std::vector<char*> argv, env;                      // of the command, with their nullptr
  std::vector<std::string> writable;                 // paths inside that Landlock lets be written
  const std::vector<Listener>* listeners = nullptr;  // of the egress; null without one
  // The start comes, then trees; descriptors go back (handover.h); hung up when the parent is dead.
  int sync_fd = -1;
  int cgroups_fd = -1;  // the command's: its cgroups come, as handovers
  int parent_fd = -1;   // the parent, as pidfd_open(2) makes it
  int report_fd = -1;   // where a ChildReport goes
  int stdin_fd = -1;    // -1: nothing to read
  int stdout_fd = -1, stderr_fd = -1;
  std::vector<int> held;  // Events::held
  // All of the above, sorted: the others belong to other threads' work, and are closed.
  std::vector<int> descriptors;
};

// The child's last words, one write(2) to the pipe.
struct ChildReport {
  enum class Kind : std::uint32_t { kFailed, kExited, kSignaled } kind = Kind::kFailed;
  std::int32_t value = 0;    // errno, exit code or signal
  std::int32_t op = -1;      // of kFailed: the index in plan->ops, or -1, and then there is a
  char mechanism[240] = {};  // NUL-terminated
};
void report(int report_fd, const ChildReport& words);
[[noreturn]] void report_failure(int report_fd, int error, const char* mechanism, const char* on = "");

// Reads a byte. An end of file is a peer that gave up and has said why: then so do we.
void await(int fd);

// clone3(2), without the locks of fork(3). 0 in the child.
int clone_process(std::uint64_t flags, int into_cgroup, int& pidfd);

// In the child of clone_process. Never returns.
[[noreturn]] void run_child(ChildJob& job);

// In the child of that one; `init_fd`: a socket to the init. A byte goes when the network namespace is ready,
// one comes when the mounts are. Never returns.
[[noreturn]] void run_command(const ChildJob& job, int init_fd);

}  // namespace pawl::sandbox
