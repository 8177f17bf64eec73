// The seam for probes: finds something out in a sandbox that can change nothing, in this very process.
//
// No copy-out, no trace, no network, and what it prints is all that comes back. The walls and limits are
// those of a step: one implementation (backend.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/backend.h"

namespace pawl::sandbox {

inline constexpr std::int64_t kProbeSecondsMax = 30;
inline constexpr std::int64_t kProbeOutputBytesMax = 64 << 10;

struct ProbeSpec {
  std::vector<std::string> cmd;
  std::vector<std::string> env;     // "NAME=value", already through the allowlist, sorted
  std::vector<std::string> lower;   // folders of the host: the workspace, topmost first; may be empty
  std::vector<CopyIn> shown;        // what else it sees, read-only
  std::vector<std::string> hidden;  // as of Folders
  std::int64_t time_budget_seconds = kProbeSecondsMax;
  std::int64_t memory_limit_mib = 512;
  std::int64_t pids_limit = 128;
};

struct Probed {
  SandboxRun run;
  std::string output;  // stdout and stderr, at most kProbeOutputBytesMax; more ends it (output_limit)
};

// Blocks until it is over. kInvalid, naming the field, before anything starts. What went wrong later is in
// run.outcome. Thread-safe.
Result<Probed> run_in_sandbox(Backend& backend, const ProbeSpec& probe);

}  // namespace pawl::sandbox
