// Says what a run waits for, and which command would move it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/accepted.h"
#include "cli/context.h"
#include "cli/questions.h"
#include "cli/say.h"
#include "cli/visible.h"
#include "executor/executor.h"
#include "executor/open_world.h"
#include "os/locks.h"
#include "os/process.h"
#include "sandbox/backend.h"
#include "store/write_lock.h"
#include "workspace/objects.h"

namespace pawl::cli {
namespace {

constexpr std::int64_t kMaxAttemptsMost = 100;  // the most that --max-attempts takes

struct Reason {
  std::string waits_for;  // nothing | person | executor | backend | lease | lock | not_before | budget
  std::string phase_id;
  std::string sentence, command;
};

std::int64_t ms_between(const std::string& earlier, WallTime now) {
  const auto then = parse_rfc3339(earlier);
  return then ? std::max<std::int64_t>(0, (now.micros - then->micros) / 1000) : 0;
}

// A phase that failed for good or was escalated keeps no other waiting, but a person may want to know.
Reason of_ended(store::Store& store, const store::RunRow& run, const std::vector<store::PhaseRow>& phases) {
  const auto failed = std::ranges::find(phases, store::PhaseState::kFailed, &store::PhaseRow::state);
  if (failed == phases.end())
    return {.waits_for = "nothing",
            .sentence = fmt::format("the run is {}: it waits for nothing", name(run.state)),
            .command = "pawl inspect " + run.run_id};
  const bool has_work = work_to_approve(store, run.run_id, failed->phase_id).has_value();
  return {.waits_for = "person",
          .phase_id = failed->phase_id,
          .sentence =
              fmt::format("the run is {}: phase {} is {} ({}), and only a person moves it{}", name(run.state),
                          failed->phase_id, name(failed->outcome), failed->last_failure_reason,
                          has_work ? "; `pawl approve` takes its work as it is" : ""),
          .command = fmt::format("pawl retry {} {}", run.run_id, failed->phase_id)};
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

// Describes the step of an open marker: it runs, is over, or does not run because it has not begun or is
// lost.
Result<std::string> of_step(const State& state, const store::RunRow& run, const store::StepRow& step,
                            WallTime now) {
  PAWL_TRY(const auto client, executor::make_client(state.folder, run.backend));
  PAWL_TRY(const auto found, client->find(step.sandbox_run_id));
  const std::string since = duration_text(ms_between(step.started_at, now));
  switch (found) {
    case sandbox::Found::kRunning:
      return fmt::format("step {} runs for {}", step.label, since);
    case sandbox::Found::kSpooled:
      return fmt::format("step {} is over, and its result is not recorded yet", step.label);
    case sandbox::Found::kNothing:
      break;
  }
  return fmt::format("step {} is to run since {}, and does not run", step.label, since);
}

Result<Reason> of_lease(const State& state, const store::RunRow& run, const store::PhaseRow& phase,
                        WallTime now) {
  PAWL_TRY(const auto steps, state.store->steps(phase.run_id, phase.phase_id));
  const auto open = std::ranges::find(steps, store::StepState::kOpen, &store::StepRow::state);
  std::string step = "between two steps";
  if (open != steps.end()) {
    PAWL_TRY(step, of_step(state, run, *open, now));
  }
  const auto owner = os::parse_identity(phase.lease_owner);
  const std::string who =
      owner ? fmt::format("process {} on {}", owner->pid, owner->host) : phase.lease_owner;
  return Reason{
      .waits_for = "lease",
      .phase_id = phase.phase_id,
      .sentence = fmt::format(
          "phase {} is being worked on by {}: {} (its lease, renewed while it lives, is good until {:.19}Z)",
          phase.phase_id, who, step, phase.lease_expires_at),
      .command = fmt::format("pawl logs -f {} {}", phase.run_id, phase.phase_id)};
}

// The agent runs and may do other work meanwhile, but only a person can give the answer.
Reason of_question(const OpenQuestion& open) {
  return {
      .waits_for = "person",
      .phase_id = open.key.goal_id,
      .sentence = fmt::format("phase {} is being worked on, and its agent asks a person", open.key.goal_id),
      .command = answer_command(open.key.run_id)};
}

Reason of_claimable(const store::RunRow& run, const store::PhaseRow& phase) {
  const auto backend = sandbox::make_backend(run.backend);
  if (const auto usable = backend ? (*backend)->usable() : Status(std::unexpected(backend.error())); !usable)
    return {.waits_for = "backend",
            .phase_id = phase.phase_id,
            .sentence = fmt::format("phase {} can go on as soon as a sandbox can be made: {}", phase.phase_id,
                                    usable.error().message),
            .command = "pawl sandbox health"};
  return {.waits_for = "executor",
          .phase_id = phase.phase_id,
          .sentence = fmt::format("phase {} can go on, and nobody works on it", phase.phase_id),
          .command = "pawl resume " + run.run_id};
}

// A process that makes or finds objects takes this lock, and waits as long as another holds it exclusively. A
// process that writes to the database waits for half a minute. Both are held for moments only, as a rule.
Reason of_locks(const State& state, Reason reason) {
  const std::string objects = workspace::lock_path(state.folder);
  const auto objects_holder = [&] { return os::lock_holder(objects, os::LockKind::kFlock); };
  const auto database_holder = [&] { return store::write_lock_holder(state.location); };
  std::string what = "the lock of the objects (" + objects + ")";
  auto holder = lasting_holder(objects_holder);
  if (!holder) {
    what = "the database's write lock";
    holder = lasting_holder(database_holder);
  }
  if (!holder) return reason;
  reason.waits_for = "lock";
  reason.sentence +=
      fmt::format("; {} has {}, and what needs it waits until it lets go", os::to_text(*holder), what);
  reason.command = holder->pid > 0 ? fmt::format("ps -o pid,etime,args -p {}", holder->pid) : "lslocks";
  return reason;
}

Result<Reason> reason_of(const State& state, const store::RunRow& run,
                         const std::vector<store::PhaseRow>& phases, WallTime now) {
  auto& store = *state.store;
  auto request = executor::request_now(os::SystemClock());
  request.run_ids = {run.run_id};
  PAWL_TRY(const auto found, store.candidate(request));
  if (found.phase) return of_claimable(run, *found.phase);
  if (!found.waited_for) return of_ended(store, run, phases);
  const auto& phase = *found.waited_for;
  if (found.nothing == store::Nothing::kLeased) return of_lease(state, run, phase, now);
  Reason reason{.phase_id = phase.phase_id, .sentence = found.waits_for};
  if (found.nothing == store::Nothing::kBudget) {
    reason.waits_for = "budget";
    const auto spent = spent_budget(store, run);
    reason.command =
        fmt::format("pawl budget {} {}", run.run_id, cap_option(spent.value_or(store::BudgetRow())));
    return reason;
  }
  if (found.nothing == store::Nothing::kReserved) {
    reason.waits_for = "budget";
    reason.command = "pawl status " + run.run_id;
    return reason;
  }
  const bool stalled = found.nothing == store::Nothing::kStalled;
  reason.waits_for = stalled ? "person" : "not_before";
  reason.command = "pawl resume " + run.run_id;
  // An older version left the phase so. It gets one attempt more than it has used, or fails when it has used
  // all.
  if (stalled)
    reason.command +=
        fmt::format(" --max-attempts {} --operator-ack", std::min(phase.attempts_used + 1, kMaxAttemptsMost));
  return reason;
}

std::string barrier(const std::vector<store::PhaseRow>& phases, const std::string& phase_id) {
  const auto on = std::ranges::find(phases, phase_id, &store::PhaseRow::phase_id);
  if (on == phases.end()) return "";
  const auto behind = std::ranges::count_if(phases, [&](const auto& phase) {
    return phase.state == store::PhaseState::kQueued && phase.tier_index > on->tier_index;
  });
  return behind == 0 ? "" : fmt::format("; {} of later tiers wait for its tier", behind);
}

Status why(const StateOptions& options, const std::string& text) {
  PAWL_TRY(const State state, open_state(options));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(text));
  PAWL_TRY(const auto run, state.store->run(run_id));
  PAWL_TRY(const auto phases, state.store->phases(run_id));
  PAWL_TRY(auto reason, reason_of(state, run, phases, os::SystemClock().wall()));
  PAWL_TRY(const auto questions, open_questions(state, run_id));
  if (!questions.empty() && reason.waits_for == "lease") reason = of_question(questions.front());
  if (run.state == store::RunState::kExecuting) reason = of_locks(state, std::move(reason));
  reason.sentence += barrier(phases, reason.phase_id);
  if (options.json) {
    print_json({{"run_id", run_id},
                {"state", name(run.state)},
                {"waits_for", reason.waits_for},
                {"phase_id", reason.phase_id},
                {"sentence", reason.sentence},
                {"command", reason.command},
                {"questions", questions_json(questions)}});
    return {};
  }
  say("{}\n  {}\n", visible(reason.sentence), reason.command);
  for (const auto& question : questions) say("{}\n  {}\n", question_line(question), answer_command(run_id));
  return {};
}

}  // namespace

void add_why(const Command& program) {
  const Command command = program.add("why", "Say what a run waits for, and which command helps");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  command.required("RUN", *run, kRunHelp);
  add_state_options(command, *options);
  command.footer(
      "Reads only. With --json, waits_for is one of nothing, person, executor, backend, lease, lock, "
      "not_before, budget.\n\n"
      "Example:\n  pawl why last");
  command.on_run([=] {
    const auto status = why(*options, *run);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
