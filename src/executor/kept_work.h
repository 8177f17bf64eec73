// The work of an agent's execution that the next one goes on with (`resume: continue`). A detail of this room.
#pragma once

#include <optional>

#include "base/error.h"
#include "executor/attempt.h"
#include "executor/executor.h"
#include "executor/recovery.h"

namespace pawl::executor {

// The work of an agent that ended with a result and is to run again. No value: the policy of its phase is another one.
std::optional<supervisor::KeptWork> kept_with_result(const sandbox::SandboxRun& run,
                                                     const plan::Phase& phase);

// Keeps the work of an abandoned step in `one`, unless its result has it, and decides what follows: kContinue, or
// kReExecute without it. REQUIRES: the objects are held until the step's loss is recorded.
Result<Recovery> keep_work(const World& world, const store::Claim& claim, ActiveEpisode& one,
                           const store::StepStart& start, const secrets::Redactor::Values& credentials);

}  // namespace pawl::executor
