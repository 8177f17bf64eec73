// Decides what follows when the provider of a model refused an agent. Pure, except that it reads the agent's output.
// A detail of this room.
//
// No attempt and no execution is spent: an agent that runs out of its usage window has not failed.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/refusal.h"
#include "executor/executor.h"
#include "executor/steps.h"
#include "sandbox/spec.h"
#include "store/store.h"

namespace pawl::executor {

// The refusal with which an agent's step ended. No value: the step is not an agent's, it ended in another way, or the
// signs of its program are unknown. Also when the phase's policy does not let it run again, or when its sandbox kept it
// from the provider.
std::optional<agent::Refusal> refusal_of(const World& world, const PlannedStep& step,
                                         const plan::Phase& phase, const sandbox::SandboxRun& run);

// The waits when the provider names no time. Each is twice as long as the one before.
constexpr std::int64_t kFirstWaitMs = 60'000, kWaitMsMax = 3'600'000;
// A provider's longest window is a week. A time further away is not believed.
constexpr std::int64_t kResetMsMax = 8LL * 24 * 3600 * 1000;
constexpr std::int64_t kWithinMinuteWaitMs = 2'000;
constexpr std::int64_t kJitterMsMax = 2000;  // so that phases that wait for the same time start apart

// The wait after a refusal. No value: no wait is left, and a person decides. `phase`: the agent's. `jitter_ms`: from 0
// to kJitterMsMax.
std::optional<store::Wait> wait_after(const agent::Refusal& refusal, const plan::Phase& phase,
                                      const store::WaitsSoFar& so_far, WallTime ended,
                                      std::int64_t jitter_ms);

store::RecoveryFound found_refused(const agent::Refusal& refusal);

}  // namespace pawl::executor
