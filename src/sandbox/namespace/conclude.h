// How a sandbox ended, by the observations of its watcher and the report of its init. Pure.
#pragma once

#include <expected>

#include "sandbox/backend.h"
#include "sandbox/namespace/mounts.h"
#include "sandbox/namespace/watch.h"

namespace pawl::sandbox {

using Made = std::expected<void, Fault>;

// Fills in outcome, exit code, signal, usage and reason of `run`. The fault of an `ending` whose sandbox could
// not be made; `run` is unchanged then.
Made conclude(const Ending& ending, const MountPlan& plan, SandboxRun& run);

}  // namespace pawl::sandbox
