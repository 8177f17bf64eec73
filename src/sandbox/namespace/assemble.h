// Carries out a MountPlan in the mount namespace of the sandbox.
#pragma once

#include <span>
#include <string>

#include "os/defences.h"
#include "sandbox/namespace/mounts.h"

namespace pawl::sandbox {

// Returns a detached mount of the tree at `path` (open_tree(2)); -1 with errno.
int clone_tree(const std::string& path);

// Inputs of operations that other processes prepare.
struct Ready {
  std::span<const int> trees;  // a descriptor for each of plan.sources, or -1
  bool cgroups = false;
};

// Applies the operations from `first` on, until an operation needs an input that is not ready. Returns the index of
// that operation, or ops.size() when all are done. When the operation of that index failed, `failed` is true and
// errno is set. Allocates no memory.
std::size_t assemble(const MountPlan& plan, std::size_t first, const Ready& ready,
                     const os::Defences& defences, bool& failed);

}  // namespace pawl::sandbox
