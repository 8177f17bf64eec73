// Events and usage that an agent reported, as they are recorded: redacted, with the names of the ledger and
// of the cost rows.
#pragma once

#include <string>

#include "base/error.h"
#include "executor/executor.h"
#include "store/store.h"

namespace pawl::executor {

// The id of an episode of an attempt. A resumed attempt keeps its episodes; a new attempt opens others. The
// only episode (0) has the attempt's id; each of several has an id of its own.
std::string episode_id(const std::string& attempt_id, std::int64_t episode);
agent::EpisodeKey episode_of(const store::Claim& claim, std::int64_t episode);

// The reporter: an agent's step, and the episode whose events it reported.
struct Reporter {
  agent::EpisodeKey key;
  std::string workflow_id, attempt_id, sandbox_run_id;
};
Reporter reporter_of(const store::Claim& claim, const store::StepStart& step);
// All events and usage after `seq`.
Result<store::Reported> reported_since(const World& world, const Reporter& reporter, std::int64_t seq);

// Reports what an agent's abandoned step printed of its use, for a program that prints it (StepEnder::report_usage).
// `same_boot`: as there. Its usage is then in reported_since().
Status report_printed_usage(const World& world, const store::Claim& claim, const plan::Phase& phase,
                            const store::StepStart& step, bool same_boot);

// Ends for good the steps that operators ended, and records the reports of their agents until then. Idempotent: after
// a crash, or beside another caller, each step is settled once. A step that cannot be settled (its agent's data
// cannot be read) stays unsettled and does not block the others. Returns the first error.
Status settle_ended_steps(const World& world);
// The same, but an error only goes to the observer: no work waits for the usage of another phase's agent.
void settle_or_report(const World& world, Observer& observer);

// Whether the run's budget, not the limit of the attempt, ended an agent's step. `seq`: as for reported_since().
Result<bool> budget_is_spent(const World& world, const store::Claim& claim, const sandbox::SandboxRun& run,
                             const store::StepStart& step, std::int64_t seq);

// The event for a step whose requests could not all be saved. No value: all were saved.
std::optional<store::Reported::Event> unsaved_event(const sandbox::SandboxRun& run, const plan::Phase& phase);
// Success: such an agent can continue. kExhausted: the disk is still full, so no execution and no money is spent.
Status check_room(const World& world, const store::Claim& claim, const sandbox::SandboxRun& run);

// The facts and caps for the agent of a claim, for its socket.
agent::Context agent_of(const store::Claim& claim, const plan::Phase& phase, std::int64_t episode,
                        const store::Begun& begun, const agent::Spent& spent);

}  // namespace pawl::executor
