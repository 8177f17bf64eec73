// What an agent told, as it is written down: redacted, in the words of the ledger and of the cost rows. A
// detail of this room.
#pragma once

#include <string>

#include "base/error.h"
#include "executor/executor.h"
#include "store/store.h"

namespace pawl::executor {

// An episode of an attempt: a resumed attempt keeps its own, a new one opens others. The only one (0) has the
// attempt's name, of several each has one of its own.
std::string episode_id(const std::string& attempt_id, std::int64_t episode);
agent::EpisodeKey episode_of(const store::Claim& claim, std::int64_t episode);

// An agent's step, and the episode whose words it had.
struct Teller {
  agent::EpisodeKey key;
  std::string workflow_id, attempt_id, sandbox_run_id;
};
Teller teller_of(const store::Claim& claim, const store::StepStart& step);
// All after `seq`.
Result<store::Told> told_since(const World& world, const Teller& teller, std::int64_t seq);

// Ends for good what operators ended, and writes down what those agents told until then. A crash, or another
// that does the same, costs nothing: it is done again, or not. One that can't be paid (what its agent kept
// can't be read) keeps no other from it, and stays owed: the first error is returned.
Status pay_what_is_owed(const World& world);
// The same: nobody's work waits for what another's agent used.
void pay_or_tell(const World& world, Observer& observer);

// Whether it was the run's budget that ended an agent's step, and not what its attempt may spend. `seq`: as
// above.
Result<bool> budget_is_spent(const World& world, const store::Claim& claim, const sandbox::SandboxRun& run,
                             const store::StepStart& step, std::int64_t seq);

// Of a step not all of which could be saved.
store::Told::Event unsaved_event(const sandbox::SandboxRun& run, const plan::Phase& phase);
// Whether such an agent can go on: neither an execution nor its money is spent on a disk that is still full.
// kExhausted: it is.
Status check_room(const World& world, const store::Claim& claim, const sandbox::SandboxRun& run);

// What the agent of a claim may know and spend, for its socket: canonical JSON of an agent::Context.
std::string agent_of(const store::Claim& claim, const plan::Phase& phase, std::int64_t episode,
                     const store::Begun& begun, const agent::Spent& spent);

}  // namespace pawl::executor
