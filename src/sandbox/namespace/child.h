// The code between clone3 and exec, in two processes that prepare themselves at the same time. The
// init of the sandbox's pid namespace makes the mounts. The command makes the network namespace and
// gives up its privileges.
//
// This code must neither allocate memory nor take a lock, because the parent may have other threads (a probe
// inside an executor). A lock that another thread holds during the clone stays locked for ever in the child.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

#include "os/defences.h"
#include "sandbox/namespace/listeners.h"
#include "sandbox/namespace/mounts.h"

namespace pawl::sandbox {

// Each namespace is made by the process that can do so in parallel. The parent makes the cgroups, and the
// command makes the network namespace (half a millisecond), while the init makes the mounts.
constexpr std::uint64_t namespaces_from_start(const os::Defences& defences) {
  return CLONE_NEWUSER | (defences.pid ? CLONE_NEWPID : 0);
}
constexpr int namespaces_of_init(const os::Defences& defences) {
  return CLONE_NEWNS | (defences.ipc ? CLONE_NEWIPC : 0) | (defences.uts ? CLONE_NEWUTS : 0);
}
inline constexpr char kNoNamespaces[] =
    "namespaces (is kernel.unprivileged_userns_clone or AppArmor in the way?)";
// The kernel allows one listener for a process. Under another program's listener, Pawl therefore gets no listener
// (EBUSY). Before Linux 5.5 a listener cannot let a call continue (EINVAL).
inline constexpr char kNoTrace[] =
    "trace_unavailable: no seccomp notification can be had here, which needs Linux 5.5 and that Pawl itself "
    "does not run under one (some containers); run it elsewhere, or the step without `trace: true`";

inline constexpr char kTraceIsEmpty[] =
    "Pawl may not read the sandbox's memory (is kernel.yama.ptrace_scope above 1?)";

// Facts that the parent finds out while the init starts. Arrives over sync_fd after the id maps are written.
struct ChildStart {
  bool privileged = false;  // supplementary groups are dropped; trees follow, with their owners mapped
};
// Facts that the parent finds out while the command starts. Arrives over cgroups_fd.
struct CommandLimits {
  bool by_rlimits = false;         // true: no cgroup limits memory and processes
  std::size_t cgroups_follow = 0;  // number of cgroups to join
};

// The processors that a sandbox may use: the processors of the process that starts it.
//
// The kernel queues most new processes on the processor of their parent, while another processor is
// idle. Of a start of 4 ms, this wait took 0.3 to 0.6 ms, twice. The parent therefore moves each child
// to the other processors. The child restores the whole set once the parent has written to it, and so
// runs after the parent's work.
class Processors {
 public:
  static Processors of_this_process();
  void send_elsewhere(int pid) const;  // in the parent; a hint: errors are ignored
  bool take_back() const;              // in the child

 private:
  cpu_set_t all_{};
  bool several_ = false;
};

struct ChildJob {
  const SandboxSpec* spec = nullptr;
  const MountPlan* plan = nullptr;
  // A detached mount for each of plan->sources, or -1 until it is available. With a privileged start it
  // arrives over sync_fd; otherwise the child makes it.
  std::vector<int> trees;
  ChildStart start;  // in the child, valid once it has arrived
  bool use_landlock = false;
  bool has_layers = false;  // /workspace is a writable overlay with lower trees
  Processors processors;
  os::Defences defences;
  std::vector<char*> argv, env;                      // for the command, with the final nullptr
  std::string shown;                                 // the program for messages, safe for a terminal
  std::vector<std::string> writable;                 // paths inside that Landlock allows to be written
  const std::vector<Listener>* listeners = nullptr;  // the outlet's; null without one
  // The ChildStart arrives here, then trees; the child sends descriptors back (handover.h). Hangs up
  // when the parent has ended.
  int sync_fd = -1;
  int cgroups_fd = -1;  // the command's limits and its cgroups arrive here
  int parent_fd = -1;   // pidfd of the parent (pidfd_open(2))
  int report_fd = -1;   // takes one ChildReport
  int stdin_fd = -1;    // -1: the input is empty
  int stdout_fd = -1, stderr_fd = -1;
  std::vector<int> held;  // Events::held
  // All descriptors above, sorted. All others belong to other threads' work and are closed.
  std::vector<int> descriptors;
};

// The final report of the child, one write(2) to the pipe.
struct ChildReport {
  enum class Kind : std::uint32_t { kFailed, kExited, kSignaled } kind = Kind::kFailed;
  std::int32_t value = 0;  // errno, exit code or signal
  std::int32_t op = -1;    // kFailed: the index in plan->ops; -1: see `failed` and `action`
  // The mechanism that failed, where callers tell it from all others. Valid with kFailed.
  enum class Failed : std::uint32_t { kOther, kNamespaces, kTrace } failed = Failed::kOther;
  char action[240] = {};  // for people, NUL-terminated
};
void report(int report_fd, const ChildReport& words);
[[noreturn]] void report_failure(int report_fd, int error, const char* action, const char* on = "",
                                 ChildReport::Failed failed = ChildReport::Failed::kOther);

// Reads one byte. At end of file the peer gave up and has reported why: this process then exits, too.
void await(int fd);

// clone3(2), without the locks of fork(3). Returns 0 in the child, and -1 with errno.
int clone_process(std::uint64_t flags, int into_cgroup, int& pidfd);

// Runs in the child of clone_process. Never returns.
[[noreturn]] void run_child(ChildJob& job);

// Runs in the child of the init. `init_fd` is a socket to the init: one byte goes out when the network namespace is
// ready, and one byte comes in when the mounts are ready. Never returns.
[[noreturn]] void run_command(const ChildJob& job, int init_fd);

}  // namespace pawl::sandbox
