// The rows of the store as values. Columns, JSON keys and C++ members have the same names. Times are RFC 3339
// text (base/time.h), "" when absent. Ids are text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::store {

enum class PhaseState { kQueued, kExecuting, kComplete, kFailed, kSkipped, kCancelled };
// kApproved: an operator accepted work that the gates did not pass.
enum class PhaseOutcome { kNone, kPassed, kApproved, kEscalate, kFailedUnrecoverable, kSkipped, kCancelled };
// kUnfinished: the attempt has no end yet. kCancelled: an operator ended it.
enum class AttemptVerdict {
  kUnfinished,
  kPassed,
  kFailedRetryable,
  kFailedUnrecoverable,
  kEscalate,
  kCancelled
};
enum class RunState { kExecuting, kComplete, kFailed, kCancelled };
// The state in which an executor found an open marker, and the decision about its step: the words of the
// ledger's row `resume`. kOperator: the verb of an operator closed the marker.
// kResultRefused: the supervisor of the step did not write the result that is there. kLimited, kUnauthorized:
// the provider of the agent's model refused the agent for now, or refused its credential. kWait: the step runs again
// later.
enum class RecoveryFound {
  kSupervisorAlive,
  kResultSpooled,
  kResultRefused,
  kNothing,
  kOperator,
  kLimited,
  kUnauthorized
};
// kContinue: the step runs again in the workspace and HOME that it left.
enum class RecoveryDecision {
  kReattach,
  kAdopt,
  kReExecute,
  kSkip,
  kEscalate,
  kProbed,
  kCancelled,
  kWait,
  kContinue
};

// The advice of a doctor about a phase whose attempt failed. kNone: its response was not understood.
enum class DoctorAction { kNone, kRetryWithHint, kReplan, kSkipPhase, kMarkFailed, kAbortRun };

std::string_view name(PhaseState state);  // QUEUED, EXECUTING, ...
// "", passed, approved, escalate, failed_unrecoverable, skipped, cancelled
std::string_view name(PhaseOutcome outcome);
std::string_view name(AttemptVerdict verdict);     // "", passed, failed_retryable, ..., cancelled
std::string_view name(RunState state);             // EXECUTING, COMPLETE, FAILED, CANCELLED
std::string_view name(RecoveryFound found);        // supervisor_alive, result_spooled, result_refused, ...
std::string_view name(RecoveryDecision decision);  // reattach, adopt, re_execute, skip, ..., wait
std::string_view name(DoctorAction action);        // "", retry_with_hint, replan, skip_phase, ...
Result<PhaseState> phase_state_from_name(std::string_view name);
Result<PhaseOutcome> phase_outcome_from_name(std::string_view name);
Result<AttemptVerdict> attempt_verdict_from_name(std::string_view name);
Result<RunState> run_state_from_name(std::string_view name);
Result<RecoveryDecision> recovery_decision_from_name(std::string_view name);
Result<DoctorAction> doctor_action_from_name(std::string_view name);  // never kNone
bool is_terminal(PhaseState state);

// phases.not_before of a phase that waits for a person: after all other times.
inline constexpr std::string_view kUntilAPerson = "9999-12-31T23:59:59.999999Z";

struct PhaseRow {  // one row of the table phases
  std::string run_id, phase_id;
  std::int64_t tier_index = 0, phase_index = 0;
  PhaseState state = PhaseState::kQueued;
  PhaseOutcome outcome = PhaseOutcome::kNone;
  std::int64_t attempts_used = 0, max_attempts = 5;
  std::string last_attempt_timestamp, last_failure_reason, not_before;
  std::string lease_owner, lease_expires_at;
  std::int64_t fence = 0, revision = 0, attempts_total = 0;
  std::int64_t escalation_level = 0, doctor_calls = 0, replans = 0;
  // The end of the lease by the monotonic clock that lease_mono_id names, the holder's. lease_mono_id is ""
  // when only lease_expires_at is known.
  std::string lease_mono_id;
  std::int64_t lease_until_mono = 0;  // microseconds
};

struct TierRow {
  std::int64_t tier_index = 0;
  std::string name;
  bool stop_on_failure = true;
  bool parallel = false;
};

struct RunRow {
  std::string run_id, workflow_id;
  RunState state = RunState::kExecuting;
  std::string plan_file;     // path of the plan when the run was made, for people
  std::string plan_content;  // base id of the plan's folder, mounted at /plan
  std::string source_path;   // absolute
  std::string base_id, base_commit;
  std::string backend;  // chosen once, when the run is made
  std::string created_at, ended_at;
  std::int64_t doctor_calls = 0;  // calls of all its phases
};

// One attempt of a phase. `finished` is false from its reservation (claim) to its finish.
struct AttemptRow {
  std::string run_id, phase_id;
  std::string attempt_id;   // "<phase_id>.<number>", unique in the run
  std::int64_t number = 0;  // attempts_total at its reservation; N in labels
  std::int64_t revision = 0;
  std::string model;
  // The base: the layers accepted up to this merge_seq. Without `base_has_own_tier`, the layers of its own
  // tier and of later tiers are left out. Fixed at the reservation. Accepted layers never change, so
  // Store::base_layers() can list them at any time.
  std::int64_t base_merge_seq = 0;
  bool base_has_own_tier = false;
  std::string agent_layer;  // the agent's changes; "" before its end or without any
  std::string started_at, ended_at;
  bool finished = false;
  // finish() sets the members from here to `build`; the claim sets `executor`, too.
  AttemptVerdict verdict = AttemptVerdict::kUnfinished;
  std::string signals;  // canonical JSON array
  std::vector<std::string> failing_signals;
  std::string summary;   // at most 4096 bytes
  std::string feedback;  // canonical JSON object for the next agent; "" when it passed
  std::string executor, build;
  // The last report of its agent that is written down (executor/reported.h).
  std::int64_t told_seq = 0;
  // The newest round (from 1) that judges it again, on the layers accepted up to joined_merge_seq. 0: judged
  // only on the base of its agent.
  std::int64_t joined_round = 0, joined_merge_seq = 0;
  // BLAKE3 of the failure (gates/failure.h); "" when the attempt passed or the caller gave none.
  std::string failure;
};

// The attempt with the base that its gates see in its newest round, instead of the base of its agent.
AttemptRow judged_on(AttemptRow attempt);
// The source's folder by PlanRows::common; the store reads no other member of it. "": an older version made the row,
// without the folder.
std::string source_folder_of(const std::string& common);
// BLAKE3 of the canonical JSON array that holds the base's id and the accepted layers that the gates saw, in
// the order of Store::base_layers().
std::string stack_hash(const std::string& base_id, const std::vector<std::string>& layers);

enum class StepState { kOpen, kDone, kLost };
std::string_view name(StepState state);  // open, done, lost

// The result of one episode of an attempt that has several (best_of).
struct EpisodeRow {
  std::string attempt_id;
  std::int64_t episode = 1;
  // passed | failed | lost (by a crash) | cancelled, not_run (another episode had passed)
  std::string outcome;
  std::int64_t gates_passed = 0;
  std::int64_t failing_signals = 0;
  std::optional<std::int64_t> changed_lines;  // lines that it changes, when they were counted
  // Why this episode is the result of the attempt (executor/episode_choice.h); "" for all others.
  std::string kept_by;
};

// Stands for a gate's id in the rows of an agent's step.
inline constexpr std::string_view kAgentGate = "agent";

// The distance between the indices of two rounds: more than an attempt has steps.
inline constexpr std::int64_t kRoundStride = 1'000'000;

// A marker (the row that a step began) and the result of the step.
struct StepRow {
  std::string sandbox_run_id, run_id, phase_id, attempt_id;
  std::int64_t step_index = 0;  // position in the attempt's list of steps (the agent is 0); see kRoundStride
  std::string gate_id;          // gate id, or kAgentGate
  std::string step_name;
  std::string label;
  std::int64_t execution = 1;  // counts the starts of the step; a start that ended in a wait is not spent
  std::string sandbox_spec_hash;
  StepState state = StepState::kOpen;
  std::string started_at, ended_at;
  std::string run;  // canonical JSON of SandboxRun when done, else ""
  // Its reservations of the run's budgets, from its marker to its end.
  std::int64_t reserved_ms = 0, reserved_tokens = 0, reserved_usd_nanos = 0;
  // Number of its episode, from 1 (best_of). 0: the attempt has one episode, or the step belongs to the whole
  // attempt.
  std::int64_t episode = 0;
  // For an ended step with an episode number: the last agent report that is written down, and, when the step
  // was lost, the recovery decision. A step that waits has its decision, whatever its number.
  std::int64_t told_seq = 0;
  std::string decision;
};
// Whether the provider refused the agent of the step, which runs again in a later execution.
bool has_waited(const StepRow& row);

// The units of budgets.
inline constexpr std::string_view kSandboxMs = "sandbox_ms";  // wall time in sandboxes
inline constexpr std::string_view kTokens = "tokens";         // tokens of models, input and output
inline constexpr std::string_view kUsdNanos = "usd_nanos";    // 10^-9 US dollars, as agents report them

// The amounts that a run may spend and has spent of one unit, in whole numbers of the unit. The spent amount
// is a fact; the cap is a policy.
struct BudgetRow {
  std::string unit;
  std::optional<std::int64_t> cap;  // absent: counted but not limited
  std::int64_t spent = 0;
  std::int64_t reserved = 0;  // by open steps, and by unsettled usage
  // Executions of agents that used more than `spent` says, an unknown amount. Only views::budgets_of() counts them.
  std::int64_t unknown = 0;

  bool is_spent() const { return cap && spent >= *cap; }
  // No step may start. While is_spent() is false, the end of an open step may free a part again.
  bool is_used_up() const { return cap && spent + reserved >= *cap; }
};

// For people: the error of a run whose ledger names planned rows that are gone, and its remedy.
inline constexpr std::string_view kPlannedRowsGone =
    "the planned rows of the run are gone, as after `pawl migrate down` below version 11, and its plan's "
    "text alone does not give those that its ledger names: restore the database from a backup, or start a "
    "new run";

// For people: "12.5 of 7200 seconds in sandboxes are spent", and the amount reserved.
std::string budget_text(const BudgetRow& row);

struct LedgerRow {
  std::string chain;     // a phase_id, or "" for the run's chain
  std::int64_t seq = 0;  // from 1
  std::string hash;
  std::string line;  // the whole line without the newline
};

// A commit that was refused because the lease of the caller was lost.
struct RefusalRow {
  std::string phase_id, at, verb, owner;
  std::int64_t fence = 0;  // fence of the lost lease
};

struct Head {  // the newest signed head of a run
  // Canonical JSON: run_id, signed_at, chains: {chain: {rows, head}}, spent: {unit: amount}.
  std::string body;
  std::string public_key, signature;  // hexadecimal; Ed25519 over body
};

// A point in the life of a run: before an attempt of a phase, and after all phases before that phase.
struct ForkPoint {
  std::string run_id, phase_id;
  std::int64_t attempt = 1;
};

struct LayerRow {  // an accepted layer
  std::string phase_id, layer_id;
  std::int64_t merge_seq = 0;  // order of acceptance, from 1
};

}  // namespace pawl::store
