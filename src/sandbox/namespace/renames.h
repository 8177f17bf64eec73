// The init's part in renames of folders that lower layers have (upper_folder.h).
//
// The filter stops each rename inside and asks a listener (seccomp_unotify(2)). The init checks whether the
// rename concerns a folder of an overlay. If so, a child of the init, confined like the command, turns it into a
// folder that overlayfs can rename. The kernel then continues the caller's own call, with the caller's rights: a
// caller that may not rename the folder only gets it copied. Only a disk error, or a target that is not empty, is
// returned to the caller instead.
//
// This code allocates no memory (child.h).
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>

#include "os/file.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/child.h"
#include "sandbox/namespace/handover.h"
#include "sandbox/namespace/upper_folder.h"

namespace pawl::sandbox {

class Renames {
 public:
  explicit Renames(const ChildJob& job) : job_(job) {}

  // Takes the listener and the cgroups that the command hands over, until the command has become the program.
  void take_from(int command);
  // Waits with the signal mask `mask` until a signal has arrived or a rename was handled.
  void await(const sigset_t& mask);
  // Whether `child` was a worker here. If so, its rename is answered, unless a repair was started.
  bool has_ended(pid_t child, int status);
  // Makes all workers give up, or finish an operation that cannot be given up. Blocks until they have ended.
  void finish();

 private:
  struct Asked;
  struct Worker {
    pid_t pid = 0;
    std::uint64_t id = 0;       // the notification's
    os::UniqueFd from{}, to{};  // parents of the folders that it makes
    int repairs = 0;
  };
  // In memory shared with the workers.
  struct Progress {
    std::atomic<pid_t> worker;
    std::atomic<bool> is_of_target;
    UpperProgress upper;
  };
  Worker* free_worker();
  bool receive(AskedRename& asked);
  bool start_worker(Worker& worker, const AskedRename& asked);
  bool confine() const;
  [[noreturn]] void work(const Asked& asked, int before) const;
  bool start_repair(Worker& worker);
  void answer(std::uint64_t id, int error) const;

  const ChildJob& job_;
  os::UniqueFd listener_;
  std::array<os::UniqueFd, kCgroupsMax> cgroups_;
  std::size_t cgroup_count_ = 0;
  std::array<Worker, 32> workers_{};
  Progress* progress_ = nullptr;
  os::UniqueFd latest_;  // pidfd of the latest worker (pidfd_open(2)): each waits for its predecessor
  bool is_over_ = false;
};

}  // namespace pawl::sandbox
