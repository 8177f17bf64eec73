// Lets tests leave out isolation mechanisms that consist of mounts (os/defences.h). A release build has all
// mechanisms.
#pragma once

#include <utility>

#include "os/defences.h"
#include "sandbox/namespace/mounts.h"

namespace pawl::sandbox {

#ifdef PAWL_TEST_HOOKS
MountPlan with_defences(MountPlan plan, const os::Defences& defences);
#else
inline MountPlan with_defences(MountPlan plan, const os::Defences&) { return plan; }
#endif

}  // namespace pawl::sandbox
