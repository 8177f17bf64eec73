#include "executor/session.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/mutant.h"
#include "executor/agent_slots.h"
#include "executor/attempt.h"
#include "executor/credentials.h"
#include "executor/ends.h"
#include "executor/finish.h"
#include "executor/joint.h"
#include "executor/kept_work.h"
#include "executor/lease_watch.h"
#include "executor/next_move.h"
#include "executor/refused.h"
#include "executor/reported.h"
#include "os/process.h"

namespace pawl::executor {
namespace {

// Mutants (base/mutant.h).
bool starts_before_its_marker() { return mutant("marker_after_start"); }
bool ends_others_unrecorded() { return mutant("episodes_end_too_soon"); }
bool compares_no_spec_hash() { return mutant("spec_hash_not_compared"); }

// Whether a step that the session wanted to begin, or to begin again, was refused by the run's budget.
enum class Done { kMade, kOutOfBudget };

// Why a wait ended before the step.
enum class Interrupt { kNone, kStop, kLeaseLost, kAnotherEnded };

// Makes the moves of next_move() in one attempt, under a lease.
class Session {
 public:
  Session(const World& world, const Options& options, Observer& observer, const store::Claim& claim,
          Attempt attempt)
      : world_(world),
        steps_(static_cast<supervisor::StepRunner&>(world.starter)),
        options_(options),
        observer_(observer),
        claim_(claim),
        attempt_(std::move(attempt)),
        slots_(*options.slots),
        lease_(world.store, world.clock, claim.lease, options.lease_ms),
        ends_(world, observer, claim) {}

  Result<Turn> run() {
    auto turn = work();
    // A lease that was seen lost is lost, whatever error came afterwards.
    const bool lost = lease_.was_lost() || (!turn && turn.error().kind == ErrorKind::kConflict);
    if (!turn && lost) PAWL_OK(end_unless_wanted());
    return turn;
  }

 private:
  Result<Turn> work() {
    // A crash may have come between recording a result and forgetting its spool.
    for (const auto& step : claim_.steps)
      if (step.state == store::StepState::kDone)
        world_.sandboxes.forget(step.sandbox_run_id);
      else if (step.state == store::StepState::kLost)
        world_.sandboxes.forget_lost(step.sandbox_run_id);
    for (bool out_of_budget = false;;) {
      const Move move = next_move(attempt_.state(out_of_budget));
      if (move.kind == Move::Kind::kLeave) return Turn{.kind = Turn::Kind::kOutOfBudget};
      if (move.kind == Move::Kind::kWait) return leave_to_wait();
      if (move.kind == Move::Kind::kFinish) {
        PAWL_TRY(const auto turn, finish_attempt(world_, observer_, claim_, attempt_, ends_));
        if (turn) return *turn;
        continue;
      }
      PAWL_TRY(const Done done, make(move));
      // A step that was refused is tried again after another one ended.
      out_of_budget = done == Done::kOutOfBudget && !out_of_budget;
    }
  }

  Result<Done> make(const Move& move) {
    switch (move.kind) {
      case Move::Kind::kFindStep:
        PAWL_OK(attempt_.find_step(attempt_.at(move), observer_));
        break;
      case Move::Kind::kStart:
        return start(attempt_.at(move));
      case Move::Kind::kWatchBeside:
        PAWL_OK(start_others(attempt_.at(move)));
        return go_on(attempt_.at(move));
      case Move::Kind::kWatch:
        return go_on(attempt_.at(move));
      case Move::Kind::kEnd:
        PAWL_OK(end_other(attempt_.at(move)));
        break;
      case Move::Kind::kChoose:
        PAWL_OK(attempt_.choose());
        break;
      case Move::Kind::kAskHooks:
        attempt_.ask_hooks();
        break;
      case Move::Kind::kFinish:
      case Move::Kind::kLeave:
      case Move::Kind::kWait:
        break;  // work() makes them
    }
    return Done::kMade;
  }

  WallTime now() const { return world_.clock.wall(); }

  // --- steps

  Result<Done> start(ActiveEpisode& one) { return run_step(one, *std::exchange(one.next, nullptr)); }

  // Starts one step, under its marker.
  Result<Done> run_step(ActiveEpisode& one, const PlannedStep& step) {
    if (options_.stop && options_.stop()) return fail(ErrorKind::kCancelled, "asked to stop");
    PAWL_TRY(auto credentials, credentials_of(one, step));
    PAWL_OK(attempt_.hold_objects());
    store::StepStart start = {.sandbox_run_id = os::uuid7(now(), world_.random),
                              .step_index = step.index,
                              .gate_id = step.gate_id,
                              .step_name = step_name(step),
                              .label = label_of(claim_.phase.phase_id, step, claim_.attempt.number),
                              .execution = attempt_.next_execution(step.index),
                              .waits = attempt_.waits_of(step.index),
                              .episode = step.episode,
                              .counted = counted(step.role),
                              .others_run = attempt_.running() != nullptr};
    const auto goes_on_from = one.episode.goes_on_from();
    PAWL_OK(go_on_from_before(one, start, credentials));
    PAWL_TRY(const auto prepared, one.episode.prepare(step));
    if (!prepared) return Done::kMade;
    const auto& [context, spec] = *prepared;
    if (step.role == StepRole::kAgent || is_hook(step.role)) PAWL_OK(one.episode.objects_fit());
    start.sandbox_spec_hash = sandbox::spec_hash(spec);
    start.reserved_ms = spec.time_budget_seconds * 1000;
    agent::Spent spent;
    if (step.role == StepRole::kAgent) {
      PAWL_TRY(spent, attempt_.spending(one, start));
    }
    if (starts_before_its_marker())
      PAWL_OK(steps_.start(start.sandbox_run_id, claim_.run.backend, spec, context, {}));
    PAWL_TRY(const auto begun, begin(one, step, start));
    if (!begun) return Done::kMade;
    if (!begun->started) {
      one.episode.go_on_from(goes_on_from);  // the next start finds again what is missing, for its row
      return Done::kOutOfBudget;
    }
    observer_.step_started(claim_, start);
    std::optional<supervisor::AgentStep> agent;
    if (step.role == StepRole::kAgent)
      agent = {.context = agent_of(claim_, one.episode.phase(), step.episode, *begun, spent),
               .credentials = std::move(credentials),
               .fresh_home = !start.not_continued.empty()};
    if (!starts_before_its_marker())
      PAWL_OK(steps_.start(start.sandbox_run_id, claim_.run.backend, spec, context, agent));
    one.episode.look_beside();
    attempt_.begun(one, step, std::move(start));
    return Done::kMade;
  }

  // An agent may go on in what the execution before left, or the attempt before. After a crash before the marker it is
  // found again, and after the marker the marker's row says it.
  Status go_on_from_before(ActiveEpisode& one, store::StepStart& start,
                           const secrets::Redactor::Values& credentials) {
    if (start.gate_id != kAgentGate) return {};
    if (start.execution > 1) {
      PAWL_TRY(start.not_continued, missing_home(world_, claim_, one.episode, credentials));
      if (!start.not_continued.empty()) one.episode.go_on_from(std::nullopt);
      return {};
    }
    if (!claim_.previous || one.episode.phase().on_retry != plan::OnRetry::kContinue) return {};
    PAWL_TRY(auto kept, take_previous_work(world_, claim_, credentials));
    start.previous_layer = kept.layer;
    start.not_continued = std::move(kept.missing);
    one.episode.go_on_from_failed(std::move(kept.layer));
    return {};
  }

  // Reads the credentials again for each start: a token may have run out since the last one.
  Result<secrets::Redactor::Values> credentials_of(const ActiveEpisode& one, const PlannedStep& step) {
    if (step.role != StepRole::kAgent) return secrets::Redactor::Values();
    PAWL_TRY(auto values, read_credentials(one.episode.phase()));
    world_.redactor.learn(values);
    return values;
  }

  // Writes the marker, with the results that are not recorded yet. No value: the step is given up.
  Result<std::optional<store::Begun>> begin(ActiveEpisode& one, const PlannedStep& step,
                                            const store::StepStart& start) {
    const auto begun = world_.store.begin_step(claim_.lease, start, ends_.endings(), now());
    if (!begun && begun.error().kind == ErrorKind::kExhausted &&
        start.counted == store::Counted::kDoctorCall) {
      // Another phase of the run used its last call meanwhile.
      one.episode.give_up(step);
      return std::optional<store::Begun>();
    }
    if (!begun) return std::unexpected(begun.error());
    ends_.recorded();
    for (const auto& row : begun->warnings) observer_.budget_nears_its_end(claim_, row);
    return std::optional(*begun);
  }

  // Continues a step that runs, as far as the rows say.
  Result<Done> go_on(ActiveEpisode& one) { return one.running->found ? look_at(one) : wait_for(one); }

  // Finds out the state of a step that no process waited for.
  Result<Done> look_at(ActiveEpisode& one) {
    const auto& start = one.running->start;
    PAWL_TRY(const auto found, steps_.find(start.sandbox_run_id));
    const Recovery recovery = recovery_of(one, found);
    if (recovery == Recovery::kAdopt) return adopt(one);
    if (recovery != Recovery::kReattach) return give_up(one, {.recovery = recovery});
    PAWL_OK(need_objects(one));
    PAWL_OK(ends_.note(start, recovery, store::RecoveryFound::kSupervisorAlive));
    one.running->found = false;
    return Done::kMade;
  }

  static Recovery recovery_of(const ActiveEpisode& one, supervisor::Found found) {
    const auto& [step, start, was_found] = *one.running;
    return decide_recovery(found, policy_of(step->role, one.episode.phase()), start.spent_executions());
  }

  // The process that started the step may have died before its check of the objects ended.
  Status need_objects(ActiveEpisode& one) {
    PAWL_OK(attempt_.hold_objects());
    return one.episode.look_at_objects_of(*one.running->step);
  }

  Result<Done> adopt(ActiveEpisode& one) {
    const auto& start = one.running->start;
    const std::string expected = compares_no_spec_hash() ? "" : start.sandbox_spec_hash;
    auto run = steps_.collect(start.sandbox_run_id, expected);
    if (!run) return give_up_without_result(one, run.error());
    if (one.running->found) {
      PAWL_OK(need_objects(one));
      PAWL_OK(ends_.note(start, Recovery::kAdopt, store::RecoveryFound::kResultSpooled));
    }
    return settle(one, *std::move(run));
  }

  Result<Done> wait_for(ActiveEpisode& one) {
    attempt_.release_objects();
    const auto start = one.running->start;
    auto interrupt = Interrupt::kNone;
    const auto waited = steps_.wait(start.sandbox_run_id, [&] {
      interrupt = interruption_of(one);
      return interrupt != Interrupt::kNone;
    });
    if (!waited && interrupt == Interrupt::kAnotherEnded) {
      PAWL_OK(look_at_others(one));
      return Done::kMade;
    }
    if (!waited && interrupt == Interrupt::kLeaseLost)
      return fail(ErrorKind::kConflict, "the lease was lost: " + waited.error().message);
    PAWL_OK(waited);
    auto run = steps_.collect(start.sandbox_run_id, start.sandbox_spec_hash);
    if (!run) return give_up_without_result(one, run.error());
    return settle(one, *std::move(run));
  }

  // Called a few times a second while the step of `one` runs.
  Interrupt interruption_of(const ActiveEpisode& one) {
    if (options_.stop && options_.stop()) return Interrupt::kStop;
    if (lease_.is_lost()) return Interrupt::kLeaseLost;
    const bool another_ended =
        attempt_.one_has_to_begin() && std::ranges::any_of(attempt_.all(), [&](const ActiveEpisode& other) {
          return &other != &one && other.running && !other.running->found && has_ended(other);
        });
    return another_ended ? Interrupt::kAnotherEnded : Interrupt::kNone;
  }

  // Takes a result, or loses the step. An agent that was killed, or that was ended because the run's budget
  // is spent, continues in the same attempt when it has stored state from which it can continue. An agent that has
  // spent its own budget does not run again.
  Result<Done> settle(ActiveEpisode& one, sandbox::SandboxRun run) {
    const auto& [step, start, found] = *one.running;
    const plan::Phase& phase = one.episode.phase();
    const bool is_agent = step->role == StepRole::kAgent;
    PAWL_TRY(const bool over_budget, is_agent ? attempt_.has_spent_its_budget(one) : false);
    const auto refusal = over_budget ? std::nullopt : refusal_of(world_, *step, phase, run);
    if (refusal) return refuse(one, run, *refusal);
    if (may_continue(run, *step, phase, start.spent_executions())) {
      Ended ended{.killed = was_killed(run), .stopped_unsaved = was_stopped_unsaved(run, phase)};
      PAWL_TRY(ended.budget_is_spent, budget_is_spent(world_, claim_, run, start, one.told_seq));
      PAWL_TRY(ended.has_state, world_.journals.can_go_on(episode_of(claim_, start.episode)));
      auto kept = kept_with_result(run, phase);
      ended.has_state = ended.has_state || kept;
      if (ended.stopped_unsaved && ended.has_state) PAWL_OK(check_room(world_, claim_, run));
      if (continues(ended))
        return give_up(one, {.recovery = recovery_of(one, supervisor::Found::kNothing),
                             .kept = std::move(kept),
                             .unsaved = unsaved_event(run, phase)});
    }
    const auto recovery = recovery_of(one, supervisor::Found::kNothing);
    if (!over_budget && recovery == Recovery::kContinue &&
        may_lack_session(run, phase, one.episode.goes_on_from()))
      return give_up(one, {.recovery = recovery,
                           .kept = supervisor::KeptWork{.layer = {}, .missing = "session"},
                           .unsaved = unsaved_event(run, phase)});
    const Running ended = *std::exchange(one.running, std::nullopt);
    PAWL_OK(ends_.take(one, ended.start, std::move(run)));
    return Done::kMade;
  }

  // The provider refused the agent. No execution is spent, and the agent runs again later, as after a lost step, unless
  // after_refusal() says otherwise.
  Result<Done> refuse(ActiveEpisode& one, const sandbox::SandboxRun& run, const agent::Refusal& refusal) {
    const auto ended = parse_rfc3339(run.ended_at).value_or(now());
    auto wait = wait_after(refusal, one.episode.phase(), attempt_.waits(), ended,
                           os::random_below(world_.random, kJitterMsMax + 1));
    Loss loss{.recovery = after_refusal(wait),
              .found = found_refused(refusal),
              .wait = wait,
              .unsaved = unsaved_event(run, one.episode.phase())};
    if (loss.recovery != Recovery::kWait) return give_up(one, std::move(loss));
    loss.kept = kept_with_result(run, one.episode.phase());
    // The agent has ended. Its result stays until the row has the wait: after a crash the session finds the same
    // refusal in it again.
    const Running refused = *std::exchange(one.running, std::nullopt);
    PAWL_OK(ends_.lose(one, refused.start, std::move(loss)));
    one.waits_for = std::move(wait);
    return Done::kMade;
  }

  Result<Turn> leave_to_wait() {
    const auto wait = attempt_.last_wait();
    PAWL_OK(world_.store.wait(claim_.lease, ends_.endings(), wait.not_before, now()));
    ends_.recorded();
    observer_.waits(claim_, wait);
    return Turn{.kind = Turn::Kind::kWaits, .run_id = claim_.run.run_id, .phase_id = claim_.phase.phase_id};
  }

  // The result belongs to another spec, is damaged, or was not written by the step's supervisor.
  Result<Done> give_up_without_result(ActiveEpisode& one, const Error& error) {
    return give_up(one, {.recovery = recovery_of(one, supervisor::Found::kNothing),
                         .found = found_without_result(error)});
  }

  // The result is lost. First make sure that this id never runs again.
  Result<Done> give_up(ActiveEpisode& one, Loss loss) {
    const Running ended = *std::exchange(one.running, std::nullopt);
    const auto& [step, start, found] = ended;
    PAWL_OK(abandon(one, start));
    if (loss.recovery == Recovery::kProbe) {
      PAWL_TRY(auto salvaged, probe(one, *step, start));
      loss.recovery = after_probe(answer_of(salvaged, is_of_this_boot()), start.spent_executions());
      if (loss.recovery == Recovery::kProbed) {
        PAWL_OK(ends_.note(start, loss.recovery, loss.found));
        PAWL_OK(ends_.take(one, start, std::move(salvaged.run)));
        return Done::kMade;
      }
    }
    if (loss.recovery == Recovery::kContinue) {
      PAWL_TRY(const auto credentials, credentials_of(one, *step));
      PAWL_OK(attempt_.hold_objects());
      if (!loss.kept) {
        PAWL_TRY(loss.kept, keep_work(world_, claim_, one.episode, start, credentials));
      }
      loss.recovery = after_keeping(*loss.kept);
    }
    const auto recovery = loss.recovery;
    const auto lost = lost_by(recovery, loss.found, start.gate_id);
    PAWL_OK(ends_.lose(one, start, std::move(loss)));
    if (recovery == Recovery::kReExecute || recovery == Recovery::kContinue) return run_step(one, *step);
    if (is_hook(step->role))
      one.episode.give_up(*step);
    else
      one.lost = lost;
    return Done::kMade;
  }

  // The use that an agent's program had printed counts, too.
  Status abandon(const ActiveEpisode& one, const store::StepStart& start) {
    PAWL_OK(world_.sandboxes.abandon(start.sandbox_run_id));
    return report_printed_usage(world_, claim_, one.episode.phase(), start, is_of_this_boot());
  }

  Result<supervisor::Salvage> probe(const ActiveEpisode& one, const PlannedStep& step,
                                    const store::StepStart& start) {
    PAWL_TRY(const auto credentials, credentials_of(one, step));
    return steps_.salvage(start.sandbox_run_id, one.episode.phase().resume.probe, credentials);
  }

  bool is_of_this_boot() const { return of_one_boot(claim_.attempt.executor, claim_.lease.owner); }

  // --- several episodes

  // While a step of `first` runs, agents of the later episodes may run, too.
  Status start_others(const ActiveEpisode& first) {
    PAWL_OK(look_at_others(first));
    std::int64_t others = 0;
    for (const auto& one : attempt_.all()) others += one.running && &one != &first ? 1 : 0;
    slots_.keep_for(others);
    for (auto& one : attempt_.all()) {
      if (!one.has_to_begin()) continue;
      if (!slots_.take_for_one_more_than(others)) return {};
      PAWL_TRY(const Done done, run_step(one, one.episode.agent()));
      if (done == Done::kOutOfBudget) return {};
      ++others;
    }
    return {};
  }

  bool has_ended(const ActiveEpisode& one) {
    const auto found = steps_.find(one.running->start.sandbox_run_id);
    return found && *found != supervisor::Found::kRunning;
  }

  Status look_at_others(const ActiveEpisode& first) {
    for (auto& one : attempt_.all()) {
      if (&one == &first || !one.running || (!one.running->found && !has_ended(one))) continue;
      PAWL_OK(look_at(one));  // a step that the budget refused begins when it can
    }
    return {};
  }

  // Its outcome is still recorded. The deciding result is recorded before the step is ended; otherwise a
  // crash could lose both.
  Status end_other(ActiveEpisode& one) {
    if (!ends_others_unrecorded()) PAWL_OK(ends_.record());
    const auto start = std::exchange(one.running, std::nullopt)->start;
    PAWL_OK(abandon(one, start));
    auto run = steps_.collect(start.sandbox_run_id, start.sandbox_spec_hash);
    if (run) return ends_.take(one, start, *std::move(run));
    return ends_.lose(one, start,
                      {.recovery = Recovery::kCancelled, .found = found_without_result(run.error())});
  }

  // --- a lost lease

  // The lease was lost. Its new owner re-attaches to the running steps. A step with a closed marker has no
  // owner: an operator ended the phase, perhaps just before the step began.
  Status end_unless_wanted() {
    if (attempt_.running() != nullptr) PAWL_OK(end_unwanted_steps());
    forget_homes_if_over();
    return {};
  }

  // Ends the running steps with a closed marker.
  Status end_unwanted_steps() {
    PAWL_TRY(const auto steps, world_.store.steps(claim_.run.run_id, claim_.phase.phase_id));
    for (const auto& one : attempt_.all()) {
      if (!one.running) continue;
      const auto& id = one.running->start.sandbox_run_id;
      const auto row = std::ranges::find(steps, id, &store::StepRow::sandbox_run_id);
      if (row == steps.end() || row->state == store::StepState::kOpen) continue;
      PAWL_OK(world_.sandboxes.abandon(id));
    }
    // A step that can't be settled now stays for the next command that settles: its output says what its agent used.
    settle_or_report(world_, observer_);
    return {};
  }

  // An operator may have ended the attempt, also between two of its steps. gc finds what is missed here.
  void forget_homes_if_over() {
    const auto& mine = claim_.attempt;
    const auto rows =
        world_.store.attempts_before(claim_.run.run_id, claim_.phase.phase_id, mine.number + 1, 1);
    // Another executor that ended it knows whether the next attempt needs HOME.
    if (rows && !rows->empty() && rows->front().verdict == store::AttemptVerdict::kCancelled)
      world_.sandboxes.forget_homes(claim_.run.run_id, mine.attempt_id);
  }

  const World& world_;
  supervisor::StepRunner& steps_;
  const Options& options_;
  Observer& observer_;
  const store::Claim& claim_;
  Attempt attempt_;
  AgentSlots slots_;
  LeaseWatch lease_;
  Ends ends_;
};

Result<Attempt> load_attempt(const World& world, const store::Claim& claim, const Planned& plan) {
  PAWL_TRY(const auto hold, world.objects.hold());
  return Attempt::load(world, claim, plan);
}

}  // namespace

Result<Turn> work_on(const World& world, const Options& options, Observer& observer,
                     const store::Claim& claim, const Planned& plan) {
  // A command of a credential runs on the host. Before workers start, the rows of a plan that says it has
  // credentials are compared with the ledger.
  if (!plan.phase.credentials.empty() && !plan.common->has_credentials)
    return fail(ErrorKind::kForged, "the planned rows of run " + claim.run.run_id +
                                        " disagree on whether an agent has credentials");
  PAWL_TRY(const auto judged_by, with_gates_of_tier(world, claim, plan));
  PAWL_TRY(auto attempt, load_attempt(world, claim, judged_by));
  return Session(world, options, observer, claim, std::move(attempt)).run();
}

}  // namespace pawl::executor
