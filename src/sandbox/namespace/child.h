// What happens between clone3 and exec: the init of the sandbox's pid namespace, and the command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/listeners.h"
#include "sandbox/namespace/mounts.h"

namespace pawl::sandbox {

inline constexpr unsigned kInsideUid = 1000;  // agents refuse to work as root, and nothing needs it

struct ChildJob {
  const SandboxSpec* spec = nullptr;
  const MountPlan* plan = nullptr;
  std::vector<int> mounts;  // detached mounts of plan->sources that the parent made; -1: the child makes it
  const Cgroup* cgroup = nullptr;
  bool limit_by_rlimits = false;  // no cgroup bounds memory and processes
  bool set_groups = false;        // drop supplementary groups (needs privileges in the parent namespace)
  bool use_landlock = false;
  std::vector<std::string> writable;  // paths inside that Landlock lets be written
  std::vector<Listener> listeners;    // of the egress
  // A byte comes when the id maps are written; descriptors go back (handover.h); hung up when the parent is
  // dead.
  int sync_fd = -1;
  int report_fd = -1;  // where a Report goes
  int stdout_fd = -1, stderr_fd = -1;
};

// The child's last words, one write(2) to the pipe.
struct ChildReport {
  enum class Kind : std::uint32_t { kFailed, kExited, kSignaled } kind = Kind::kFailed;
  std::int32_t value = 0;    // errno, exit code or signal
  char mechanism[248] = {};  // of kFailed, NUL-terminated
};

// In the child of clone3. Never returns.
[[noreturn]] void run_child(const ChildJob& job);

// Both return descriptors of detached mounts, or -1 with errno.
int clone_tree(const std::string& path);
bool attach_tree(int tree, const std::string& target);

}  // namespace pawl::sandbox
