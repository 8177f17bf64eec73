#include "executor/executor.h"

#include <algorithm>
#include <csignal>

#include "base/money.h"
#include "base/planted.h"
#include "executor/attempt.h"
#include "executor/recovery.h"
#include "executor/start_run.h"
#include "executor/told.h"
#include "os/process.h"
#include "store/cost_row.h"
#include "supervisor/supervisor.h"

namespace pawl::executor {
namespace {

constexpr std::int64_t kLookEveryMs = 1000;  // a cancelled step ends within two seconds

bool is_hook(StepRole role) { return role == StepRole::kDoctor || role == StepRole::kReplan; }

store::Counted counted(StepRole role) {
  if (role == StepRole::kDoctor) return store::Counted::kDoctorCall;
  return role == StepRole::kReplan ? store::Counted::kReplan : store::Counted::kNothing;
}

// One attempt being worked on under a lease.
class Session {
 public:
  Session(const World& world, const Options& options, Observer& observer, const store::Claim& claim,
          Attempt attempt)
      : world_(world), options_(options), observer_(observer), claim_(claim), attempt_(std::move(attempt)) {}

  // The heart: settle what a crash left, run what remains, judge.
  Result<Turn> run() {
    // A crash may have come between recording a result and forgetting its spool.
    for (const auto& step : claim_.steps)
      if (step.state != store::StepState::kOpen) world_.sandboxes.forget(step.sandbox_run_id);
    PAWL_OK(settle_open_step());
    while (!lost_ && !out_of_budget_) {
      PAWL_OK(hold_objects());
      PAWL_TRY(const PlannedStep* step, attempt_.next());
      for (const auto& [key, names] : attempt_.take_inventories())
        PAWL_OK(world_.store.put_inventory(key, names));
      if (step == nullptr) break;
      PAWL_OK(run_step(*step, 1 + executions_before(*step)));
    }
    if (out_of_budget_) return Turn{.kind = Turn::Kind::kOutOfBudget};
    return finish();
  }

 private:
  // Until a step or a row names what the attempt counts on. Not while a step runs: gc would wait for it.
  Status hold_objects() {
    if (hold_) return {};
    PAWL_TRY(hold_, world_.objects.hold());
    return attempt_.renew_layers();
  }

  WallTime now() const { return world_.clock.wall(); }

  // Of a step whose lost executions are settled: the budget was used up before the next one.
  std::int64_t executions_before(const PlannedStep& step) const {
    return std::ranges::count_if(claim_.steps, [&](const store::StepRow& row) {
      return row.step_index == step.index && row.state == store::StepState::kLost;
    });
  }

  Status settle_open_step() {
    const auto open = std::ranges::find(claim_.steps, store::StepState::kOpen, &store::StepRow::state);
    if (open == claim_.steps.end()) return {};
    const PlannedStep* step = attempt_.step_at(open->step_index);
    if (step == nullptr) return fail(ErrorKind::kCorrupt, open->label + " is not a step of its plan");
    const store::StepStart start = {.sandbox_run_id = open->sandbox_run_id,
                                    .step_index = open->step_index,
                                    .gate_id = open->gate_id,
                                    .step_name = open->step_name,
                                    .label = open->label,
                                    .sandbox_spec_hash = open->sandbox_spec_hash,
                                    .execution = open->execution};
    PAWL_TRY(const auto found, world_.sandboxes.find(open->sandbox_run_id));
    switch (found) {
      case sandbox::Found::kRunning:
        if (planted("running_steps_abandoned")) return give_up(*step, start);
        PAWL_OK(note(start, Recovery::kReattach));
        return wait_and_take(*step, start);
      case sandbox::Found::kSpooled:
        if (planted("results_not_adopted")) return give_up(*step, start);
        return adopt(*step, start);
      case sandbox::Found::kNothing:
        return give_up(*step, start);
    }
    return {};
  }

  Status adopt(const PlannedStep& step, const store::StepStart& start) {
    const bool compares = !planted("spec_hash_not_compared");
    auto run = world_.sandboxes.collect(start.sandbox_run_id, compares ? start.sandbox_spec_hash : "");
    if (!run) return give_up(step, start);  // of another spec, or damaged: as good as lost
    PAWL_OK(note(start, Recovery::kAdopt));
    return settle(step, start, *std::move(run));
  }

  // Runs one step, again and again as the resume policy says while its results get lost.
  Status run_step(const PlannedStep& step, std::int64_t execution) {
    PAWL_OK(still_wanted());
    PAWL_OK(hold_objects());
    store::StepStart start = {.sandbox_run_id = os::uuid7(now(), world_.random),
                              .step_index = step.index,
                              .gate_id = step.gate_id,
                              .step_name = step_name(step),
                              .label = label_of(claim_.phase.phase_id, step, claim_.attempt.number),
                              .execution = execution,
                              .counted = counted(step.role)};
    PAWL_TRY(const auto context, attempt_.context_of(step));
    PAWL_TRY(const auto spec, attempt_.spec_of(step, context));
    start.sandbox_spec_hash = sandbox::spec_hash(spec);
    start.reserved_ms = spec.time_budget_seconds * 1000;
    agent::Spent spent;
    if (step.role == StepRole::kAgent) {
      PAWL_TRY(spent, spending(start));
    }
    if (planted("marker_after_start"))
      PAWL_OK(world_.sandboxes.start(start.sandbox_run_id, spec, context, ""));
    const auto begun = world_.store.begin_step(claim_.lease, start, result_, resume_, now());
    if (!begun && begun.error().kind == ErrorKind::kExhausted &&
        start.counted == store::Counted::kDoctorCall) {
      // Another phase of the run had its last call meanwhile.
      attempt_.give_up(step);
      return {};
    }
    if (!begun) return std::unexpected(begun.error());
    recorded();
    if (begun->warning) observer_.budget_nears_its_end(claim_, *begun->warning);
    out_of_budget_ = !begun->started;
    if (out_of_budget_) return {};
    observer_.step_started(claim_, start);
    const std::string agent =
        step.role == StepRole::kAgent ? agent_of(claim_, attempt_.phase(), *begun, spent) : "";
    if (!planted("marker_after_start"))
      PAWL_OK(world_.sandboxes.start(start.sandbox_run_id, spec, context, agent));
    hold_.reset();  // the step names what it works on
    return wait_and_take(step, start);
  }

  Status wait_and_take(const PlannedStep& step, const store::StepStart& start) {
    const auto waited = world_.sandboxes.wait(start.sandbox_run_id, [this] { return must_leave(); });
    if (!waited && lease_lost_ && !planted("cancelled_steps_run_on")) PAWL_OK(end_unless_wanted(start));
    PAWL_OK(waited);
    auto run = world_.sandboxes.collect(start.sandbox_run_id, start.sandbox_spec_hash);
    if (!run) return give_up(step, start);
    return settle(step, start, *std::move(run));
  }

  // What an agent's step may spend of the run's tokens and money. Returns what its attempt has spent before.
  Result<agent::Spent> spending(store::StepStart& start) {
    PAWL_TRY(const auto spent, world_.episodes.spent(episode_of(claim_)));
    const auto& budget = attempt_.phase().agent_budget;
    const auto rest = [](const std::optional<std::int64_t>& cap, std::int64_t before) {
      return cap ? std::optional(std::max<std::int64_t>(0, *cap - before)) : std::nullopt;
    };
    start.spends = true;
    start.tokens_most = rest(budget.tokens, spent.tokens);
    start.usd_nanos_most = rest(budget.usd_nanos, spent.usd_micros * 1000);
    return spent;
  }

  // A result, or what stands for none: an agent that was killed, or was ended because the run's budget is
  // spent, goes on in the same attempt when it has kept something to go on from.
  Status settle(const PlannedStep& step, const store::StepStart& start, sandbox::SandboxRun run) {
    // A shell around the agent says it in its exit code (POSIX, 2.8.2, and what all of them do).
    constexpr std::int64_t kKilledInShell = 128 + SIGKILL;
    if (run.unsaved > 0) unsaved_ = unsaved_event(run, attempt_.phase());
    const bool signaled = run.outcome == sandbox::Outcome::kSignaled;
    const bool killed = (signaled && run.reason.empty() && run.signal == SIGKILL) ||
                        (run.outcome == sandbox::Outcome::kExited && run.exit_code == kKilledInShell);
    if (step.role != StepRole::kAgent || !(signaled || killed) ||
        attempt_.phase().resume.policy != plan::ResumePolicy::kReExecute ||
        start.execution >= store::kExecutionsPerStepMax)
      return take(step, start, std::move(run));
    PAWL_TRY(const bool spent, budget_is_spent(run, start));
    PAWL_TRY(const bool goes_on, world_.episodes.can_go_on(episode_of(claim_)));
    const bool unsaved = ended_unsaved(run);
    if (unsaved && goes_on) {
      // Neither an execution nor its money is spent on a disk that is still full.
      PAWL_TRY(const bool has_room, world_.episodes.can_save());
      if (!has_room)
        return fail(ErrorKind::kExhausted, "the agent of " + claim_.attempt.attempt_id +
                                               " was stopped, and what it had kept stays: " + run.reason +
                                               "; free some space, then go on with `pawl resume`");
    }
    if ((killed || spent || unsaved) && goes_on) return give_up(step, start);
    return take(step, start, std::move(run));
  }

  bool ended_unsaved(const sandbox::SandboxRun& run) const {
    return run.unsaved > 0 && run.outcome == sandbox::Outcome::kSignaled &&
           attempt_.phase().durable == plan::Durable::kRequired;
  }

  // Whether it was the run's budget that ended the step, and not what one attempt may spend.
  Result<bool> budget_is_spent(const sandbox::SandboxRun& run, const store::StepStart& start) {
    if (run.reason != supervisor::kUsageCapReason) return false;
    PAWL_TRY(const auto told, told_since(world_, claim_, start.sandbox_run_id, told_seq_));
    PAWL_TRY(const auto budgets, world_.store.budgets(claim_.run.run_id));
    std::int64_t tokens = 0, usd_nanos = 0;
    for (const auto& usage : told.usage) {
      tokens = sum_at_most_max(tokens, sum_at_most_max(usage.input_tokens, usage.output_tokens));
      usd_nanos = sum_at_most_max(usd_nanos, usage.usd_nanos);
    }
    return std::ranges::any_of(budgets, [&](const store::BudgetRow& row) {
      const std::int64_t more = row.unit == store::kTokens ? tokens : usd_nanos;
      return row.unit != store::kSandboxMs && row.cap && sum_at_most_max(row.spent, more) >= *row.cap;
    });
  }

  // The result is lost. Nothing of this id will ever run again; then the resume policy decides. It is about
  // the agent's work: a gate or a hook changes nothing that could not be done once more.
  Status give_up(const PlannedStep& step, const store::StepStart& start) {
    PAWL_OK(world_.sandboxes.abandon(start.sandbox_run_id));
    const auto& resume = attempt_.phase().resume;
    const bool probes = resume.policy == plan::ResumePolicy::kProbe;
    const auto policy =
        probes && step.role != StepRole::kAgent ? plan::ResumePolicy::kReExecute : resume.policy;
    Recovery recovery =
        decide_recovery(sandbox::Found::kNothing,
                        is_hook(step.role) ? plan::ResumePolicy::kReExecute : policy, start.execution);
    if (recovery == Recovery::kProbe) {
      PAWL_TRY(auto found, world_.sandboxes.salvage(start.sandbox_run_id, resume.probe));
      recovery = after_probe(found.exit_code, start.execution);
      if (recovery == Recovery::kProbed) {
        PAWL_OK(note(start, recovery));
        return take(step, start, std::move(found.run));
      }
    }
    resume_ = decision(start, recovery);
    if (!planted("usage_of_lost_steps_dropped")) {
      PAWL_TRY(resume_->told, told_of(step, start));
    }
    resume_->lost_cost_row = store::cost_row({.workflow_id = claim_.run.workflow_id,
                                              .run_id = claim_.run.run_id,
                                              .gate_id = start.gate_id,
                                              .sandbox_run_id = start.sandbox_run_id,
                                              .backend = claim_.run.backend,
                                              .gate_isolation_class = "shared_kernel",
                                              .emitted_at = now()});
    unforgotten_ = start.sandbox_run_id;
    observer_.resumed(claim_, *resume_);
    if (recovery == Recovery::kReExecute) return run_step(step, start.execution + 1);
    if (is_hook(step.role)) {
      attempt_.give_up(step);
      return {};
    }
    const char* outcome = recovery == Recovery::kCrashLoop ? "crash_loop" : "lost";
    lost_ =
        LostStep{.gate_id = start.gate_id, .outcome = outcome, .escalate = recovery == Recovery::kEscalate};
    return {};
  }

  // What the agent told and nobody wrote down yet.
  Result<store::Told> told_of(const PlannedStep& step, const store::StepStart& start) {
    if (step.role != StepRole::kAgent) return store::Told();
    const std::int64_t known = planted("usage_told_again") ? 0 : told_seq_;
    PAWL_TRY(auto told, told_since(world_, claim_, start.sandbox_run_id, known));
    told_seq_ = std::max(told_seq_, told.last_seq);
    if (auto event = std::exchange(unsaved_, std::nullopt)) told.events.push_back(*std::move(event));
    return told;
  }

  Status take(const PlannedStep& step, const store::StepStart& start, sandbox::SandboxRun run) {
    store::StepEnd end{.sandbox_run_id = start.sandbox_run_id,
                       .run = json_text(run),
                       .outcome = std::string(sandbox::name(run.outcome)),
                       .layer = run.layer,
                       .exit_code = run.exit_code,
                       .duration_ms = run.duration_ms};
    PAWL_TRY(end.told, told_of(step, start));
    end.cost_row = store::cost_row({.workflow_id = claim_.run.workflow_id,
                                    .run_id = claim_.run.run_id,
                                    .gate_id = start.gate_id,
                                    .sandbox_run_id = start.sandbox_run_id,
                                    .backend = run.backend,
                                    .gate_isolation_class = run.gate_isolation_class,
                                    .microvm_milliseconds = run.microvm_milliseconds,
                                    .image_pull_bytes = run.image_pull_bytes,
                                    .build_cache_hit = run.build_cache_hit,
                                    .emitted_at = now()});
    if (step.role == StepRole::kAgent) end.agent_layer = run.layer;
    observer_.step_ended(claim_, start, run);
    result_ = std::move(end);
    unforgotten_ = start.sandbox_run_id;
    if (planted("spool_forgotten_too_soon")) world_.sandboxes.forget(start.sandbox_run_id);
    attempt_.record(step.index, std::move(run));
    return {};
  }

  Result<Turn> finish() {
    PAWL_OK(hold_objects());
    PAWL_TRY(auto end, attempt_.judge({}, lost_));
    const auto overlaps = [this](const std::string& a, const std::string& b) {
      return may_overlap(world_.objects, a, b);
    };
    PAWL_TRY(auto finished, world_.store.finish(claim_.lease, result_, resume_, end, overlaps, now()));
    if (finished.overlapping) {
      PAWL_TRY(end, attempt_.judge({overlap_signal(*finished.overlapping)}, lost_));
      PAWL_TRY(finished, world_.store.finish(claim_.lease, result_, resume_, end, overlaps, now()));
    }
    recorded();
    // Success is the only end that takes what an agent has kept.
    if (finished.state == store::PhaseState::kComplete) world_.episodes.forget(episode_of(claim_));
    for (const auto& step : finished.ended_steps) {
      PAWL_OK(world_.sandboxes.abandon(step));
      world_.sandboxes.forget(step);
    }
    if (finished.warning) observer_.budget_nears_its_end(claim_, *finished.warning);
    observer_.attempt_ended(claim_, end, finished);
    return Turn{.kind = Turn::Kind::kAttempt, .run_ended = finished.run_ended};
  }

  gates::Signal overlap_signal(const store::LayerRow& other) const {
    constexpr std::size_t kPathsNamedMax = 10;
    std::string paths;
    if (const auto found = world_.objects.overlap(attempt_.accepted_layer(), other.layer_id, kPathsNamedMax))
      for (const auto& path : *found) paths += (paths.empty() ? "" : ", ") + path;
    return {.kind = "merge",
            .gate_id = "parallel",
            .passed = false,
            .details = {{"overlaps_phase", other.phase_id}, {"paths", paths}},
            .collector = "diff",
            .read = attempt_.accepted_layer()};
  }

  store::ResumeDecision decision(const store::StepStart& start, Recovery recovery) const {
    return {.sandbox_run_id = start.sandbox_run_id,
            .label = start.label,
            .found = std::string(found_name(recovery)),
            .decision = std::string(decision_name(recovery))};
  }

  Status note(const store::StepStart& start, Recovery recovery) {
    const auto made = decision(start, recovery);
    observer_.resumed(claim_, made);
    return world_.store.note_resume(claim_.lease, made, now());
  }

  // What result_ and resume_ said is durable now: the spool is not needed any more.
  void recorded() {
    result_.reset();
    resume_.reset();
    if (!unforgotten_.empty()) world_.sandboxes.forget(unforgotten_);
    unforgotten_.clear();
  }

  Status still_wanted() {
    if (options_.stop && options_.stop()) return fail(ErrorKind::kCancelled, "asked to stop");
    return {};
  }

  // Without the lease: whoever has it now re-attaches to the step. A marker that is closed has nobody: an
  // operator ended the phase, perhaps in the moment before the step began.
  Status end_unless_wanted(const store::StepStart& start) {
    PAWL_TRY(const auto steps, world_.store.steps(claim_.run.run_id, claim_.phase.phase_id));
    const auto row = std::ranges::find(steps, start.sandbox_run_id, &store::StepRow::sandbox_run_id);
    if (row == steps.end() || row->state == store::StepState::kOpen) return {};
    PAWL_OK(world_.sandboxes.abandon(start.sandbox_run_id));
    world_.sandboxes.forget(start.sandbox_run_id);
    return {};
  }

  // Asked a few times a second while a step runs: keeps the lease alive, and notices when it is lost.
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

 private:
  const World& world_;
  const Options& options_;
  Observer& observer_;
  const store::Claim& claim_;
  Attempt attempt_;
  std::optional<store::StepEnd> result_;         // of the last step, not yet recorded
  std::optional<store::ResumeDecision> resume_;  // that closes a lost step, not yet recorded
  std::optional<LostStep> lost_;
  std::optional<workspace::Hold> hold_;
  std::string unforgotten_;
  std::optional<store::Told::Event> unsaved_;        // to be told with the step's end, or its loss
  std::int64_t told_seq_ = claim_.attempt.told_seq;  // with result_ and resume_ recorded
  MonoTime last_heartbeat_ = world_.clock.mono();    // the claim is one
  MonoTime last_look_;
  bool lease_lost_ = false;
  bool out_of_budget_ = false;  // the phase is given back as it is
};

Result<Attempt> load_attempt(const World& world, const store::Claim& claim, const plan::Plan& plan) {
  PAWL_TRY(const auto hold, world.objects.hold());
  return Attempt::load(world, claim, plan);
}

}  // namespace

bool owner_is_dead(std::string_view owner) {
  // Another worker of this very process, as a rule.
  static const std::string own = os::to_text(os::this_process()) + "/";
  if (owner.starts_with(own)) return false;
  const auto identity = os::parse_identity(owner);
  return identity && os::liveness(*identity) == os::Liveness::kDead;
}

store::ClaimRequest request_now(const os::Clock& clock) {
  store::ClaimRequest request{.now = clock.wall(), .mono = clock.mono(), .mono_id = clock.mono_id()};
  request.owner_is_dead = owner_is_dead;
  return request;
}

const plan::Plan* Executor::keep_plan(const std::string& run_id) {
  if (plan_run_id_ != run_id) {
    plan_ = options_.plans->kept(run_id);
    plan_run_id_ = plan_ ? run_id : "";
  }
  return plan_.get();
}

Result<const plan::Plan*> Executor::plan_for(const store::RunRow& run) {
  if (keep_plan(run.run_id) == nullptr) {
    PAWL_TRY(plan_, options_.plans->of(run));
    plan_run_id_ = run.run_id;
  }
  return plan_.get();
}

store::ClaimRequest Executor::claim_request() {
  auto request = request_now(world_.clock);
  request.run_ids = options_.run_ids;
  request.owner = options_.owner;
  request.lease_ms = options_.lease_ms;
  request.owner_is_dead = options_.owner_is_dead;
  request.model_of_attempt = [this](const store::RunRow& run, std::int64_t number) {
    const auto plan = plan_for(run);
    return plan ? (*plan)->model_of_attempt(number) : std::string();
  };
  request.has_plan = [this](const std::string& run_id) { return keep_plan(run_id) != nullptr; };
  return request;
}

Result<Turn> Executor::run_one() {
  PAWL_TRY(const auto found, world_.store.claim(claim_request()));
  if (!found.claim)
    return Turn{.kind = Turn::Kind::kNothing, .nothing = found.nothing, .waits_for = found.waits_for};

  const store::Claim& claim = *found.claim;
  observer_.claimed(claim);
  auto turn = [&]() -> Result<Turn> {
    PAWL_TRY(const auto* plan, plan_for(claim.run));
    PAWL_TRY(auto attempt, load_attempt(world_, claim, *plan));
    return Session(world_, options_, observer_, claim, std::move(attempt)).run();
  }();
  if (turn) return turn;
  // Whatever happened, the phase is free for whoever goes on; a lease that was lost is not ours to give back.
  static_cast<void>(world_.store.release(claim.lease));
  if (turn.error().kind == ErrorKind::kConflict) return Turn{.kind = Turn::Kind::kLeaseLost};
  if (turn.error().kind == ErrorKind::kCancelled)
    return Turn{.kind = options_.stop && options_.stop() ? Turn::Kind::kDetached : Turn::Kind::kLeaseLost};
  return turn;
}

}  // namespace pawl::executor
