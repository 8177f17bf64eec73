// The parent's side of a running sandbox: passes output on, keeps the limits, and says how it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/file.h"
#include "sandbox/backend.h"
#include "sandbox/egress/egress.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/child.h"
#include "sandbox/namespace/disk.h"
#include "sandbox/namespace/input.h"
#include "sandbox/trace/tracer.h"

namespace pawl::sandbox {

struct Watched {
  int pid = -1;  // init of the sandbox, our child
  os::UniqueFd pidfd, stdout_fd, stderr_fd, report_fd;
  Input* input = nullptr;
  os::UniqueFd sync_fd;              // where the init hands descriptors over
  egress::Egress* egress = nullptr;  // takes the listeners; none without a network
  bool has_layers = false;           // then the init hears of renames
  DiskWatch* disk = nullptr;
  bool watch_memory = false;  // no cgroup does it
  Cgroup* cgroup = nullptr;
  const SandboxSpec* spec = nullptr;
  const Events* events = nullptr;
};

struct Ending {
  std::optional<Outcome> forced;  // what the watcher ended it for
  bool stopped = false;           // by Events::should_stop
  std::optional<ChildReport> report;
  CgroupUse use;                             // when the command ended
  std::int64_t cpu_ms = 0, max_rss_kib = 0;  // of those that somebody waited for (getrusage(2))
};

// Returns when every process of the sandbox is gone and all output was passed on.
Ending watch(Watched& sandbox);

}  // namespace pawl::sandbox
