// The sandboxes of `pawl sandbox health`: each one tries to break isolation mechanisms or meets a
// limit. A detail of health.cc.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/backend.h"

namespace pawl::sandbox {

struct Trial {
  Execution execution;
  std::string out, trace;
  bool closed = true;  // no process of our user could inspect this process while the trial ran

  bool printed(std::string_view word) const;
  bool ended(Outcome outcome) const { return execution.run.outcome == outcome; }
};

// Runs `spec` with a workspace below /tmp whose base has below/file, and with a folder of ours
// shown read-only at /shown. `open_outlet`: as in Events.
Trial try_out(Backend& backend, SandboxSpec spec, const OpenOutlet& open_outlet = {});

// Prints the name of each isolation mechanism that holds, and exits with kAttacked.
Trial attack_isolation(Backend& backend);
inline constexpr std::int64_t kAttacked = 9;

struct LimitTrials {
  Trial memory, pids, cpu, output;  // cpu: runs for a whole time budget of one second
};
// Runs all trials at once: the time budget is the longest.
LimitTrials meet_limits(Backend& backend);
// Fills more of the disk than the limit, and waits to be ended for it.
Trial meet_disk_limit(Backend& backend);

inline constexpr std::int64_t kTrialCpuMillis = 100;

}  // namespace pawl::sandbox
