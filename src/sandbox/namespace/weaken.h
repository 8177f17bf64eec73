// Lets tests leave out isolation mechanisms that consist of mounts (os/walls.h). In a release build all stay.
#pragma once

#include <utility>

#include "os/walls.h"
#include "sandbox/namespace/mounts.h"

namespace pawl::sandbox {

#ifdef PAWL_TEST_HOOKS
MountPlan weakened(MountPlan plan, const os::Walls& walls);
#else
inline MountPlan weakened(MountPlan plan, const os::Walls&) { return plan; }
#endif

}  // namespace pawl::sandbox
