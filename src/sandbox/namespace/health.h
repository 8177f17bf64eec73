// What of the namespace backend works on this machine, found out by using it: real sandboxes that push
// against each wall.
#pragma once

#include "sandbox/backend.h"

namespace pawl::sandbox {

// Runs a few short sandboxes of `backend` below /tmp; well under a second.
Health namespace_health(Backend& backend);

}  // namespace pawl::sandbox
