#include "views/reason.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json.h"
#include "executor/executor.h"
#include "os/clock.h"
#include "sandbox/backend.h"
#include "store/write_lock.h"
#include "supervisor/supervisor.h"
#include "views/accepted.h"
#include "views/budget.h"
#include "views/provider_wait.h"
#include "workspace/objects.h"

namespace pawl::views {
namespace {

Reason of_phase(Reason::Kind kind, const store::PhaseRow& phase) {
  return {.kind = kind, .phase_id = phase.phase_id, .phase = phase};
}

// A phase that failed for good or was escalated keeps no other waiting, but a person may want to know.
Reason of_ended(store::Reader& store, const std::vector<store::PhaseRow>& phases) {
  const auto failed = std::ranges::find(phases, store::PhaseState::kFailed, &store::PhaseRow::state);
  if (failed == phases.end()) return {};
  Reason out = of_phase(Reason::Kind::kFailed, *failed);
  out.has_work = work_to_approve(store, failed->run_id, failed->phase_id).has_value();
  return out;
}

Result<Reason> of_lease(const State& state, const store::RunRow& run, const store::PhaseRow& phase) {
  Reason out = of_phase(Reason::Kind::kLeased, phase);
  PAWL_TRY(const auto steps, state.store->steps(run.run_id, phase.phase_id));
  const auto open = std::ranges::find(steps, store::StepState::kOpen, &store::StepRow::state);
  if (open == steps.end()) return out;
  PAWL_TRY(const auto found, supervisor::find_step(state.folder, open->sandbox_run_id));
  out.step = {.label = open->label, .started_at = open->started_at, .found = found};
  return out;
}

// Asks for all open phases, as the start of an executor does. `phase` is the one that it would claim.
Result<Reason> of_claimable(store::Reader& store, const store::RunRow& run, const store::PhaseRow& phase,
                            bool is_worked_on) {
  const auto backend = sandbox::make_backend(run.backend);
  const auto usable = backend ? (*backend)->check({}) : Status(std::unexpected(backend.error()));
  Reason out = of_phase(usable ? Reason::Kind::kFree : Reason::Kind::kNoSandbox, phase);
  if (!usable) {
    out.detail = usable.error().message;
    return out;
  }
  // The executor of another phase may have a variable that this process has not.
  if (is_worked_on) return out;
  PAWL_TRY(out.credential, executor::unseen_credential(store, run.run_id));
  if (!out.credential) return out;
  out.kind = Reason::Kind::kNoCredential;
  out.phase_id = out.credential->phase_id;
  PAWL_TRY(out.phase, store.phase(run.run_id, out.phase_id));
  return out;
}

// Asks for the phase that a claim would find now.
Result<Reason> of_candidate(const State& state, const store::RunRow& run,
                            const std::vector<store::PhaseRow>& phases) {
  auto& store = *state.store;
  auto request = executor::request_now(os::SystemClock());
  request.run_ids = {run.run_id};
  PAWL_TRY(const auto found, store.candidate(request));
  const bool is_worked_on =
      std::ranges::any_of(phases, [&](const auto& phase) { return store::lease_is_live(phase, request); });
  if (found.phase) return of_claimable(store, run, *found.phase, is_worked_on);
  if (!found.waited_for) return of_ended(store, phases);
  if (found.not_claimable == store::NotClaimable::kLeased) return of_lease(state, run, *found.waited_for);
  Reason out = of_phase(Reason::Kind::kNotBefore, *found.waited_for);
  out.detail = found.waits_for;
  out.wait = provider_wait(store, *found.waited_for);
  if (found.not_claimable == store::NotClaimable::kPerson) out.kind = Reason::Kind::kRefused;
  if (found.not_claimable == store::NotClaimable::kReserved) out.kind = Reason::Kind::kReserved;
  if (found.not_claimable == store::NotClaimable::kStalled) out.kind = Reason::Kind::kStalled;
  if (found.not_claimable == store::NotClaimable::kBudget) {
    out.kind = Reason::Kind::kBudgetSpent;
    out.spent = spent_budget(store, run);
  }
  return out;
}

// Returns the holder when every look finds the same one. A holder for the moment of a transaction does not
// count.
template <typename Look>
std::optional<os::LockHolder> lasting_holder(const Look& look) {
  constexpr int kLooks = 50;
  constexpr std::int64_t kPauseMs = 10;
  auto first = look();
  for (int looks = 1; first && looks < kLooks; ++looks) {
    os::SystemClock().sleep_ms(kPauseMs);
    if (look() != first) return std::nullopt;
  }
  return first;
}

// A process that makes or finds objects takes this lock, and waits as long as another holds it exclusively. A
// process that writes to the database waits for half a minute. Both are held for moments only, as a rule.
std::optional<HeldLock> held_lock(const State& state) {
  const std::string objects = workspace::lock_path(state.folder);
  if (auto holder = lasting_holder([&] { return os::lock_holder(objects, os::LockKind::kFlock); }))
    return HeldLock{.what = HeldLock::What::kObjects, .path = objects, .holder = *std::move(holder)};
  if (auto holder = lasting_holder([&] { return store::write_lock_holder(state.location); }))
    return HeldLock{.what = HeldLock::What::kDatabase, .path = "", .holder = *std::move(holder)};
  return std::nullopt;
}

std::int64_t later_phases(const std::vector<store::PhaseRow>& phases, const std::string& phase_id) {
  const auto on = std::ranges::find(phases, phase_id, &store::PhaseRow::phase_id);
  if (on == phases.end()) return 0;
  return std::ranges::count_if(phases, [&](const auto& phase) {
    return phase.state == store::PhaseState::kQueued && phase.tier_index > on->tier_index;
  });
}

// Adds what the steps of the newest attempt say of its agents. A step that waits for its provider has told why.
Status add_remarks(store::Reader& store, const store::PhaseRow& phase, std::vector<AgentRemark>& to) {
  constexpr auto kNewest = std::numeric_limits<std::int64_t>::max();
  PAWL_TRY(const auto attempts, store.attempts_before(phase.run_id, phase.phase_id, kNewest, 1));
  if (attempts.empty()) return {};
  PAWL_TRY(const auto steps, store.steps_of_attempt(phase.run_id, attempts.front().attempt_id));
  for (const auto& step : steps) {
    if (step.gate_id != store::kAgentGate || step.state != store::StepState::kDone) continue;
    PAWL_TRY(const auto run, parse_json(step.run));
    const bool has_exited = text_in(run, "outcome") == sandbox::name(sandbox::Outcome::kExited);
    const std::string reason = text_in(run, "reason");
    if (has_exited && !reason.empty()) to.push_back({.phase_id = phase.phase_id, .reason = reason});
  }
  return {};
}

Result<std::vector<AgentRemark>> remarks_of(store::Reader& store, const Reason& reason,
                                            const std::vector<store::PhaseRow>& phases) {
  std::vector<AgentRemark> out;
  for (const auto& phase : phases)
    if (reason.kind == Reason::Kind::kOver || phase.phase_id == reason.phase_id)
      PAWL_OK(add_remarks(store, phase, out));
  return out;
}

}  // namespace

WaitsFor waits_for(const Reason& reason) {
  if (reason.lock) return WaitsFor::kLock;
  switch (reason.kind) {
    case Reason::Kind::kOver:
      return WaitsFor::kNothing;
    case Reason::Kind::kFailed:
    case Reason::Kind::kAsked:
    case Reason::Kind::kNoCredential:
    case Reason::Kind::kRefused:
    case Reason::Kind::kStalled:
      return WaitsFor::kPerson;
    case Reason::Kind::kNoSandbox:
      return WaitsFor::kBackend;
    case Reason::Kind::kFree:
      return WaitsFor::kExecutor;
    case Reason::Kind::kLeased:
      return WaitsFor::kLease;
    case Reason::Kind::kBudgetSpent:
    case Reason::Kind::kReserved:
      return WaitsFor::kBudget;
    case Reason::Kind::kNotBefore:
      return WaitsFor::kNotBefore;
  }
  return WaitsFor::kNothing;
}

Result<RunReason> reason_of(const State& state, const std::string& run_id) {
  RunReason out;
  PAWL_TRY(out.run, state.store->run(run_id));
  PAWL_TRY(const auto phases, state.store->phases(run_id));
  PAWL_TRY(out.reason, of_candidate(state, out.run, phases));
  PAWL_TRY(out.questions, open_questions(state, run_id));
  // The agent runs and may do other work meanwhile, but only a person can give the answer.
  if (!out.questions.empty() && out.reason.kind == Reason::Kind::kLeased)
    out.reason = {.kind = Reason::Kind::kAsked, .phase_id = out.questions.front().key.goal_id};
  if (out.run.state == store::RunState::kExecuting) out.reason.lock = held_lock(state);
  PAWL_TRY(out.agents, remarks_of(*state.store, out.reason, phases));
  out.reason.later_phases = later_phases(phases, out.reason.phase_id);
  return out;
}

}  // namespace pawl::views
