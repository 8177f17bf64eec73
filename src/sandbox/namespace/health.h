// What of the namespace backend works on this machine, found out by using it: real sandboxes that push
// against each wall.
#pragma once

#include "sandbox/backend.h"

namespace pawl::sandbox {

// Runs a few short sandboxes of `backend`, some of them below /tmp; a little over a second, which is the time
// budget that one of them meets.
Health namespace_health(Backend& backend);

}  // namespace pawl::sandbox
