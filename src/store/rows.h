// The rows of the store as values. Column names, JSON keys and C++ names are the same words everywhere.
// Times are RFC 3339 text (base/time.h), "" when absent; ids are text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::store {

enum class PhaseState { kQueued, kExecuting, kComplete, kFailed, kSkipped, kCancelled };
// kApproved: a person took work that the gates did not pass.
enum class PhaseOutcome { kNone, kPassed, kApproved, kEscalate, kFailedUnrecoverable, kSkipped, kCancelled };
enum class RunState { kExecuting, kComplete, kFailed, kCancelled };

std::string_view name(PhaseState state);  // QUEUED, EXECUTING, ...
std::string_view name(
    PhaseOutcome outcome);  // "", passed, approved, escalate, failed_unrecoverable, skipped, cancelled
std::string_view name(RunState state);  // EXECUTING, COMPLETE, FAILED, CANCELLED
Result<PhaseState> phase_state_from_name(std::string_view name);
Result<PhaseOutcome> phase_outcome_from_name(std::string_view name);
Result<RunState> run_state_from_name(std::string_view name);
bool is_terminal(PhaseState state);

struct PhaseRow {  // the columns of design section 3
  std::string run_id, phase_id;
  std::int64_t tier_index = 0, phase_index = 0;
  PhaseState state = PhaseState::kQueued;
  PhaseOutcome outcome = PhaseOutcome::kNone;
  std::int64_t attempts_used = 0, max_attempts = 5;
  std::string last_attempt_timestamp, last_failure_reason, not_before;
  std::string lease_owner, lease_expires_at;
  std::int64_t fence = 0, revision = 0, attempts_total = 0;
  std::int64_t escalation_level = 0, doctor_calls = 0, replans = 0;
  // The lease by the monotonic clock of who holds it; "" when only lease_expires_at is known.
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
  std::string plan_file;     // where it was, for people
  std::string plan_content;  // base id of the plan's folder, mounted at /plan
  std::string source_path;   // absolute
  std::string base_id, base_commit;
  std::string backend;  // picked once
  std::string created_at, ended_at;
  std::int64_t doctor_calls = 0;  // of all its phases
};

// One try. `finished` is false from its reservation (claim) to its finish.
struct AttemptRow {
  std::string run_id, phase_id;
  std::string attempt_id;   // "<phase_id>.<number>", unique in the run
  std::int64_t number = 0;  // = attempts_total when it was reserved; N of labels
  std::int64_t revision = 0;
  std::string model;
  // It works on what was accepted up to there, without its own tier's and later ones' unless
  // `base_has_own_tier`; fixed at the reservation. Which layers these are, Store::base_layers() says: what is
  // accepted never changes.
  std::int64_t base_merge_seq = 0;
  bool base_has_own_tier = false;
  std::string agent_layer;  // what its agent changed; "" before, or when nothing
  std::string started_at, ended_at;
  bool finished = false;
  // of a finished attempt:
  std::string verdict;  // passed | failed_retryable | failed_unrecoverable | escalate | cancelled
  std::string signals;  // canonical JSON array
  std::vector<std::string> failing_signals;
  std::string summary;   // at most 4096 bytes
  std::string feedback;  // canonical JSON object for the next agent; "" when it passed
  std::string executor, build;
  std::int64_t told_seq = 0;  // how far what its agent told is written down (told.h)
  // Judged again on what was accepted up to there, in that round (from 1); 0: on what its agent worked on.
  std::int64_t joined_round = 0, joined_merge_seq = 0;
  std::string failure;  // BLAKE3 of what failed (gates/failure.h); "" when nothing did, or nobody said
};

// The attempt with the base that its gates see: on which it is judged, in its newest round.
AttemptRow judged_on(AttemptRow attempt);
// BLAKE3 of the canonical JSON array of the base's id and of the accepted layers that the gates saw, in the
// order of Store::base_layers().
std::string stack_hash(const std::string& base_id, const std::vector<std::string>& layers);

enum class StepState { kOpen, kDone, kLost };
std::string_view name(StepState state);  // open, done, lost

// What became of one of several tries of an attempt (best_of).
struct EpisodeRow {
  std::string attempt_id;
  std::int64_t episode = 1;
  // passed | failed | lost (by a crash) | cancelled (another one had passed) | not_run (for the same reason)
  std::string outcome;
  std::int64_t gates_passed = 0;
  std::int64_t failing_signals = 0;
  std::optional<std::int64_t> changed_lines;  // where it was compared
  std::string kept_by;  // why it is the one that counts (executor/episode_choice.h); "" of the others
};

inline constexpr std::string_view kAgentGate =
    "agent";  // what stands for a gate's id in rows of an agent's step

// A marker and what became of it.
struct StepRow {
  std::string sandbox_run_id, run_id, phase_id, attempt_id;
  std::int64_t step_index = 0;  // position in the attempt's list of steps (the agent is 0)
  std::string gate_id;          // the gate, or kAgentGate
  std::string step_name;
  std::string label;
  std::int64_t execution = 1;  // 1..3
  std::string sandbox_spec_hash;
  StepState state = StepState::kOpen;
  std::string started_at, ended_at;
  std::string run;  // canonical JSON of SandboxRun when done, else ""
  // Of the run's budgets, from its marker to its end.
  std::int64_t reserved_ms = 0, reserved_tokens = 0, reserved_usd_nanos = 0;
  std::int64_t episode = 0;  // of several (best_of), from 1; 0: the only one, or a step of the whole attempt
  // Of an episode's step that ended: how far what its agent told is written down, and, when it was lost, what
  // was decided.
  std::int64_t told_seq = 0;
  std::string decision;
};

// The units of budgets.
inline constexpr std::string_view kSandboxMs = "sandbox_ms";  // wall time in sandboxes
inline constexpr std::string_view kTokens = "tokens";         // of models, in and out
inline constexpr std::string_view kUsdNanos = "usd_nanos";    // money, as agents told it

// What a run may spend of one unit and has spent, in whole numbers of the unit. Spent is data, the cap is
// policy.
struct BudgetRow {
  std::string unit;
  std::optional<std::int64_t> cap;  // absent: counted, not limited
  std::int64_t spent = 0;
  std::int64_t reserved = 0;  // by the steps that are open

  bool is_spent() const { return cap && spent >= *cap; }
  // Nothing more may start. With is_spent() false, a step that ends may give some of it back.
  bool is_used_up() const { return cap && spent + reserved >= *cap; }
};

// "12.5 of 7200 seconds in sandboxes are spent", and what is reserved.
std::string budget_text(const BudgetRow& row);

struct LedgerRow {
  std::string chain;     // a phase_id, or "" for the run's chain
  std::int64_t seq = 0;  // from 1
  std::string hash;
  std::string line;  // the whole line without the newline
};

// What the holder of a lease that was lost wanted to commit, and did not.
struct RefusalRow {
  std::string phase_id, at, verb, owner;
  std::int64_t fence = 0;  // of the lost lease
};

struct Head {                         // the newest signed head of a run
  std::string body;                   // canonical JSON: run_id, signed_at, chains: {chain: {rows, head}}
  std::string public_key, signature;  // hexadecimal; Ed25519 over body
};

struct LayerRow {  // an accepted layer
  std::string phase_id, layer_id;
  std::int64_t merge_seq = 0;  // order of acceptance, from 1
};

}  // namespace pawl::store
