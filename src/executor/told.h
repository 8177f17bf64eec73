// What an agent told, as it is written down: redacted, in the words of the ledger and of the cost rows. A
// detail of this room.
#pragma once

#include <string>

#include "base/error.h"
#include "executor/executor.h"
#include "store/store.h"

namespace pawl::executor {

// The episode of an attempt: a resumed attempt keeps it, a new one opens another.
agent::EpisodeKey episode_of(const store::Claim& claim);

// All after `seq`, of the step `sandbox_run_id`.
Result<store::Told> told_since(const World& world, const store::Claim& claim,
                               const std::string& sandbox_run_id, std::int64_t seq);

// Of a step not all of which could be saved.
store::Told::Event unsaved_event(const sandbox::SandboxRun& run, const plan::Phase& phase);

// What the agent of a claim may know and spend, for its socket: canonical JSON of an agent::Context.
std::string agent_of(const store::Claim& claim, const plan::Phase& phase, const store::Begun& begun,
                     const agent::Spent& spent);

}  // namespace pawl::executor
