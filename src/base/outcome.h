// How a sandboxed command ended: exactly one value. Stored and printed by its name.
#pragma once

#include <string_view>

#include "base/error.h"

namespace pawl {

// A limit takes precedence over the command's own end; the run's `reason` then says how the command itself ended.
// - oom_killed: the kernel killed a process of the sandbox for memory. It may be any process, and the
//   command may have continued. Without a cgroup, Pawl's watcher ends the sandbox instead.
// - disk_limit: the files that it left take more than the disk limit, or one file is longer than the limit.
// A signal does not prove that a limit was met, because a program can send itself any signal. A refusal that
// the program handled (no more processes, a full /tmp) is not an outcome.
enum class Outcome { kExited, kSignaled, kTimedOut, kOomKilled, kOutputLimit, kDiskLimit, kSetupFailed };

// exited, signaled, timed_out, oom_killed, output_limit, disk_limit, setup_failed
std::string_view name(Outcome outcome);
Result<Outcome> outcome_from_name(std::string_view name);  // kCorrupt: no such outcome

}  // namespace pawl
