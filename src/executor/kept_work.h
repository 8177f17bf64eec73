// The work of an agent from which its next execution continues (`resume: continue`), or the next attempt's agent
// (`on_retry: continue`). A detail of this room.
#pragma once

#include <optional>

#include "base/error.h"
#include "executor/attempt.h"
#include "executor/executor.h"
#include "executor/recovery.h"

namespace pawl::executor {

// The work of an agent that ended with a result and is to run again. No value: the policy of its phase is not
// kContinue.
std::optional<supervisor::KeptWork> kept_with_result(const sandbox::SandboxRun& run,
                                                     const plan::Phase& phase);

// Stores the work of an abandoned step of `episode` and returns its layer, or what is missing. after_keeping() says
// what follows. REQUIRES: the objects are held until the step's loss is recorded.
Result<supervisor::KeptWork> keep_work(const World& world, const store::Claim& claim, const Episode& episode,
                                       const store::StepStart& start,
                                       const secrets::Redactor::Values& credentials);

// Returns "" when the next execution of the episode's agent can have HOME of the executions before, and go on in their
// work if it does. Otherwise returns the missing part: the agent begins anew, in an empty HOME. `credentials`: of the
// next execution. REQUIRES: an execution of the agent has a marker.
Result<std::string> missing_home(const World& world, const store::Claim& claim, const Episode& episode,
                                 const secrets::Redactor::Values& credentials);

// Returns the work of the previous attempt from which the first execution of the agent continues, and hands its HOME
// on. Otherwise returns the missing part, as docs/plan-format.md lists it. Removes HOME of all earlier attempts that
// was not handed on. A second call returns the same. `credentials`: the next agent's. REQUIRES: claim.previous.
Result<supervisor::KeptWork> take_previous_work(const World& world, const store::Claim& claim,
                                                const secrets::Redactor::Values& credentials);
// Removes HOME of the attempts of a phase with numbers below `number`: no agent continues there any more.
Status forget_homes_before(const World& world, const std::string& run_id, const std::string& phase_id,
                           std::int64_t number);

}  // namespace pawl::executor
