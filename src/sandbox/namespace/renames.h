// The init's part in renames of folders that lower layers have (upper_folder.h).
//
// The filter stops each rename inside and asks (seccomp_unotify(2)). The init looks whether a folder of an
// overlay is meant; then a child of its, confined as the command is, makes the folder one that overlayfs can
// rename. In each case the kernel goes on with the caller's own call, and so with its rights: who asks for a
// folder that it may not rename gets that folder copied, and no more.
//
// None of it allocates (child.h).
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

  // Takes what the command hands over, until it has become the program: the listener, and its cgroups.
  void take_from(int command);
  // Until a signal that `mask` lets in has come, or a rename is looked at.
  void await(const sigset_t& mask);
  // Whether this child was one at work. The caller of rename goes on.
  bool has_ended(pid_t child, int status);
  // Those at work give up, or bring to its end what can't be given up.
  void finish();

 private:
  struct Asked;
  struct Worker {
    pid_t pid = 0;
    std::uint64_t id = 0;       // of the notification
    os::UniqueFd from{}, to{};  // parents of the folders that it makes
    int repairs = 0;
  };
  // Shared with those at work.
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
  os::UniqueFd latest_;  // worker, as pidfd_open(2) makes it: each waits for the one before
  bool is_over_ = false;
};

}  // namespace pawl::sandbox
