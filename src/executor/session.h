// One attempt, worked on under its claim. A detail of this room.
#pragma once

#include "base/error.h"
#include "executor/executor.h"
#include "store/store.h"

namespace pawl::executor {

// Settles what a crash left, runs what remains, judges, and commits the end. The lease stays the caller's to
// give back when it fails; kConflict: it was lost, and of what runs without it nothing is left.
Result<Turn> work_on(const World& world, const Options& options, Observer& observer,
                     const store::Claim& claim, const Planned& plan);

}  // namespace pawl::executor
