// The one truth: runs, phases, attempts, markers, ledger, cost. The room's door.
//
// Verbs are named for what happens, and each is ONE transaction: all of it is durable when the verb returns,
// or nothing happened (kIndeterminate: ask again, by reading). Every verb that a lease holder calls checks
// the lease's fence: kConflict means that somebody else holds the phase now (or it is terminal) and nothing
// was written, but that begin_step, note_resume and finish say so in a row of the refusals. Ledger rows are
// appended inside these transactions, sealed by a RowSealer, so that state and evidence can't differ. Other
// errors: kForged (the tables are not what the ledger's rows say, or these are not what was signed: nothing
// happened), kUnavailable (busy for too long: nothing happened), kExhausted (disk full: nothing happened),
// kDenied (read-only), kCorrupt (not a database, or contradicting itself), kInvalid (illegal transition).
//
// Thread safety: one Store object is for one thread; any number of threads and processes may each open their
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_members.h"
#include "base/time.h"
#include "store/rows.h"

namespace pawl::store {

constexpr std::int64_t kExecutionsPerStepMax = 3;  // markers of a step; then its attempt failed (crash_loop)

// Calls of the doctor; CHECKs of the schema hold them, too.
constexpr std::int64_t kDoctorCallsOfPhaseMax = 2, kDoctorCallsOfRunMax = 10;

// Turns a row's content into its line. The ledger room implements it; see ledger/ledger.h.
class RowSealer {  // thread-safe
 public:
  virtual ~RowSealer() = default;
  struct Sealed {
    std::string line, hash;
  };
  // `content` has no seq, at, prev_hash, hash: they are added here.
  virtual Sealed seal(JsonMembers content, std::int64_t seq, WallTime at,
                      std::string_view prev_hash) const = 0;
  // Signs a head's body, or another text that can't be one (ledger/dsse.h).
  virtual Head sign(std::string body) const = 0;
  virtual const std::string& public_key() const = 0;  // hexadecimal
  // Whether it was this sealer's key that signed it.
  virtual bool has_signed(const Head& head) const = 0;
  // Whether `row` is as it was sealed, with its seq and hash, after a row with the hash `prev_hash`.
  virtual bool continues(const LedgerRow& row, std::string_view prev_hash) const = 0;
  // Whether a row of this kind may be there before a head covers it. All others come with their signature.
  virtual bool may_be_unsigned(const LedgerRow& row) const = 0;
};

struct Operator {
  std::int64_t uid = 0;
  std::string reason;
};

// A point in the life of a run: before an attempt of a phase, and after all phases that come before it.
struct ForkPoint {
  std::string run_id, phase_id;
  std::int64_t attempt = 1;
};

struct Fork {
  ForkPoint from;
  bool same_plan = true;  // then what a replanner said before that point holds on
  Operator who;
};

// What a plan's text comes to, in parts of which a claim reads two. Made of the text by whoever knows plans,
// and again at any time: the store does not look into them.
struct PlanRows {
  std::string common;  // of no phase
  struct OfPhase {
    std::int64_t tier_index = 0, phase_index = 0;
    std::string row;
  };
  std::vector<OfPhase> phases;
};

struct NewRun {
  RunRow run;
  std::vector<TierRow> tiers;
  std::vector<PhaseRow> phases;  // state, counters and lease are set by the store
  std::string plan_text;         // as it was read: a run never changes its plan
  PlanRows plan;                 // empty: who claims first makes it (ClaimResult::unplanned)
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
  MonoTime mono;        // by the clock that mono_id names: leases of the same clock end by it
  std::string mono_id;  // os::Clock::mono_id(); "" when there is none
  std::int64_t lease_ms = 30'000;
  // Whether the owner of a live lease is known to be dead (this host, boot id, pid, start time).
  std::function<bool(std::string_view owner)> owner_is_dead;
  // PAWL_MODEL for attempt `number` of a new attempt, by the claim's run and common; called inside the
  // transaction: must be pure.
  std::function<std::string(const Claim& claim, std::int64_t number)> model_of_attempt;
  // Whether the caller knows PlanRows::common of that run: then the claim has none, here and there.
  std::function<bool(const std::string& run_id)> has_common;
};

struct Claim {
  Lease lease;
  RunRow run;
  PhaseRow phase;                      // as it is after the claim
  AttemptRow attempt;                  // reserved now, or the unfinished one that goes on
  bool continued = false;              // the attempt was there already: a crash, or an executor that left
  std::vector<StepRow> steps;          // of this attempt, by step_index, execution
  std::optional<AttemptRow> previous;  // the newest finished attempt of this phase, for its feedback
  std::string revised_goal;            // what a replanner said instead of the plan's goal; "" when none did
  std::string planned, common;         // the rows of its plan
  // Store::base_layers() of the attempt, and of it as it is judged in a round: as the ledger's rows say, too.
  std::vector<std::string> layers, judged_layers;
};

// Why there was nothing to claim. The later, the better news: what is told of several.
enum class Nothing {
  kAllTerminal,  // every phase of every run asked for is terminal
  kStalled,      // not terminal, and nothing that could ever move it: an error with a name
  kBudget,       // what the run may spend is spent: only a person moves it
  kNotBefore,    // a phase may not start yet: try later
  kReserved,     // what is left of the budget is reserved by steps that run: try later
  kLeased,       // somebody else works on it: try later
};

// Whether somebody holds the phase: its lease has not run out, and its owner is not known to be dead. A wall
// clock that jumps changes nothing for those who share a monotonic one.
bool lease_is_live(const PhaseRow& phase, const ClaimRequest& request);

// What claim() would take, or why there is nothing.
struct Candidate {
  std::optional<PhaseRow> phase;
  Nothing nothing = Nothing::kAllTerminal;  // meaningful without a phase, like the rest
  std::optional<PhaseRow> waited_for;       // what is not terminal and not free
  std::string waits_for;                    // one sentence for people
};

struct ClaimResult {
  std::optional<Claim> claim;
  // What would be claimed is of this run, and there are no rows of its plan: an older version made it.
  // Nothing was claimed; put_plan(), then claim again.
  std::string unplanned;
  Nothing nothing = Nothing::kAllTerminal;  // meaningful without a claim
  std::string waits_for;                    // one sentence for people
};

// A step whose first execution is counted with its marker: it was paid for, whatever it answers.
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
  std::int64_t episode = 0;  // of several (best_of); each has at most one open marker
  Counted counted = Counted::kNothing;
  std::int64_t reserved_ms = 0;  // the most that it may take: reserved until its end
  // An agent: of what the run may spend in tokens and money, what is left is reserved for it, at most these.
  bool spends = false;
  std::optional<std::int64_t> tokens_most, usd_nanos_most;
  std::int64_t shares = 1;  // what is left is for so many: one part is for this one
  // Others of the phase run: when the budget is used up, the lease stays until they have ended.
  bool others_run = false;
};

struct Begun {
  // False: the budget is used up. What ended is recorded, the phase is given back without a new marker (but
  // for others_run), and goes on when the cap is raised.
  bool started = true;
  std::vector<BudgetRow> warnings;  // those that what ended has taken past kWarnedPercent of their caps
  // What is reserved for a step that spends; nothing: it is not limited.
  std::optional<std::int64_t> tokens, usd_nanos;
};
constexpr std::int64_t kWarnedPercent = 80;

// What an attempt's agent told since the told_seq of its row: written down with the end of its step, once.
struct Told {
  struct Event {
    std::string event, at;
    Json details;  // an object
  };
  struct Usage {
    std::int64_t told_seq = 0;
    std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0, usd_nanos = 0;
    std::string line;  // for cost/agent.jsonl
  };
  std::int64_t last_seq = 0;  // of all of them; 0: nothing was told
  std::vector<Event> events;  // rows `agent`
  std::vector<Usage> usage;   // one row `agent` with their sum and hash
};

struct StepEnd {  // the result of an open step
  std::string sandbox_run_id;
  std::string run;  // SandboxRun as canonical JSON; what the ledger's row says of it:
  std::string outcome, layer;
  std::int64_t exit_code = -1, duration_ms = 0;
  std::string cost_row;     // the line for cost/sandbox.jsonl
  std::string agent_layer;  // of the agent's step: becomes the attempt's
  Told told;                // of the agent's step
};

struct ResumeDecision {  // what was done with an open marker found at claim (design, section 4)
  std::string sandbox_run_id, label;
  std::string found;          // supervisor_alive | result_spooled | nothing
  std::string decision;       // reattach | adopt | re_execute | skip | escalate | probed | cancelled
  std::string lost_cost_row;  // of a step that is given up: it ends as lost, and this is its cost row
  Told told;                  // of an agent's step that was lost
  bool owes = false;  // or it comes later, by pay(); its reservations of tokens and money stay until then
};

// A step that an operator ended. Its agent may tell what it uses until it is gone: that is written down
// after.
struct Owed {
  StepRow step;
  std::int64_t told_seq = 0;  // what is told since is not written down yet
};

// What becomes of a phase whose attempt failed, when a hook says so.
enum class Action {
  kNone,        // what the verdict says; a hint is part of the feedback
  kReplan,      // a new revision with another goal: attempts_used = 0, nothing else goes back
  kSkipPhase,   // SKIPPED
  kMarkFailed,  // FAILED, failed_unrecoverable
  kAbortRun,    // kMarkFailed, and every other phase that is not terminal is CANCELLED
};

// The answer of a doctor or a replanner, for the ledger: one row each, also of an answer that is none.
struct Advice {
  std::string hook;  // doctor | replan
  std::string sandbox_run_id;
  bool understood = false;           // else it counts and changes nothing
  std::string action, hint, reason;  // a doctor's words
  std::string goal;                  // a replanner's
};

struct AttemptEnd {
  std::string verdict;         // passed | failed_retryable | failed_unrecoverable | escalate
  std::string signals = "[]";  // an array, as canonical JSON
  std::vector<std::string> failing_signals;
  std::string failure;         // of what failed, and the model (gates::failure_digest); "" when passed
  std::string summary;         // UTF-8, at most 4096 bytes
  Json feedback;               // object; null when passed
  std::string reason;          // last_failure_reason: one line; "" when passed
  std::string accepted_layer;  // of a passed attempt: what becomes part of the run ("" when nothing changed)
  // Nothing overlaps it that was accepted up to this merge_seq: the caller has looked (store/overlap.h).
  std::int64_t looked_up_to = 0;
  std::string build;        // Pawl's version
  std::string inventories;  // BLAKE3 of what base has, by gate, as far as it was compared; "" when it was not
  // When the next attempt may start; "" at once. By the wall clock: one set back before the attempt ends it.
  std::string not_before;
  std::vector<Advice> advice;
  Action action = Action::kNone;     // of a failed attempt only
  std::string goal;                  // of kReplan
  std::string action_reason;         // of another than kNone: one line
  std::vector<EpisodeRow> episodes;  // each of several tries. Part of the ledger row `attempt`
  // The work of the agent, of the kept one of several; nothing: what the end of its step said.
  std::optional<std::string> agent_layer;
};

// Whether two layers touch the same path; must be pure.
using Overlaps = std::function<bool(const std::string& layer, const std::string& other)>;

struct Finished {
  PhaseState state;  // after
  PhaseOutcome outcome;
  bool run_ended = false;
  std::vector<std::string> ended_steps;  // of phases that kAbortRun cancelled: their supervisors still run
  std::vector<BudgetRow> warnings;       // as in Begun
  // A passed attempt whose layer overlaps one that was accepted meanwhile, by a phase beside it or by an
  // operator, is not accepted: nothing was written, and the caller decides again with what changed.
  std::optional<LayerRow> overlapping;
  bool behind = false;  // nor is one whose gates did not see it on top of what was accepted: judge_again()
};

// A round in which an attempt that passed is judged again.
struct JudgedAgain {
  AttemptRow attempt;               // as it is now
  std::vector<std::string> layers;  // on which it is judged, as Claim::judged_layers
  std::vector<BudgetRow> warnings;  // as in Begun
};

// What a person approves: the work of the newest attempt of a phase that ended without being accepted.
struct Approved {
  std::string phase_id, attempt_id;
  std::string layer;  // becomes part of the run; "" when nothing changed
};

class Store {
 public:
  virtual ~Store() = default;

  // --- the life of a run
  // Rows: run_started in the run's chain. With a fork, also `forked`: the phases before its point are as they
  // are there, with their layers, and count nothing here; the phase of the point begins with what the attempt
  // before it left to the next one. The other run is only read. kInvalid: the phases before the point are not
  // the same in both, or one of them has not ended or ended the run; kNotFound: there is no such point.
  virtual Status create_run(const NewRun& run, WallTime now) = 0;

  // Writes the rows of a run that has none yet; idempotent.
  virtual Status put_plan(const std::string& run_id, const PlanRows& plan) = 0;

  // 1. Takes the lowest executable phase (design, section 3). A new attempt is reserved (attempts_used + 1,
  //    attempts_total + 1, attempt row) before anything runs; an unfinished attempt goes on without a
  //    reservation. ENSURES: lease.fence is greater than every fence ever issued for the phase.
  virtual Result<ClaimResult> claim(const ClaimRequest& request) = 0;

  // What claim() would decide at this moment. Reads only.
  virtual Result<Candidate> candidate(const ClaimRequest& request) = 0;

  // 2. The marker of the next step, with the result of the previous one and, when the marker repeats a lost
  //    step, the decision that closes the lost one. Rows: [executed], [resume], pre_execute. kExhausted:
  //    execution > 3. Settles what ended against the run's budgets (a lost step: the time since its marker,
  //    at most what it had reserved; tokens and money: what was told), then reserves for the new one. So what
  //    a run spends exceeds its cap by less than one reservation, or by what an agent spent before its end.
  virtual Result<Begun> begin_step(const Lease& lease, const StepStart& start,
                                   const std::optional<StepEnd>& previous,
                                   const std::optional<ResumeDecision>& resume, WallTime now) = 0;
  // The same ends alone, while other episodes of the attempt go on. Returns the budgets that this takes past
  // kWarnedPercent. Rows: [executed], [resume].
  virtual Result<std::vector<BudgetRow>> end_step(const Lease& lease, const std::optional<StepEnd>& previous,
                                                  const std::optional<ResumeDecision>& resume,
                                                  WallTime now) = 0;
  // Records reattach and adopt. Row: resume.
  virtual Status note_resume(const Lease& lease, const ResumeDecision& resume, WallTime now) = 0;

  // 3. The end of the attempt: result of the last step, signals, cost, phase state, seals; and of the last
  //    open phase the end of the run. A failed attempt with attempts left leaves the phase EXECUTING without
  //    a lease; the last one makes it FAILED here. FAILED in a tier with on_failure stop makes every QUEUED
  //    phase SKIPPED ("stopped: <phase>"). Rows: [executed], [resume], attempt, and in the run's chain
  //    phase_sealed (when the phase is terminal), run_sealed (when the run ended). The head is signed.
  virtual Result<Finished> finish(const Lease& lease, const std::optional<StepEnd>& last,
                                  const std::optional<ResumeDecision>& resume, const AttemptEnd& end,
                                  const Overlaps& overlaps, WallTime now) = 0;

  // After Finished::behind: judged_on() has all that is accepted. Row: judged_again, signed.
  virtual Result<JudgedAgain> judge_again(const Lease& lease, const std::optional<StepEnd>& last,
                                          const std::optional<ResumeDecision>& resume, WallTime now) = 0;

  // Whether the lease is still the phase's. Reads only: for asking often.
  virtual Result<bool> holds(const Lease& lease) = 0;
  // Extends the lease. kConflict: it is lost; stop working.
  virtual Status heartbeat(const Lease& lease, WallTime now, MonoTime mono, std::int64_t lease_ms) = 0;
  // Gives the phase back as it is. A lost lease is not an error.
  virtual Status release(const Lease& lease) = 0;

  // --- operators: guarded transitions; each is a ledger row `operator` in the phase's chain (the run's, for
  //     a run). `phase_id` empty: every phase to which it can apply. They return the phases that changed;
  //     kInvalid when none can (the message says in which state they are and what to do instead).
  // FAILED, SKIPPED or CANCELLED -> QUEUED with attempts_used 0 and one more revision; attempts_total stays.
  // Phases that were SKIPPED because this one failed come back too. The run opens again.
  virtual Result<std::vector<std::string>> operator_retry(const std::string& run_id,
                                                          const std::string& phase_id, const Operator& who,
                                                          WallTime now) = 0;
  // A phase that is not terminal, or FAILED -> SKIPPED. Phases that were SKIPPED because that one failed are
  // QUEUED again, and returned after it.
  virtual Result<std::vector<std::string>> operator_skip(const std::string& run_id,
                                                         const std::string& phase_id, const Operator& who,
                                                         WallTime now) = 0;
  // Not terminal -> CANCELLED; the lease is gone, so a late result is refused.
  virtual Result<std::vector<std::string>> operator_cancel(const std::string& run_id,
                                                           const std::string& phase_id, const Operator& who,
                                                           WallTime now) = 0;
  // FAILED, SKIPPED, CANCELLED -> COMPLETE, approved, with that layer. Phases that were SKIPPED because this
  // one failed are QUEUED again, and the run goes on. kConflict: it is not the newest attempt, or a layer
  // that was accepted since overlaps.
  virtual Result<std::vector<std::string>> operator_approve(const std::string& run_id, const Approved& what,
                                                            const Overlaps& overlaps, const Operator& who,
                                                            WallTime now) = 0;
  // --max-attempts with --operator-ack: new max_attempts for every phase that is not terminal, at least what
  // it has used. One that waits for its next attempt and has none left is FAILED, escalate.
  virtual Status operator_max_attempts(const std::string& run_id, std::int64_t max_attempts,
                                       const Operator& who, WallTime now) = 0;

  // What the run may spend of `unit`; below what is spent, nothing starts any more. Row: operator, in the
  // run's chain. kInvalid: the run is over.
  virtual Status operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                                 const Operator& who, WallTime now) = 0;

  // Steps that operators (or a doctor, of a whole run) ended: who looks next makes sure that they are over.
  virtual Result<std::vector<Owed>> owed() = 0;
  // Writes down what the agent of `owed` told, and settles what was reserved for it; the chain of a phase
  // that is over is opened for it and sealed again. REQUIRES: the step is gone, `told` is all since
  // owed.told_seq. Nothing when somebody did it before.
  virtual Status pay(const Owed& owed, const Told& told, WallTime now) = 0;

  // --- reading
  // Runs `reads`, which calls nothing but these: all of them see one state of the store, whoever writes.
  virtual Status read_together(const std::function<Status()>& reads) = 0;
  virtual Result<RunRow> run(const std::string& run_id) = 0;             // kNotFound
  virtual Result<std::vector<RunRow>> runs(std::size_t most) = 0;        // newest first
  virtual Result<std::string> plan_text(const std::string& run_id) = 0;  // kNotFound
  // "" when an older version made the run, and nobody has claimed from it since.
  virtual Result<std::string> planned_common(const std::string& run_id) = 0;
  virtual Result<std::string> planned_phase(const std::string& run_id, const std::string& phase_id) = 0;
  // Full id, or a unique prefix or suffix of at least 4 characters, or "last". kNotFound, kInvalid when
  // ambiguous.
  virtual Result<std::string> resolve_run(const std::string& text) = 0;
  virtual Result<std::optional<ForkPoint>> fork_of(const std::string& run_id) = 0;
  virtual Result<std::vector<TierRow>> tiers(const std::string& run_id) = 0;
  virtual Result<std::vector<BudgetRow>> budgets(const std::string& run_id) = 0;
  virtual Result<std::vector<RefusalRow>> refusals(const std::string& run_id) = 0;
  virtual Result<std::vector<PhaseRow>> phases(const std::string& run_id) = 0;  // by tier_index, phase_index
  virtual Result<PhaseRow> phase(const std::string& run_id, const std::string& phase_id) = 0;  // kNotFound
  // Pages of what may be long; each costs what it returns. The first phases in their order; the attempts
  // below `before`, newest first; an attempt's steps by step_index, execution.
  virtual Result<std::vector<PhaseRow>> first_phases(const std::string& run_id, std::size_t most) = 0;
  virtual Result<std::vector<AttemptRow>> attempts_before(const std::string& run_id,
                                                          const std::string& phase_id, std::int64_t before,
                                                          std::size_t most) = 0;
  virtual Result<std::vector<StepRow>> steps_of_attempt(const std::string& run_id,
                                                        const std::string& attempt_id) = 0;
  virtual Result<std::vector<AttemptRow>> attempts(const std::string& run_id,
                                                   const std::string& phase_id) = 0;
  virtual Result<std::vector<StepRow>> steps(const std::string& run_id, const std::string& phase_id) = 0;
  // By attempt_id, episode; of attempts with several episodes that are finished.
  virtual Result<std::vector<EpisodeRow>> episodes(const std::string& run_id,
                                                   const std::string& phase_id) = 0;
  virtual Result<std::vector<StepRow>> open_steps() = 0;  // of all runs: what gc must not touch
  virtual Result<std::vector<LayerRow>> accepted_layers(const std::string& run_id) = 0;  // by merge_seq
  // The layers that an attempt works on, topmost first.
  virtual Result<std::vector<std::string>> base_layers(const AttemptRow& attempt) = 0;
  // What is accepted after that merge_seq, is not empty, and is not part of what the attempt works on: by
  // merge_seq.
  virtual Result<std::vector<LayerRow>> accepted_beside(const AttemptRow& attempt, std::int64_t after,
                                                        std::size_t most) = 0;
  virtual Result<std::vector<std::string>> chains(
      const std::string& run_id) = 0;  // "" first, then by phase order
  // Rows of one chain in order, at most `most`, from `first_seq`.
  virtual Result<std::vector<LedgerRow>> ledger(const std::string& run_id, const std::string& chain,
                                                std::int64_t first_seq, std::size_t most) = 0;
  virtual Result<std::optional<Head>> head(const std::string& run_id) = 0;
  // Lines of cost/sandbox.jsonl, in order; run_id empty: of all runs, without the first `skip`.
  virtual Result<std::vector<std::string>> cost_rows(const std::string& run_id, std::int64_t skip) = 0;
  // The same of cost/agent.jsonl.
  virtual Result<std::vector<std::string>> usage_rows(const std::string& run_id, std::int64_t skip) = 0;

  // --- what is known by content
  // The text about a gate on base; the store does not look into it. Nothing: nobody put it with this key.
  virtual Result<std::optional<std::string>> inventory(const std::string& key) = 0;
  virtual Status put_inventory(const std::string& key, const std::string& text) = 0;
};

// The schema's version that this program needs.
struct SchemaStatus {
  std::int64_t database = 0;  // 0: no schema yet
  std::int64_t program = 0;
  std::vector<std::string> pending;  // names of migrations not applied
};

// `location`: "sqlite:PATH", or a bare path. "postgresql://" is refused as not available yet.
// open_store migrates an empty database, and refuses one that is older ("run pawl migrate up") or newer than
// this program (kInvalid, naming both versions), and a file that is no database (kCorrupt).
Result<std::unique_ptr<Store>> open_store(const std::string& location,
                                          std::shared_ptr<const RowSealer> sealer);

// Stores for the threads of one process, whose changes share transactions and their fsyncs when they come at
// the same time. What a verb promises stays: durable when it returns; but a commit that fails fails for all
// who share it. Callbacks of a verb may be called in another thread, while its caller waits.
class StoreGroup {  // thread-safe
 public:
  virtual ~StoreGroup() = default;
  virtual Result<std::unique_ptr<Store>> open() = 0;
};
Result<std::unique_ptr<StoreGroup>> open_store_group(const std::string& location,
                                                     std::shared_ptr<const RowSealer> sealer);

Status check_store(const std::string& location);  // whether open_store() would open or make it; makes nothing
Result<SchemaStatus> schema_status(const std::string& location);
// kUnavailable while somebody who is not known to be dead holds a phase: its statements are of another
// schema.
using OwnerIsDead = std::function<bool(std::string_view owner)>;
Result<SchemaStatus> migrate_up(const std::string& location, const OwnerIsDead& owner_is_dead);
// Takes back the newest migration. kDenied when that loses data and `destroy_data` is false; kUnavailable as
// above.
Result<SchemaStatus> migrate_down(const std::string& location, bool destroy_data,
                                  const OwnerIsDead& owner_is_dead);

}  // namespace pawl::store
