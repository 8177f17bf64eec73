// What sandboxes of this machine have to do without, found out without making one.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/backend.h"

namespace pawl::sandbox {

// Only what is degraded: memory, pids, cpu, landlock, each with what is used instead and what to do.
std::vector<Mechanism> namespace_does_without();

// When /workspace is a copy of the tree.
inline constexpr std::string_view kNoOverlay =
    "the whole workspace is copied for each step; keep .pawl on ext4, xfs, btrfs or tmpfs (ordinary users "
    "need "
    "Linux 5.11), in a container on a volume";

}  // namespace pawl::sandbox
