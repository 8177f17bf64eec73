// The verbs that change the state of runs, with the values that they take and return. store/store.h has their common
// promises: one transaction each, fences, kinds of errors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/time.h"
#include "store/rows.h"

namespace pawl::store {

constexpr std::int64_t kExecutionsPerStepMax = 3;  // per step; then its attempt fails (crash_loop)

// The most waits of one attempt for the provider of a model, and the most time that they take together. Beyond
// them a person decides. They also bound an agent that only claims to be refused. Providers have windows of at
// most a week.
constexpr std::int64_t kWaitsPerAttemptMax = 100;
constexpr std::int64_t kWaitedMsPerAttemptMax = 30LL * 24 * 3600 * 1000;

// Limits of doctor calls. CHECKs of the schema enforce them, too.
constexpr std::int64_t kDoctorCallsOfPhaseMax = 2, kDoctorCallsOfRunMax = 10;

struct Operator {
  std::int64_t uid = 0;
  std::string reason;
  // As in AttemptEnd. Only a verb that ends running steps needs it.
  std::string isolation_class = {};
};

struct Fork {
  ForkPoint from;
  bool same_plan = true;  // true: the goal that a replanner had set at that point stays
  Operator who;
};

// The parts of a plan. A claim reads two: `common`, and the row of its phase. The caller derives the parts from
// the plan's text, and can derive them again at any time. The store reads only source_folder_of() in them.
struct PlanRows {
  std::string common;  // the part of the plan that belongs to no phase
  struct OfPhase {
    std::int64_t tier_index = 0, phase_index = 0;
    std::string row;
  };
  std::vector<OfPhase> phases;
};

struct NewRun {
  RunRow run;
  std::vector<TierRow> tiers;
  std::vector<PhaseRow> phases;  // the store sets state, counters and lease
  std::string plan_text;         // as it was read; the plan of a run never changes
  PlanRows plan;                 // empty: made at the first claim (ClaimResult::unplanned)
  std::optional<std::int64_t> sandbox_ms_cap, tokens_cap, usd_nanos_cap;
  std::optional<Fork> fork;
};

struct Lease {
  std::string run_id, phase_id, owner;
  std::int64_t fence = 0;
  std::string expires_at;
};

struct Claim;

struct ClaimRequest {
  std::vector<std::string> run_ids;  // empty: any open run
  std::string owner;                 // os::to_text(identity) plus "/worker"
  WallTime now;
  MonoTime mono;        // by the clock that mono_id names; it decides for leases of that clock
  std::string mono_id;  // os::Clock::mono_id(); "" when the host has none
  std::int64_t lease_ms = 30'000;
  // True: the owner of a live lease is known to be dead (this host, boot id, pid, start time).
  std::function<bool(std::string_view owner)> owner_is_dead;
  // Returns PAWL_MODEL of a new attempt. `number`: its level of escalation, from 1. `claim` has only its members
  // run, planned and common. The result depends only on these two arguments. This function and has_common are
  // called inside the transaction, by any thread while the caller waits for it. They must not call the store.
  std::function<std::string(const Claim& claim, std::int64_t number)> model_of_attempt;
  // True: the caller has PlanRows::common of that run. Then Claim::common is "", also in the callback above.
  std::function<bool(const std::string& run_id)> has_common;
};

// The waits of an attempt, by its rows.
struct WaitsSoFar {
  std::int64_t count = 0, waited_ms = 0;
  std::int64_t backoffs = 0;  // the waits for which no time was named
};

// The layers from which an agent continues, by sandbox_run_id of its step. For an open step: the layer on which
// it started. No value: it began anew, whatever was left before it. For a lost step: the layer on which its next
// execution starts.
using KeptLayers = std::map<std::string, std::optional<std::string>>;

// The end of the agent in an ended attempt with one episode, by rows.
struct AgentEnd {
  std::string outcome, layer;  // as in the row `executed`
  std::int64_t exit_code = -1;
  std::string began_on;  // the previous attempt's layer from which the agent continued; "": it began anew
};

struct Claim {
  Lease lease;
  RunRow run;
  PhaseRow phase;                      // after the claim
  AttemptRow attempt;                  // reserved now, or the unfinished attempt
  bool continued = false;              // the attempt was unfinished: a crash, or an executor that left
  std::vector<StepRow> steps;          // the attempt's, by step_index, execution
  WaitsSoFar waits;                    // the attempt's
  KeptLayers kept;                     // the attempt's
  std::optional<AttemptRow> previous;  // newest finished attempt of this phase, for feedback
  // The agent of `previous`, by checked rows; no value: it has no result.
  std::optional<AgentEnd> previous_agent;
  std::string revised_goal;     // a replanner's goal, instead of the plan's; "" when none
  std::string planned, common;  // plan rows: the row of the phase, and PlanRows::common
  // Store::base_layers() of the attempt and of judged_on(attempt), checked against the ledger's rows.
  std::vector<std::string> layers, judged_layers;
};

// Why no phase could be claimed. Ordered: when several phases differ, the largest value is reported.
enum class NotClaimable {
  kAllTerminal,  // every phase of every requested run is terminal
  kStalled,      // not terminal and without an attempt left, by an older version: no event can move it
  kPerson,       // a provider refused the agent's credential: a person lets it go on
  kBudget,       // the budget is spent: only a person can raise it
  kNotBefore,    // a phase may not start yet: try later
  kReserved,     // open steps reserve the rest of the budget: try later
  kLeased,       // another worker holds the phase: try later
};

// True: a worker holds the phase: its lease has not run out, and the owner is not known to be dead. A jump of
// the wall clock has no effect between processes that share a monotonic clock.
bool lease_is_live(const PhaseRow& phase, const ClaimRequest& request);

// The phase that claim() would take, or the reason to take none.
struct Candidate {
  std::optional<PhaseRow> phase;
  NotClaimable not_claimable = NotClaimable::kAllTerminal;  // this and the rest: only without a phase
  std::optional<PhaseRow> waited_for;                       // the phase that `not_claimable` is about
  std::string waits_for;                                    // one sentence for people
};

struct ClaimResult {
  std::optional<Claim> claim;
  // The run of the phase that claim() would take, when that run has no plan rows: an older version made it.
  // The claim had no effect. Call put_plan(), then claim again.
  std::string unplanned;
  NotClaimable not_claimable = NotClaimable::kAllTerminal;  // only without a claim
  std::string waits_for;                                    // one sentence for people
};

// The counter that the marker of a step's first execution raises. The call is counted before its response is
// known, because it costs money in any case.
enum class Counted {
  kNothing,
  kDoctorCall,  // doctor_calls of the phase and of the run
  kReplan,      // replans of the phase
};

struct StepStart {  // the marker
  std::string sandbox_run_id;
  std::int64_t step_index = 0;
  std::string gate_id, step_name, label;
  std::string sandbox_spec_hash;
  std::int64_t execution = 1;
  std::int64_t waits = 0;    // earlier executions of the step that ended in a wait
  std::int64_t episode = 0;  // number of its episode (best_of); an episode has at most one open marker
  Counted counted = Counted::kNothing;
  std::int64_t reserved_ms = 0;  // the longest it may run; reserved until its end
  // True for an agent: reserves the rest of the run's tokens and money, at most the amounts below.
  bool spends = false;
  std::optional<std::int64_t> tokens_most, usd_nanos_most;
  std::int64_t shares = 1;  // the rest is divided by this; one share is for this step
  // The layer of the previous attempt's work from which an agent continues; "" when that work changed no file.
  std::optional<std::string> previous_layer = {};
  std::string not_continued = {};  // the missing part of that work, when the agent begins anew instead
  // True: other steps of the phase run. Then the lease stays, even when the budget is used up.
  bool others_run = false;

  std::int64_t spent_executions() const { return execution - waits; }
};

struct Begun {
  // False: the budget is used up. The ends are recorded, and no marker is written. Without others_run, the phase is
  // given back, and continues when the cap is raised.
  bool started = true;
  std::vector<BudgetRow> warnings;  // budgets that the ended steps took past kWarnedPercent of their caps
  // Limits of a step that spends; absent: not limited.
  std::optional<std::int64_t> tokens, usd_nanos;
};
constexpr std::int64_t kWarnedPercent = 80;

// The reports of an agent after the newest report that a row has (told_seq). They are recorded once, with the
// end of the step.
struct Reported {
  struct Event {
    std::string event, at;
    Json details;  // an object
  };
  struct Usage {
    std::int64_t told_seq = 0;
    std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0, usd_nanos = 0;
    bool is_unknown = false;  // the amount is unknown, and the members above are 0
    std::string line;         // for cost/agent.jsonl
  };
  std::int64_t last_seq = 0;  // the newest report; 0: no report
  std::vector<Event> events;  // rows `agent`
  std::vector<Usage> usage;   // one row `usage` with their sum and hash
};

struct StepEnd {  // the result of an open step
  std::string sandbox_run_id;
  std::string run;  // SandboxRun as canonical JSON. The row `executed` has the members below.
  std::string outcome, layer;
  std::int64_t exit_code = -1, duration_ms = 0;
  std::string cost_row;     // the line for cost/sandbox.jsonl
  std::string agent_layer;  // for an agent's step: becomes the attempt's
  Reported reported;        // for an agent's step
};

// The sources of a wait: who decides how long it is.
constexpr char kWaitOfProvider[] = "provider", kWaitOfBackoff[] = "backoff", kWaitOfPerson[] = "person";

// A wait for the provider that refused an agent. The step spends no execution, and its attempt goes on.
struct Wait {
  std::int64_t number = 1;        // counts the attempt's waits, from 1
  std::string provider, message;  // for people: redacted, one line
  std::string credential;         // refused; for people: its sources in the plan; "": the plan names none
  std::int64_t status = 0;        // HTTP; 0: unknown
  std::string reset;              // the end of the limit as the provider named it; "" when it did not
  std::string source;             // the source of not_before: one of the three above
  std::string not_before;         // kUntilAPerson: a person lets it go on
  std::int64_t delay_ms = 0;      // from the end of the step to not_before; 0 for a person
};

struct ResumeDecision {  // the decision about an open marker that a claim found
  std::string sandbox_run_id, label;
  RecoveryFound found = RecoveryFound::kNothing;
  RecoveryDecision decision = RecoveryDecision::kReExecute;
  std::string lost_cost_row;  // cost row of a step that is given up; the step ends as lost
  std::optional<Wait> wait;   // set for kWait only
  // With kContinue, and perhaps with kWait: the layer from which the agent's next execution continues; "" when the
  // work changed no file.
  std::optional<std::string> kept_layer = {};
  std::string not_continued = {};  // kReExecute instead of kContinue: the part that was missing
  Reported reported;               // for an agent's step that was lost
  // True: settle_usage() records the usage later. Reservations of tokens and money stay until then.
  bool unsettled = false;
};

// The ends of steps that are not recorded yet.
struct Endings {
  std::optional<StepEnd> result;         // the result of the step that ended
  std::optional<ResumeDecision> resume;  // closes a step that was lost
};

// A step with unsettled usage: an operator, or a doctor that aborted the run, ended it. Its agent can report
// usage until the step's process is gone.
struct Unsettled {
  StepRow step;
  std::int64_t told_seq = 0;  // later reports are not recorded yet
};

// The decision of a hook about a phase whose attempt failed.
enum class Action {
  kNone,        // the verdict decides; a hint is part of the feedback
  kReplan,      // a new revision with another goal: attempts_used = 0, all other counters stay
  kSkipPhase,   // SKIPPED
  kMarkFailed,  // FAILED, failed_unrecoverable
  kAbortRun,    // kMarkFailed, and every other phase that is not terminal is CANCELLED
};

// The response of a doctor or a replanner. Each response becomes one ledger row, also when it was not understood.
struct Advice {
  std::string hook;  // doctor | replan
  std::string sandbox_run_id;
  bool understood = false;  // false: it is counted and has no effect
  DoctorAction action = DoctorAction::kNone;
  std::string hint;    // from a doctor
  std::string reason;  // from either
  std::string goal;    // from a replanner
};

struct AttemptEnd {
  AttemptVerdict verdict = AttemptVerdict::kUnfinished;  // for finish(): not kUnfinished, not kCancelled
  std::string signals = "[]";                            // an array, as canonical JSON
  std::vector<std::string> failing_signals;
  std::string failure;         // digest of the failure and the model (gates::failure_digest); "" when passed
  std::string summary;         // UTF-8, at most 4096 bytes
  Json feedback;               // object; null when passed
  std::string reason;          // last_failure_reason: one line; "" when passed
  std::string accepted_layer;  // a passed attempt's: becomes part of the run ("" without changes)
  // The caller compared accepted_layer with all layers accepted up to this merge_seq. None overlaps it
  // (store/overlap.h).
  std::int64_t looked_up_to = 0;
  std::string build;        // Pawl's version
  std::string inventories;  // BLAKE3 of the base's inventories, by gate; "" when none was compared
  // When the next attempt may start, by the wall clock; "": at once. It is ignored while the wall clock shows a
  // time before the start of the last attempt, because the clock was set back.
  std::string not_before;
  std::vector<Advice> advice;
  Action action = Action::kNone;     // set for a failed attempt only
  std::string isolation_class;       // the backend's, for cost rows of steps that kAbortRun ends
  std::string goal;                  // for kReplan
  std::string action_reason;         // one line; for all but kNone
  std::vector<EpisodeRow> episodes;  // each of several episodes; part of the ledger row `attempt`
  // The layer with the agent's work; with several episodes, that of the chosen episode. Absent: the layer that the
  // end of the agent's step set stays.
  std::optional<std::string> agent_layer;
};

// True: two layers touch the same path. Must be pure.
using Overlaps = std::function<bool(const std::string& layer, const std::string& other)>;

struct Finished {
  PhaseState state;  // after the verb
  PhaseOutcome outcome;
  bool run_ended = false;
  std::vector<std::string> ended_steps;  // kAbortRun cancelled their phases; their supervisors still run
  std::vector<BudgetRow> warnings;       // as in Begun
  // Set: the layer of the passed attempt overlaps this layer, which was accepted meanwhile: another phase passed,
  // or an operator approved its work. The verb had no effect, and the caller decides again.
  std::optional<LayerRow> overlapping;
  // True: work was accepted that the gates of the passed attempt did not see. The verb had no effect. Call
  // judge_again().
  bool behind = false;
};

// A round that judges a passed attempt again, on top of the layers accepted meanwhile.
struct JudgedAgain {
  AttemptRow attempt;               // as the round left it
  std::vector<std::string> layers;  // as Claim::judged_layers
  std::vector<BudgetRow> warnings;  // as in Begun
};

// The work that an operator approves. It is from the newest attempt of a phase that ended without accepted work.
struct Approved {
  std::string phase_id, attempt_id;
  std::string layer;  // becomes part of the run; "" without changes
};

class Verbs {
 public:
  virtual ~Verbs() = default;

  // --- the life of a run
  // Rows: run_started in the run's chain, with a fork also `forked`. A fork takes over the phases before its
  // point, with their state and layers, and with counters at 0. The attempt before the point is Claim::previous of
  // the first attempt of the point's phase. The other run is only read. kInvalid: the two runs have different
  // phases before the point. Also kInvalid: such a phase is open, or its end stopped the other run. kNotFound: the
  // point does not exist.
  virtual Status create_run(const NewRun& run, WallTime now) = 0;

  // Writes the plan rows of a run that has none; idempotent. Existing rows stay.
  virtual Status put_plan(const std::string& run_id, const PlanRows& plan) = 0;

  // 1. Takes the first phase that may run now, by tier_index, phase_index. When the phase has an unfinished
  //    attempt, the claim continues it. Otherwise the claim reserves a new attempt before any step runs:
  //    attempts_used + 1, attempts_total + 1, attempt row. ENSURES: lease.fence is greater than every earlier
  //    fence of the phase.
  virtual Result<ClaimResult> claim(const ClaimRequest& request) = 0;

  // 2. Writes the marker of the next step, and records the endings. Rows: [executed], [resume], pre_execute.
  //    First the ended steps are settled against the budgets, then the new step reserves its part. A lost step
  //    costs the time since its marker, at most its reservation. Tokens and money cost as reported. A run exceeds
  //    its cap by less than one reservation, or by the amount that an agent spends before it ends. kExhausted: no
  //    execution, wait or doctor call is left.
  virtual Result<Begun> begin_step(const Lease& lease, const StepStart& start, const Endings& endings,
                                   WallTime now) = 0;
  // Records the endings without a marker, while other episodes of the attempt run. Returns the budgets that
  // pass kWarnedPercent now. Rows: [executed], [resume].
  virtual Result<std::vector<BudgetRow>> end_step(const Lease& lease, const Endings& endings,
                                                  WallTime now) = 0;
  // Records the endings and gives the phase back. Its attempt goes on at `not_before`; with kUntilAPerson, when a
  // person says so. Rows: [executed], [resume], for a wait also `waited`. Signs the head. kExhausted: the attempt
  // has no wait left.
  virtual Status wait(const Lease& lease, const Endings& endings, const std::string& not_before,
                      WallTime now) = 0;
  // Records the decisions reattach and adopt. Row: resume.
  virtual Status note_resume(const Lease& lease, const ResumeDecision& resume, WallTime now) = 0;

  // 3. Ends the attempt: records the endings, the signals, the cost and the state of the phase, and seals. When no
  //    phase is open any more, it also ends the run. After kFailedRetryable with Action::kNone, the phase stays
  //    EXECUTING without a lease while an attempt is left; otherwise it becomes FAILED. A phase that becomes FAILED
  //    in a tier with on_failure stop makes every QUEUED phase SKIPPED ("stopped: <phase> failed"). Rows:
  //    [executed], [resume], attempt. Rows in the run's chain: phase_sealed for each phase that ended, run_sealed
  //    when the run ended. Signs the head. No effect when Finished::overlapping or Finished::behind is set.
  virtual Result<Finished> finish(const Lease& lease, const Endings& endings, const AttemptEnd& end,
                                  const Overlaps& overlaps, WallTime now) = 0;

  // Begins a round, after Finished::behind. From then on judged_on() of the attempt has all work accepted so far.
  // Rows: [executed], [resume], judged_again. Signs the head.
  virtual Result<JudgedAgain> judge_again(const Lease& lease, const Endings& endings, WallTime now) = 0;

  // True: the lease is still valid. Reads only, cheap enough to ask often.
  virtual Result<bool> holds(const Lease& lease) = 0;
  // Extends the lease. kConflict: it is lost; stop working.
  virtual Status heartbeat(const Lease& lease, WallTime now, MonoTime mono, std::int64_t lease_ms) = 0;
  // Gives the phase back as it is. A lost lease is not an error.
  virtual Status release(const Lease& lease) = 0;

  // --- operators: guarded transitions. Each writes a ledger row `operator`: in the chain of the phase, or in the
  // run's chain for a change of the run. An empty `phase_id` means every phase that the event can apply to. The
  // result has the phases that changed. kInvalid: the event applies to none of them; the message says why.

  // FAILED, SKIPPED or CANCELLED -> QUEUED with attempts_used 0 and one more revision; attempts_total stays.
  // Phases that were SKIPPED because this one failed come back, too. The run opens again.
  virtual Result<std::vector<std::string>> operator_retry(const std::string& run_id,
                                                          const std::string& phase_id, const Operator& who,
                                                          WallTime now) = 0;
  // QUEUED, EXECUTING or FAILED -> SKIPPED. With a `phase_id` of a FAILED phase, the phases that were SKIPPED
  // because it failed are QUEUED again. The result has them after this phase.
  virtual Result<std::vector<std::string>> operator_skip(const std::string& run_id,
                                                         const std::string& phase_id, const Operator& who,
                                                         WallTime now) = 0;
  // Not terminal -> CANCELLED. The lease ends, so a late result is refused.
  virtual Result<std::vector<std::string>> operator_cancel(const std::string& run_id,
                                                           const std::string& phase_id, const Operator& who,
                                                           WallTime now) = 0;
  // FAILED, SKIPPED or CANCELLED -> COMPLETE, approved, with that layer. Phases that were SKIPPED because
  // this one failed are QUEUED again, and the run goes on. kConflict: a newer attempt finished, or a layer
  // that was accepted since overlaps. kNotFound: the agent's work was lost.
  virtual Result<std::vector<std::string>> operator_approve(const std::string& run_id, const Approved& what,
                                                            const Overlaps& overlaps, const Operator& who,
                                                            WallTime now) = 0;
  // Sets max_attempts of every phase that is not terminal (--max-attempts with --operator-ack). A phase that has
  // used more attempts gets that number as its limit. A phase between two attempts that has no attempt left
  // becomes FAILED, escalate.
  virtual Status operator_max_attempts(const std::string& run_id, std::int64_t max_attempts,
                                       const Operator& who, WallTime now) = 0;

  // Ends the wait of every phase that waits for a time or for a person, between steps or between attempts. Returns
  // these phases; an empty list is not an error. Row: operator, in the chain of each.
  virtual Result<std::vector<std::string>> operator_go_on(const std::string& run_id, const Operator& who,
                                                          WallTime now) = 0;

  // Sets the cap of `unit`. With a cap below the amount spent, no step starts any more. Row: operator, in the run's
  // chain. kInvalid: the run has ended.
  virtual Status operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                                 const Operator& who, WallTime now) = 0;

  // Compares the ends of the run and of its phases with the signed rows. Makes no change. kForged: they differ.
  virtual Status check_run(const std::string& run_id) = 0;

  // Records what the agent of `unsettled` reported and settles its reservations. The chain of an ended phase is
  // opened for the rows and sealed again. REQUIRES: the step's process is gone, `reported` has all reports
  // after unsettled.told_seq. No effect when the usage is settled already.
  virtual Status settle_usage(const Unsettled& unsettled, const Reported& reported, WallTime now) = 0;

  // Stores a text about a gate on the base, with a signature, for Reader::inventory().
  virtual Status put_inventory(const std::string& key, const std::string& text) = 0;
};

}  // namespace pawl::store
