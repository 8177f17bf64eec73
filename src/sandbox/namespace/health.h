// Finds out which parts of the namespace backend work on this machine, with real sandboxes that attack
// each isolation mechanism.
#pragma once

#include "sandbox/backend.h"

namespace pawl::sandbox {

// Runs a few short sandboxes of `backend`, some of them below /tmp. Takes a little over a second, the time
// budget that one of them meets.
Health namespace_health(Backend& backend, const ClosedOutlets& outlets);

}  // namespace pawl::sandbox
