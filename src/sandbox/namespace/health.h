// Finds out which parts of the namespace backend work on this machine, with real sandboxes that attack
// each isolation mechanism.
#pragma once

#include "sandbox/backend.h"

namespace pawl::sandbox {

// Runs a few short sandboxes of `backend`, some of them below /tmp. Takes a little over a second, because one sandbox
// uses up its time budget.
Health namespace_health(Backend& backend, const ClosedOutlets& outlets);

}  // namespace pawl::sandbox
