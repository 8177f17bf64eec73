// Runs a probe in this process: a command that finds something out in a read-only sandbox.
//
// A probe has no copy-out, no trace and no network; its output and exit are the only result. A probe has the
// isolation mechanisms and limits of a step, by the same implementation (backend.h).
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
  std::vector<std::string> env;    // "NAME=value", already filtered by the allowlist, sorted
  std::vector<std::string> lower;  // folders of the host: the workspace, topmost first; may be empty
  std::vector<std::string> git_objects = {};  // as in WorkspaceSpec
  std::vector<CopyIn> shown;                  // other files and folders that it sees, read-only
  std::vector<std::string> hidden;            // as in Folders
  std::int64_t time_budget_seconds = kProbeSecondsMax;
  std::int64_t memory_limit_mib = 512;
  std::int64_t pids_limit = 128;
};

struct Probed {
  SandboxRun run;
  std::string output;  // stdout and stderr, at most kProbeOutputBytesMax; more ends the probe (output_limit)
};

// Blocks until the probe has ended. kInvalid, naming the field, before it starts; later failures are in
// run.outcome. Thread-safe.
Result<Probed> run_in_sandbox(Backend& backend, const ProbeSpec& probe);

}  // namespace pawl::sandbox
