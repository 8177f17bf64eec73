// The parent's side of a running sandbox: passes output on, enforces the limits, and
// returns how the sandbox ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/file.h"
#include "sandbox/backend.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/child.h"
#include "sandbox/namespace/disk.h"
#include "sandbox/namespace/input.h"
#include "sandbox/namespace/trace/tracer.h"

namespace pawl::sandbox {

struct Watched {
  int pid = -1;  // init of the sandbox, a child of this process
  os::UniqueFd pidfd, stdout_fd, stderr_fd, report_fd;
  Input* input = nullptr;
  os::UniqueFd sync_fd;      // the init sends descriptors here
  Outlet* outlet = nullptr;  // takes the listeners; null without a network
  bool has_layers = false;   // true: the init receives renames
  DiskWatch* disk = nullptr;
  bool watch_memory = false;  // true: no cgroup limits memory
  Cgroup* cgroup = nullptr;
  const SandboxSpec* spec = nullptr;
  const Events* events = nullptr;
};

struct Ending {
  std::optional<Outcome> forced;  // the reason for which the watcher ended the sandbox
  bool stopped = false;           // by Events::should_stop
  std::optional<ChildReport> report;
  CgroupUse use;                             // at the end of the command
  std::int64_t cpu_ms = 0, max_rss_kib = 0;  // for processes that were waited for (getrusage(2))
};

// Blocks until every process of the sandbox has ended and all output was passed on. Never fails: the result
// says how the sandbox ended.
Ending watch(Watched& sandbox);

}  // namespace pawl::sandbox
