// Carries out a MountPlan, in the sandbox's own mount namespace.
#pragma once

#include <span>
#include <string>

#include "os/walls.h"
#include "sandbox/namespace/mounts.h"

namespace pawl::sandbox {

// A detached mount of the tree at `path` (open_tree(2)); -1 with errno.
int clone_tree(const std::string& path);

// What operations need that others get ready.
struct Ready {
  std::span<const int> trees;  // a descriptor for each of plan.sources, or -1
  bool cgroups = false;
};

// Applies the operations from `first` on, until one needs what is not ready. Returns the index of that one,
// or ops.size() when all are done; `failed` is set, and errno, when the operation of that index failed.
// Allocates nothing.
std::size_t assemble(const MountPlan& plan, std::size_t first, const Ready& ready, const os::Walls& walls,
                     bool& failed);

}  // namespace pawl::sandbox
