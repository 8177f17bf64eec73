// Decides what to do with a step that ran without this executor, or that lost its result: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "executor/steps.h"
#include "plan/plan.h"
#include "store/store.h"
#include "supervisor/step_runner.h"

namespace pawl::executor {

enum class Recovery {
  kReattach,   // wait for the supervisor
  kAdopt,      // record the spooled result
  kReExecute,  // a new marker, one more execution
  kSkip,       // the attempt is counted as lost
  kEscalate,   // a person decides
  kCrashLoop,  // no execution is left: the attempt failed
  kProbe,      // run the plan's probe; after_probe() decides then
  kCancelled,  // with several episodes: an earlier episode decides
  kProbed,     // the probe found the effect: the step counts as done
  kContinue,   // as kReExecute, in the workspace and HOME of the lost execution
  kWait,       // its provider refused the agent: the step runs again later, and no execution is spent
};

// kLimited, kUnauthorized: the provider refused the agent, and no wait is left.
enum class LostOutcome { kLost, kCrashLoop, kLimited, kUnauthorized };
std::string_view name(LostOutcome outcome);  // lost, crash_loop, limited, unauthorized

// Why an episode ended early, without results. It becomes a signal of the kind of the step that was lost.
struct LostStep {
  std::string gate_id;
  LostOutcome outcome = LostOutcome::kLost;
  bool escalate = false;
};

// The policy for a step whose result is lost. The plan decides for an agent. The steps of gates and hooks
// change no state outside, and run again.
plan::ResumePolicy policy_of(StepRole role, const plan::Phase& phase);

// Decides about an open marker. `execution`: the marker's, without the executions that waited (also below).
Recovery decide_recovery(supervisor::Found found, plan::ResumePolicy policy, std::int64_t execution);

// Whether SIGKILL ended a step: then its progress is unknown. A shell around the command reports the signal
// in its exit code.
bool was_killed(const sandbox::SandboxRun& run);

// Whether a signal ended an agent that may have another execution in the same attempt. Then continues()
// decides.
bool may_continue(const sandbox::SandboxRun& run, const PlannedStep& step, const plan::Phase& phase,
                  std::int64_t execution);
// Whether the agent was stopped because its data could not be saved (`durable` in the plan).
bool was_stopped_unsaved(const sandbox::SandboxRun& run, const plan::Phase& phase);
// Whether the agent continues in another execution: its own progress did not end it, and it has stored state.
struct Ended {
  bool killed = false;           // was_killed()
  bool budget_is_spent = false;  // the budget of the run
  bool stopped_unsaved = false;  // was_stopped_unsaved()
  bool has_state = false;        // from which it can continue
};
bool continues(const Ended& ended);

// Whether the command with which a program goes on in its session failed at once: it changed no file of the work
// `goes_on_from`. The execution before may have ended before the program had a session. No value: it began anew.
bool may_lack_session(const sandbox::SandboxRun& run, const plan::Phase& phase,
                      const std::optional<std::string>& goes_on_from);

// Whether two owners of leases (or of attempts) ran in the same boot of one machine; false when it is
// unknown.
bool of_one_boot(std::string_view owner, std::string_view other);

// The response of a probe, or its replacement. A step without any sign that it began did not happen. After a
// reboot since its marker that is unknown, because unwritten data was lost: no value.
std::optional<std::int64_t> answer_of(const supervisor::Salvage& salvaged, bool same_boot);

// `exit_code` of the probe; no value when the probe could not respond.
Recovery after_probe(std::optional<std::int64_t> exit_code, std::int64_t execution);

// The work that is kept of a step that is to be continued. `found`: the result of StepEnder::keep_work(). `before`:
// the work from which the step itself continued. A step that never began left it unchanged.
supervisor::KeptWork kept_by(supervisor::KeptWork found, const std::optional<std::string>& before,
                             bool same_boot);
// Returns kContinue, or kReExecute when no work is kept.
Recovery after_keeping(const supervisor::KeptWork& kept);
// Decides about a step whose agent was refused. `wait`: wait_after() (refused.h); when none is left, a person decides.
// Returns kWait or kEscalate.
Recovery after_refusal(const std::optional<store::Wait>& wait);
// Whether the phase's agent runs again after a killed, stopped or refused execution.
bool runs_again(const plan::Phase& phase);

// Whether an agent or a gate has no result for good: its episode ends with lost_by().
bool ends_episode(Recovery recovery);
LostStep lost_by(Recovery recovery, store::RecoveryFound found, const std::string& gate_id);

// The decision in the ledger's row `resume` of a recovery. REQUIRES: not kProbe, because its answer is recorded
// instead.
store::RecoveryDecision decision_of(Recovery recovery);
// The finding about a step without a result. `error`: the error of StepRunner::collect().
store::RecoveryFound found_without_result(const Error& error);
// The decision that closed a marker, from a row's word and execution. No value: an unknown word.
std::optional<Recovery> recorded_recovery(std::string_view decision, std::int64_t execution);

}  // namespace pawl::executor
