#include "executor/session.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/planted.h"
#include "executor/ends.h"
#include "executor/joint.h"
#include "executor/told.h"
#include "executor/tries.h"
#include "os/process.h"
#include "store/overlap.h"

namespace pawl::executor {
namespace {

constexpr std::int64_t kLookEveryMs = 1000;  // a cancelled step ends within two seconds

// One attempt that is worked on under a lease.
class Session {
 public:
  Session(const World& world, const Options& options, Observer& observer, const store::Claim& claim,
          const Planned& plan, Tries tries)
      : world_(world),
        options_(options),
        observer_(observer),
        claim_(claim),
        plan_(plan),
        tries_(std::move(tries)) {
    options_.slots->take();
    for (const auto& row : claim_.steps)
      executions_[row.step_index] = std::max(executions_[row.step_index], row.execution);
  }
  ~Session() { options_.slots->give_back(1 + more_slots_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Result<Turn> run() {
    auto turn = work();
    const bool lost = !turn && (lease_lost_ || turn.error().kind == ErrorKind::kConflict);
    if (lost) PAWL_OK(end_unless_wanted());
    return turn;
  }

 private:
  // The main loop: settle what a crash left, run the remaining steps, judge.
  Result<Turn> work() {
    // A crash may have come between recording a result and forgetting its spool.
    for (const auto& step : claim_.steps)
      if (step.state == store::StepState::kDone)
        world_.sandboxes.forget(step.sandbox_run_id);
      else if (step.state == store::StepState::kLost)
        world_.sandboxes.forget_lost(step.sandbox_run_id);
    for (;;) {
      PAWL_TRY(const Next next, this->next());
      if (next.one == nullptr) break;
      if (next.one->running) {
        PAWL_OK(start_others(*next.one));
        PAWL_OK(go_on(*next.one));
      } else {
        PAWL_OK(run_step(*next.one, *next.step));
      }
      if (!std::exchange(out_of_budget_, false)) continue;
      // Budget that an agent of the same attempt releases may be enough.
      Try* other = tries_.running();
      if (other == nullptr) return Turn{.kind = Turn::Kind::kOutOfBudget};
      PAWL_OK(go_on(*other));
    }
    PAWL_OK(end_others());
    PAWL_TRY(Try * kept, tries_.choose(world_));
    return conclude(*kept);
  }

  // The attempt is judged by itself first. It is judged again on top of other work as often as phases were
  // accepted meanwhile. That is at most once for each other phase, because each is accepted once.
  Result<Turn> conclude(Try& kept) {
    Try* judged = &kept;
    if (claim_.attempt.joined_round > 0) {
      PAWL_TRY(judged, join(kept, {.attempt = claim_.attempt, .layers = claim_.judged_layers}));
    }
    for (;;) {
      PAWL_OK(run_gates(*judged));
      if (!out_of_budget_) PAWL_OK(ask_hooks(*judged));
      if (out_of_budget_) return Turn{.kind = Turn::Kind::kOutOfBudget};
      PAWL_TRY(const auto turn, finish(*judged, kept));
      if (turn) return *turn;
      PAWL_TRY(auto again, world_.store.judge_again(claim_.lease, ends_.result(), ends_.resume(), now()));
      ends_.recorded();
      for (const auto& row : again.warnings) observer_.budget_nears_its_end(claim_, row);
      PAWL_TRY(judged, join(kept, again));
      observer_.judged_again(claim_, joint_->beside);
    }
  }

  Result<Try*> join(const Try& kept, const store::JudgedAgain& again) {
    PAWL_OK(hold_objects());
    PAWL_TRY(joint_, Joint::load(world_, claim_, again, plan_, kept.attempt));
    return &*joint_->one;
  }

  // The gates of a round; the gates of the attempt itself are over.
  Status run_gates(Try& one) {
    while (joint_ && !one.lost && !out_of_budget_) {
      if (one.running) {
        PAWL_OK(go_on(one));
        continue;
      }
      PAWL_OK(hold_objects());
      PAWL_TRY(const PlannedStep* step, next_step_of(one.attempt, world_, observer_, claim_));
      if (step == nullptr) return {};
      PAWL_OK(run_step(one, *step));
    }
    return {};
  }

  struct Next {
    Try* one = nullptr;                 // the first that is not over; nullptr: one decides, or all are over
    const PlannedStep* step = nullptr;  // nullptr while one of its steps runs
  };
  Result<Next> next() {
    for (auto& one : tries_.all()) {
      if (one.running) return Next{.one = &one};
      if (!one.result) {
        PAWL_OK(hold_objects());
        const PlannedStep* step = nullptr;
        if (!one.lost) {
          PAWL_TRY(step, next_step_of(one.attempt, world_, observer_, claim_));
        }
        if (step != nullptr) return Next{.one = &one, .step = step};
        one.result.emplace();
        if (tries_.are_several()) {
          PAWL_TRY(one.result, one.attempt.worth(one.lost));
        }
      }
      if (tries_.are_several() && decides(*one.result)) break;
    }
    return Next();
  }

  // While a step of `first` runs, agents of the later episodes may run, too.
  Status start_others(const Try& first) {
    if (!tries_.are_several()) return {};
    // The gates run on base before the first agent is paid.
    if (first.running->step->role == StepRole::kBaseline && !first.agent_is_over()) return {};
    PAWL_OK(look_at_others(first));
    std::int64_t others = 0;
    for (const auto& one : tries_.all()) others += one.running && &one != &first ? 1 : 0;
    for (; more_slots_ > others; --more_slots_) options_.slots->give_back(1);
    for (auto& one : tries_.all()) {
      if (!one.waits()) continue;
      if (others == more_slots_) {
        if (!options_.slots->try_take()) return {};
        ++more_slots_;
      }
      PAWL_OK(run_step(one, one.attempt.agent()));
      if (std::exchange(out_of_budget_, false)) return {};
      ++others;
    }
    return {};
  }

  bool has_ended(const Try& one) {
    const auto found = world_.sandboxes.find(one.running->start.sandbox_run_id);
    return found && *found != supervisor::Found::kRunning;
  }

  Status look_at_others(const Try& first) {
    for (auto& one : tries_.all())
      if (&one != &first && one.running && (one.running->found || has_ended(one))) PAWL_OK(look_at(one));
    out_of_budget_ = false;  // the step begins when it can
    return {};
  }

  // An earlier episode decides: running steps of later episodes are ended, and their outcome is still
  // recorded. The deciding result is recorded before they are ended; otherwise a crash could lose both.
  Status end_others() {
    while (Try* one = tries_.running()) {
      if (!planted("episodes_end_too_soon")) PAWL_OK(ends_.record());
      const auto start = std::exchange(one->running, std::nullopt)->start;
      PAWL_OK(world_.sandboxes.abandon(start.sandbox_run_id));
      if (auto run = world_.sandboxes.collect(start.sandbox_run_id, start.sandbox_spec_hash)) {
        PAWL_OK(ends_.take(*one, start, *std::move(run)));
      } else {
        PAWL_OK(ends_.lose(*one, start, Recovery::kCancelled));
      }
    }
    return {};
  }

  Status ask_hooks(Try& kept) {
    if (kept.lost) return {};
    tries_.find_hook(kept);
    while (!out_of_budget_) {
      if (kept.running) {
        PAWL_OK(go_on(kept));
        continue;
      }
      PAWL_OK(hold_objects());
      PAWL_TRY(const PlannedStep* hook, kept.attempt.next_hook());
      if (hook == nullptr) return {};
      PAWL_OK(run_step(kept, *hook));
    }
    return {};
  }

  // Held until a step or a row names the objects. Not held while a step runs: gc would wait for it.
  Status hold_objects() {
    if (hold_) return {};
    PAWL_TRY(hold_, world_.objects.hold());
    for (auto& one : tries_.all()) PAWL_OK(one.attempt.renew_layers());
    if (joint_) PAWL_OK(joint_->one->attempt.renew_layers());
    return {};
  }

  WallTime now() const { return world_.clock.wall(); }

  // Continues a step that runs, as far as the rows say.
  Status go_on(Try& one) { return one.running->found ? look_at(one) : wait_for(one); }

  // Finds out the state of a step that no process waited for.
  Status look_at(Try& one) {
    const auto [step, start, found] = *one.running;
    PAWL_TRY(const auto state, world_.sandboxes.find(start.sandbox_run_id));
    switch (state) {
      case supervisor::Found::kRunning:
        if (planted("running_steps_abandoned")) return give_up(one);
        PAWL_OK(need_objects(one));
        PAWL_OK(ends_.note(start, Recovery::kReattach));
        one.running->found = false;
        return {};
      case supervisor::Found::kSpooled:
        if (planted("results_not_adopted")) return give_up(one);
        return adopt(one);
      case supervisor::Found::kNothing:
        return give_up(one);
    }
    return {};
  }

  // The process that started the step may have died before its check of the objects ended.
  Status need_objects(Try& one) {
    PAWL_OK(hold_objects());
    return one.attempt.look_at_objects_of(*one.running->step);
  }

  Status adopt(Try& one) {
    const auto& start = one.running->start;
    const bool compares = !planted("spec_hash_not_compared");
    auto run = world_.sandboxes.collect(start.sandbox_run_id, compares ? start.sandbox_spec_hash : "");
    if (!run) return give_up(one);  // belongs to another spec, or is damaged
    if (one.running->found) {
      PAWL_OK(need_objects(one));
      PAWL_OK(ends_.note(start, Recovery::kAdopt));
    }
    return settle(one, *std::move(run));
  }

  // Starts one step, under its marker.
  Status run_step(Try& one, const PlannedStep& step) {
    if (options_.stop && options_.stop()) return fail(ErrorKind::kCancelled, "asked to stop");
    PAWL_OK(hold_objects());
    store::StepStart start = {.sandbox_run_id = os::uuid7(now(), world_.random),
                              .step_index = step.index,
                              .gate_id = step.gate_id,
                              .step_name = step_name(step),
                              .label = label_of(claim_.phase.phase_id, step, claim_.attempt.number),
                              .execution = 1 + executions_[step.index],
                              .episode = step.episode,
                              .counted = counted(step.role),
                              .others_run = tries_.running() != nullptr};
    PAWL_TRY(const auto context, one.attempt.context_of(step));
    PAWL_TRY(const auto spec, one.attempt.spec_of(step, context));
    if (step.role == StepRole::kAgent || is_hook(step.role)) PAWL_OK(one.attempt.objects_fit());
    start.sandbox_spec_hash = sandbox::spec_hash(spec);
    start.reserved_ms = spec.time_budget_seconds * 1000;
    agent::Spent spent;
    if (step.role == StepRole::kAgent) {
      PAWL_TRY(spent, tries_.spending(world_, one, start));
    }
    if (planted("marker_after_start"))
      PAWL_OK(world_.sandboxes.start(start.sandbox_run_id, claim_.run.backend, spec, context, {}));
    const auto begun = world_.store.begin_step(claim_.lease, start, ends_.result(), ends_.resume(), now());
    if (!begun && begun.error().kind == ErrorKind::kExhausted &&
        start.counted == store::Counted::kDoctorCall) {
      // Another phase of the run used its last call meanwhile.
      one.attempt.give_up(step);
      return {};
    }
    if (!begun) return std::unexpected(begun.error());
    ends_.recorded();
    for (const auto& row : begun->warnings) observer_.budget_nears_its_end(claim_, row);
    out_of_budget_ = !begun->started;
    if (out_of_budget_) return {};
    executions_[step.index] = start.execution;
    observer_.step_started(claim_, start);
    std::optional<agent::Context> agent;
    if (step.role == StepRole::kAgent)
      agent = agent_of(claim_, one.attempt.phase(), step.episode, *begun, spent);
    if (!planted("marker_after_start"))
      PAWL_OK(world_.sandboxes.start(start.sandbox_run_id, claim_.run.backend, spec, context, agent));
    one.attempt.look_beside();
    hold_.reset();  // the step's row names the objects now
    one.running = Running{.step = &step, .start = std::move(start)};
    one.began = true;
    return {};
  }

  Status wait_for(Try& one) {
    hold_.reset();
    const auto start = one.running->start;
    bool another_ended = false;
    const auto waited = world_.sandboxes.wait(start.sandbox_run_id, [&] {
      if (must_leave()) return true;
      another_ended = tries_.one_waits() && std::ranges::any_of(tries_.all(), [&](const Try& other) {
                        return &other != &one && other.running && !other.running->found && has_ended(other);
                      });
      return another_ended;
    });
    if (!waited && another_ended && !lease_lost_) return look_at_others(one);
    PAWL_OK(waited);
    auto run = world_.sandboxes.collect(start.sandbox_run_id, start.sandbox_spec_hash);
    if (!run) return give_up(one);
    return settle(one, *std::move(run));
  }

  // Takes a result, or loses the step. An agent that was killed, or that was ended because the run's budget
  // is spent, continues in the same attempt when it has stored state from which it can continue.
  Status settle(Try& one, sandbox::SandboxRun run) {
    const auto& [step, start, found] = *one.running;
    if (run.unsaved > 0) one.unsaved = unsaved_event(run, one.attempt.phase());
    const bool signaled = run.outcome == sandbox::Outcome::kSignaled, killed = was_killed(run);
    if (step->role == StepRole::kAgent && (signaled || killed) &&
        one.attempt.phase().resume.policy == plan::ResumePolicy::kReExecute &&
        start.execution < store::kExecutionsPerStepMax) {
      PAWL_TRY(const bool spent, budget_is_spent(world_, claim_, run, start, one.told_seq));
      PAWL_TRY(const bool goes_on, world_.episodes.can_go_on(episode_of(claim_, start.episode)));
      const bool unsaved =
          run.unsaved > 0 && signaled && one.attempt.phase().durable == plan::Durable::kRequired;
      if (unsaved && goes_on) PAWL_OK(check_room(world_, claim_, run));
      if ((killed || spent || unsaved) && goes_on) return give_up(one);
    }
    const Running ended = *std::exchange(one.running, std::nullopt);
    return ends_.take(one, ended.start, std::move(run));
  }

  // The result is lost. First make sure that this id never runs again. The resume policy decides for an agent's
  // step; the steps of gates and hooks change no state outside, and run again.
  Status give_up(Try& one) {
    const Running ended = *std::exchange(one.running, std::nullopt);
    const auto& [step, start, found] = ended;
    PAWL_OK(world_.sandboxes.abandon(start.sandbox_run_id));
    const auto& resume = one.attempt.phase().resume;
    const auto policy = step->role == StepRole::kAgent ? resume.policy : plan::ResumePolicy::kReExecute;
    Recovery recovery = decide_recovery(supervisor::Found::kNothing, policy, start.execution);
    if (recovery == Recovery::kProbe) {
      PAWL_TRY(auto salvaged, world_.sandboxes.salvage(start.sandbox_run_id, resume.probe));
      // Markers of an attempt that was reserved in this boot are of this boot; others may be, too.
      const bool same_boot = of_one_boot(claim_.attempt.executor, claim_.lease.owner);
      recovery = after_probe(answer_of(salvaged, same_boot), start.execution);
      if (recovery == Recovery::kProbed) {
        PAWL_OK(ends_.note(start, recovery));
        return ends_.take(one, start, std::move(salvaged.run));
      }
    }
    PAWL_OK(ends_.lose(one, start, recovery));
    if (recovery == Recovery::kReExecute) return run_step(one, *step);
    if (is_hook(step->role)) {
      one.attempt.give_up(*step);
      return {};
    }
    const char* outcome = recovery == Recovery::kCrashLoop ? "crash_loop" : "lost";
    one.lost =
        LostStep{.gate_id = start.gate_id, .outcome = outcome, .escalate = recovery == Recovery::kEscalate};
    return {};
  }

  // No value: others were accepted meanwhile, and the gates have not seen its work on top of theirs.
  Result<std::optional<Turn>> finish(Try& judged, const Try& kept) {
    PAWL_OK(hold_objects());
    PAWL_TRY(auto end, end_of(judged, {}));
    end.agent_layer = kept.attempt.agent_layer();
    PAWL_TRY(const auto finished, commit(judged, end));
    if (finished.behind) return std::optional<Turn>();
    ends_.recorded();
    // Only success removes what an agent has stored, and only for its own episode.
    if (finished.state == store::PhaseState::kComplete)
      for (auto& one : tries_.all())
        if (&one == &kept || planted("episodes_cleared_together"))
          world_.episodes.forget(episode_of(claim_, one.attempt.episode()));
    if (!finished.ended_steps.empty()) pay_or_tell(world_, observer_);
    for (const auto& row : finished.warnings) observer_.budget_nears_its_end(claim_, row);
    observer_.attempt_ended(claim_, end, finished);
    return std::optional(Turn{.kind = Turn::Kind::kAttempt,
                              .run_ended = finished.run_ended,
                              .run_id = claim_.run.run_id,
                              .phase_id = claim_.phase.phase_id});
  }

  // Looks for an overlap with accepted work. The transaction only looks at work accepted since.
  Result<store::Finished> commit(Try& judged, store::AttemptEnd& end) {
    const auto overlaps = [this](const std::string& a, const std::string& b) {
      return may_overlap(world_.objects, a, b);
    };
    const auto finish = [&] {
      return world_.store.finish(claim_.lease, ends_.result(), ends_.resume(), end, overlaps, now());
    };
    const auto& attempt = joint_ ? joint_->claim.attempt : claim_.attempt;
    PAWL_TRY(auto looked, look_beside(world_.store, attempt, end.accepted_layer, 0, overlaps));
    if (!looked.overlapping) {
      end.looked_up_to = looked.up_to;
      PAWL_TRY(auto finished, finish());
      if (!finished.overlapping) return finished;
      looked.overlapping = std::move(finished.overlapping);
    }
    const auto agent_layer = end.agent_layer;
    PAWL_TRY(end, end_of(judged, {judged.attempt.overlap_signal(*looked.overlapping)}));
    end.agent_layer = agent_layer;
    return finish();
  }

  Result<store::AttemptEnd> end_of(Try& judged, const std::vector<gates::Signal>& extra) {
    for (auto& one : tries_.all()) PAWL_OK(one.attempt.objects_fit());
    PAWL_TRY(auto end, judged.attempt.judge(extra, judged.lost));
    end.episodes = tries_.rows();
    return end;
  }

  // The lease was lost. Its new owner re-attaches to the running steps. A step with a closed marker has no
  // owner: an operator ended the phase, perhaps just before the step began. Such a step is ended here.
  Status end_unless_wanted() {
    if (tries_.running() == nullptr) return {};
    PAWL_TRY(const auto steps, world_.store.steps(claim_.run.run_id, claim_.phase.phase_id));
    for (const auto& one : tries_.all()) {
      if (!one.running) continue;
      const auto& id = one.running->start.sandbox_run_id;
      const auto row = std::ranges::find(steps, id, &store::StepRow::sandbox_run_id);
      if (row == steps.end() || row->state == store::StepState::kOpen) continue;
      PAWL_OK(world_.sandboxes.abandon(id));
      world_.sandboxes.forget_lost(id);
    }
    pay_or_tell(world_, observer_);
    return {};
  }

  // Called a few times a second while a step runs: extends the lease, and notices when it is lost.
  bool must_leave() {
    if (options_.stop && options_.stop()) return true;
    const MonoTime time = world_.clock.mono();
    if (time.micros - last_look_.micros >= kLookEveryMs * 1000) {
      last_look_ = time;
      const auto held = world_.store.holds(claim_.lease);
      lease_lost_ = held && !*held;
      if (lease_lost_) return true;
    }
    if (time.micros - last_heartbeat_.micros < options_.lease_ms * 1000 / 3) return false;
    last_heartbeat_ = time;
    const auto status = world_.store.heartbeat(claim_.lease, now(), time, options_.lease_ms);
    // A store that is busy or full for a moment costs a heartbeat, not the step.
    lease_lost_ = !status && status.error().kind == ErrorKind::kConflict;
    return lease_lost_;
  }

  const World& world_;
  const Options& options_;
  Observer& observer_;
  const store::Claim& claim_;
  const Planned& plan_;
  Tries tries_;
  std::unique_ptr<Joint> joint_;                     // the newest round
  std::map<std::int64_t, std::int64_t> executions_;  // markers so far, by step_index
  std::int64_t more_slots_ = 0;                      // beside the slot of the claim
  Ends ends_{world_, observer_, claim_};
  std::optional<workspace::Hold> hold_;
  MonoTime last_heartbeat_ = world_.clock.mono();  // the claim counts as a heartbeat
  MonoTime last_look_;
  bool lease_lost_ = false;
  bool out_of_budget_ = false;  // a step did not begin
};

Result<Tries> load_tries(const World& world, const store::Claim& claim, const Planned& plan) {
  PAWL_TRY(const auto hold, world.objects.hold());
  return Tries::load(world, claim, plan);
}

}  // namespace

Result<Turn> work_on(const World& world, const Options& options, Observer& observer,
                     const store::Claim& claim, const Planned& plan) {
  PAWL_TRY(const auto judged_by, with_gates_of_tier(world, claim, plan));
  PAWL_TRY(auto tries, load_tries(world, claim, judged_by));
  return Session(world, options, observer, claim, judged_by, std::move(tries)).run();
}

}  // namespace pawl::executor
