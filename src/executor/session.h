// Works on one attempt under its claim. A detail of this room.
#pragma once

#include "base/error.h"
#include "executor/executor.h"
#include "store/store.h"

namespace pawl::executor {

// Settles what a crash left, runs the remaining steps, judges, and commits the end. On failure the caller
// still has the lease and must release it. kConflict: the lease was lost, and running steps
// whose markers another process closed were ended.
Result<Turn> work_on(const World& world, const Options& options, Observer& observer,
                     const store::Claim& claim, const Planned& plan);

}  // namespace pawl::executor
