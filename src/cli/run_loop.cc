#include "cli/run_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "cli/progress.h"
#include "cli/questions.h"
#include "cli/say.h"
#include "cli/visible.h"
#include "executor/executor.h"
#include "executor/start_run.h"
#include "os/file.h"
#include "os/process.h"
#include "os/walls.h"
#include "sandbox/backend.h"

namespace pawl::cli {
namespace {

constexpr std::int64_t kLookAgainMs = 200;     // after this an idle worker looks again
constexpr std::int64_t kBackendGoodMs = 1000;  // for how long a successful check of the backend holds

struct Shared {
  const LoopOptions& options;
  Progress& progress;
  store::StoreGroup* group;  // several workers commit in it; null for a single worker
  const std::shared_ptr<executor::Plans> plans = std::make_shared<executor::Plans>();
  const std::shared_ptr<executor::Slots> slots = std::make_shared<executor::Slots>(options.workers);
  std::mutex mutex;
  std::optional<Error> error;  // the first error; guarded by mutex
  std::string waits_for;       // last printed; guarded by mutex
  std::atomic<bool> failed{false};
};

void fail_all(Shared& shared, Error error) {
  const std::lock_guard guard(shared.mutex);
  if (!shared.error) shared.error = std::move(error);
  shared.failed = true;
}

void say_waiting(Shared& shared, const std::string& waits_for) {
  {
    const std::lock_guard guard(shared.mutex);
    if (shared.waits_for == waits_for) return;
    shared.waits_for = waits_for;
  }
  if (!waits_for.empty()) shared.progress.line(lines_of("waiting: {}", waits_for));
}

// Checks whether a sandbox can be made. While none can, no phase is claimed, because the attempt would be
// wasted.
class BackendCheck {
 public:
  explicit BackendCheck(sandbox::Backend& backend) : backend_(backend) {}
  Status usable(MonoTime now) {
    if (now.micros < good_until_.micros) return {};
    auto status = backend_.usable();
    if (status) good_until_.micros = now.micros + kBackendGoodMs * 1000;
    return status;
  }

 private:
  sandbox::Backend& backend_;
  MonoTime good_until_;
};

// No step sees the folder that a run is about, wherever the folder lies.
Result<std::unique_ptr<sandbox::SandboxClient>> client_of(const State& state,
                                                          const std::vector<std::string>& run_ids,
                                                          const std::string& backend) {
  std::vector<std::string> sources;
  for (const auto& run_id : run_ids) {
    PAWL_TRY(const auto run, state.store->run(run_id));
    sources.push_back(run.source_path);
  }
  return make_client(state.folder, backend, std::move(sources));
}

// Whether another process holds what a turn needs, and will release it. An errno means that something is
// broken.
bool is_held(const Error& error) { return error.kind == ErrorKind::kUnavailable && error.sys_errno == 0; }

void wait(Shared& shared, os::Clock& clock, const std::string& waits_for) {
  say_waiting(shared, waits_for);
  clock.sleep_ms(kLookAgainMs);
}

// Returns whether work may be left after this turn.
Result<bool> take_turn(Shared& shared, const State& state, executor::Executor& executor, os::Clock& clock) {
  PAWL_TRY(const auto turn, executor.run_one());
  switch (turn.kind) {
    case executor::Turn::Kind::kAttempt:
      say_waiting(shared, "");  // the wait is over
      // Changes to other phases of the run are projected when the run is over, or when it is left.
      PAWL_OK(ledger::project_phase(*state.store, state.folder, turn.run_id, turn.phase_id));
      return true;
    case executor::Turn::Kind::kDetached:
      return false;
    case executor::Turn::Kind::kLeaseLost:
    case executor::Turn::Kind::kOutOfBudget:
      return true;
    case executor::Turn::Kind::kNothing:
      break;
  }
  if (turn.nothing == store::Nothing::kAllTerminal || turn.nothing == store::Nothing::kBudget) return false;
  if (turn.nothing == store::Nothing::kStalled)
    return fail(ErrorKind::kInvalid, "stalled: " + turn.waits_for);
  // With several workers one of them always waits. Only a single worker reports its wait.
  if (shared.options.workers == 1) say_waiting(shared, turn.waits_for);
  clock.sleep_ms(kLookAgainMs);
  return true;
}

// One worker: takes turns until its runs are over, it is interrupted, or an error occurs.
Status work(Shared& shared, int worker) {
  PAWL_TRY(State state, open_state(shared.options.state, shared.options.folder));
  if (shared.group != nullptr) {
    PAWL_TRY(state.store, shared.group->open());
  }
  PAWL_TRY(const auto first, state.store->run(shared.options.run_ids.front()));
  PAWL_TRY(const auto sandboxes, client_of(state, shared.options.run_ids, first.backend));
  const auto objects = workspace::object_store(*state.workspaces);
  PAWL_TRY(const auto redactor, secrets::open_redactor(state.folder));
  const auto episodes = executor::open_episodes(state.folder);
  os::SystemClock clock;
  os::SystemRandom random;
  Tiers tiers;
  for (const auto& run_id : shared.options.run_ids) {
    PAWL_TRY(tiers[run_id], state.store->tiers(run_id));
  }
  Narrator narrator(shared.progress, worker, std::move(tiers));
  executor::Options options{.folder = state.folder,
                            .run_ids = shared.options.run_ids,
                            .owner = os::to_text(os::this_process()) + "/" + std::to_string(worker),
                            .plans = shared.plans,
                            .slots = shared.slots};
#ifdef PAWL_TEST_HOOKS
  // A test need not wait half a minute for a lease to run out.
  if (const auto text = os::environment_value("PAWL_LEASE_MS")) options.lease_ms = std::atoll(text->c_str());
#endif
  options.stop = [&shared] { return os::interrupted() || shared.failed; };
  executor::Executor executor({*state.store, *sandboxes, *objects, clock, random, *redactor, *episodes},
                              options, narrator);
  PAWL_TRY(const auto backend, sandbox::make_backend(first.backend));
  BackendCheck check(*backend);
  while (!options.stop()) {
    if (const auto usable = check.usable(clock.mono()); !usable) {
      wait(shared, clock, usable.error().message);
      continue;
    }
    const auto more = take_turn(shared, state, executor, clock);
    if (!more && !is_held(more.error())) return std::unexpected(more.error());
    // Work that the turn began goes on at the next turn.
    if (!more) wait(shared, clock, more.error().message);
    if (more && !*more) break;
  }
  return {};
}

// The judging code ends an attempt that it has no memory for. Elsewhere a lack of memory ends the program
// with a message.
Status work_in_memory(Shared& shared, std::int64_t worker) {
  try {
    return work(shared, worker);
  } catch (const std::bad_alloc&) {
    if (!os::walls().memory) throw;
  }
  return fail(ErrorKind::kExhausted, "no memory is left; nothing is lost, go on with `pawl resume`");
}

// The end of the run's own chain, as the newest head was signed; "" without one.
std::string ledger_head(store::Store& store, const std::string& run_id) {
  const auto signed_head = store.head(run_id);
  if (!signed_head || !*signed_head) return "";
  const auto body = parse_json((*signed_head)->body);
  return body ? text_in(object_in(object_in(*body, "chains"), ""), "head") : "";
}

void print_summary(std::FILE* out, store::Store& store, const store::RunRow& run,
                   const std::vector<store::PhaseRow>& phases) {
  say_to(out, "\nrun {} is {}\n", run.run_id, name(run.state));
  std::size_t width = 5;
  for (const auto& phase : phases) width = std::max(width, phase.phase_id.size());
  for (const auto& phase : phases) {
    say_to(out, "  {:<{}}  {:<9}  {:<20}  attempts {}/{}  {}\n", phase.phase_id, width, name(phase.state),
           name(phase.outcome), phase.attempts_used, phase.max_attempts, visible(phase.last_failure_reason));
  }
  if (const std::string head = ledger_head(store, run.run_id); !head.empty())
    say_to(out, "  ledger head {}\n", head);
}

void print_next(std::FILE* out, const store::RunRow& run, const std::string& where,
                const std::optional<store::BudgetRow>& spent) {
  const std::string id = run.run_id;
  if (spent)
    return say_to(out, "Next: pawl budget {0}{1} {2}   then pawl resume {0}{1}\n", id, where,
                  cap_option(*spent));
  switch (run.state) {
    case store::RunState::kComplete:
      say_to(out, "Next: pawl diff {0}{1}   pawl apply {0}{1}   pawl verify {0}{1}\n", id, where);
      break;
    case store::RunState::kFailed:
      say_to(out, "Next: pawl inspect {0}{1}   pawl retry {0} PHASE{1}   then pawl resume {0}{1}\n", id,
             where);
      break;
    case store::RunState::kExecuting:
      say_to(out, "Next: pawl resume {}{}\n", id, where);
      break;
    case store::RunState::kCancelled:
      say_to(out, "Next: pawl retry {0}{1}   then pawl resume {0}{1}\n", id, where);
      break;
  }
}

// Returns " --dir FOLDER" when the printed commands would not find the folder from here.
std::string where_option(const LoopOptions& options) {
  const auto found = find_folder({.dir = "", .store = options.state.store});
  return found && *found == options.folder ? "" : " --dir " + shell_word(options.folder);
}

// A stopped agent goes on as often as a step may be executed. After that its attempt has failed, like any
// other.
std::string what_goes_on(store::Store& store, const std::vector<store::PhaseRow>& phases) {
  for (const auto& phase : phases) {
    if (phase.state != store::PhaseState::kExecuting) continue;
    const auto attempts = store.attempts(phase.run_id, phase.phase_id);
    if (!attempts || attempts->empty() || !attempts->back().finished) continue;
    return fmt::format("attempt {} has failed, and the next one of {} starts afresh",
                       attempts->back().attempt_id, phase.phase_id);
  }
  return "nothing is lost";
}

int finish(const LoopOptions& options, const std::optional<Error>& error) {
  const auto state = open_state(options.state, options.folder);
  int worst = kDone;
  if (state) {
    for (const auto& run_id : options.run_ids) {
      const auto run = state->store->run(run_id);
      const auto phases = state->store->phases(run_id);
      if (!run || !phases) continue;
      // The summary follows whatever happened, so that a projection that can't be written is not reported.
      static_cast<void>(ledger::project_run(*state->store, state->folder, run_id));
      const int failed = error && error->kind == ErrorKind::kForged ? kLedgerCorrupted : kGeneral;
      int code = error ? failed : exit_code_of(*run, *phases);
      const auto spent = spent_budget(*state->store, *run);
      if (spent && !error) code = kNeedsPerson;
      if (os::interrupted() && run->state == store::RunState::kExecuting) code = kInterrupted;
      worst = std::max(worst, code);
      if (options.state.json) {
        print_json(run_summary(*state->store, *run, code));
        continue;
      }
      print_summary(stdout, *state->store, *run, *phases);
      if (code == kInterrupted)
        say("Interrupted. A step that runs goes on under its supervisor; nothing is lost.\n");
      if (spent) say("Stopped: {}; {}.\n", budget_text(*spent), what_goes_on(*state->store, *phases));
      print_next(stdout, *run, where_option(options), spent);
    }
  }
  if (error) return report(*error);
  return state ? worst : report(state.error());
}

}  // namespace

int exit_code_of(const store::RunRow& run, const std::vector<store::PhaseRow>& phases) {
  const auto any = [&](store::PhaseOutcome outcome) {
    return std::ranges::any_of(phases, [&](const auto& phase) { return phase.outcome == outcome; });
  };
  if (any(store::PhaseOutcome::kFailedUnrecoverable)) return kUnrecoverable;
  if (any(store::PhaseOutcome::kEscalate)) return kNeedsPerson;
  return run.state == store::RunState::kComplete ? kDone : kGeneral;
}

Json run_summary(store::Store& store, const store::RunRow& run, int exit_code) {
  Json phases = Json::array();
  if (const auto rows = store.phases(run.run_id)) {
    for (const auto& phase : *rows) {
      phases.push_back({{"phase_id", phase.phase_id},
                        {"state", name(phase.state)},
                        {"outcome", name(phase.outcome)},
                        {"attempts_used", phase.attempts_used},
                        {"attempts_total", phase.attempts_total},
                        {"last_failure_reason", phase.last_failure_reason}});
    }
  }
  return {{"run_id", run.run_id},
          {"state", name(run.state)},
          {"exit_code", exit_code},
          {"phases", std::move(phases)},
          {"ledger_head", ledger_head(store, run.run_id)}};
}

namespace {
// Checks that the machine has what the plans need beside a sandbox.
Status check_needs(sandbox::Backend& backend, store::Store& store, const std::vector<std::string>& run_ids) {
  bool traceable = false;  // asked once
  for (const auto& run_id : run_ids) {
    PAWL_TRY(const auto run, store.run(run_id));
    PAWL_TRY(const auto plan, executor::common_of(store, run));
    if (plan.traced.empty() || traceable) continue;
    if (const auto status = backend.traceable(); !status)
      return fail(
          ErrorKind::kDenied,
          fmt::format(
              "run {}: {}: trace: {}{}", run_id, plan.traced, status.error().message,
              run_ids.size() == 1 ? "" : "\n`pawl resume RUN` continues the runs without `trace: true`."));
    traceable = true;
  }
  return {};
}

// Degraded mechanisms are always reported: each step of the run lacks them.
void say_degraded(sandbox::Backend& backend) {
  for (const auto& mechanism : backend.does_without())
    tell("pawl: {} is degraded: {} (`pawl sandbox health` says what to do)\n", mechanism.name,
         mechanism.detail);
}

// Runs before any claim: a machine on which the run can't go on must cost no attempt.
Status check_backend(const LoopOptions& options) {
  PAWL_TRY(const State state, open_state(options.state, options.folder));
  for (const auto& run_id : options.run_ids) {
    PAWL_TRY(const auto run, state.store->run(run_id));
    PAWL_OK(state.workspaces->check_owner(run.base_id, {}));
  }
  PAWL_TRY(const auto first, state.store->run(options.run_ids.front()));
  PAWL_TRY(const auto backend, sandbox::make_backend(first.backend));
  backend->sweep();
  auto status = backend->usable();
  if (status) status = check_needs(*backend, *state.store, options.run_ids);
  if (status) say_degraded(*backend);
  if (!status)
    status.error().message +=
        "\nNo attempt was spent. See `pawl sandbox health`, then go on with `pawl resume" +
        (options.run_ids.size() == 1 ? " " + options.run_ids.front() : "") + "`.";
  return status;
}

Result<std::unique_ptr<store::StoreGroup>> open_group(const LoopOptions& options) {
  PAWL_TRY(const State state, open_state(options.state, options.folder));
  return store::open_store_group(state.location, state.sealer);
}
}  // namespace

int run_loop(const LoopOptions& options) {
  os::catch_interrupts();
  if (const auto status = check_backend(options); !status) return report(status.error());
  std::optional<Error> error;
  {
    Progress progress(options.state.json ? stderr : stdout, options.folder);
    std::unique_ptr<store::StoreGroup> group;
    if (options.workers > 1) {
      auto opened = open_group(options);
      if (!opened) return report(opened.error());
      group = *std::move(opened);
    }
    Shared shared{.options = options, .progress = progress, .group = group.get()};
    const QuestionTeller teller(options, progress);
    std::vector<std::thread> threads;
    for (std::int64_t worker = 0; worker < options.workers; ++worker) {
      threads.emplace_back([&shared, worker] {
        if (auto status = work_in_memory(shared, worker); !status)
          fail_all(shared, std::move(status).error());
      });
    }
    for (auto& thread : threads) thread.join();
    error = std::move(shared.error);
  }
  return finish(options, error);
}

}  // namespace pawl::cli
