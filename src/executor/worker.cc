#include "executor/worker.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "executor/open_world.h"
#include "executor/plans.h"
#include "ledger/ledger.h"
#include "os/defences.h"
#include "os/process.h"

namespace pawl::executor {
namespace {

constexpr std::int64_t kLookAgainMs = 200;     // after this an idle worker looks again
constexpr std::int64_t kBackendGoodMs = 1000;  // for how long a successful check of the backend holds

// The values that the workers of one call share.
class Workers {
 public:
  Workers(const State& state, const WorkersOptions& options, WorkersObserver& observer,
          store::StoreGroup* group)
      : state_(state), options_(options), observer_(observer), group_(group) {}

  const WorkersOptions& options() const { return options_; }
  std::unique_ptr<Observer> observer_of(int worker) { return observer_.of_worker(worker); }
  bool should_stop() const { return failed_ || (options_.stop && options_.stop()); }

  // The state for one more thread.
  Result<State> open() const {
    PAWL_TRY(State state, open_again(state_));
    if (group_ != nullptr) {
      PAWL_TRY(state.store, group_->open());
    }
    return state;
  }

  // The options of one worker's executor. All share plans and slots.
  Options executor_options(int worker) const {
    Options out{.folder = state_.folder,
                .run_ids = options_.run_ids,
                .owner = os::to_text(os::this_process()) + "/" + std::to_string(worker),
                .plans = plans_,
                .slots = slots_};
#ifdef PAWL_TEST_HOOKS
    // A test need not wait half a minute for a lease to run out.
    if (const auto text = os::environment_value("PAWL_LEASE_MS")) out.lease_ms = std::atoll(text->c_str());
#endif
    out.stop = [this] { return should_stop(); };
    return out;
  }

  // Stops all workers.
  void fail_all(Error error) {
    const std::lock_guard guard(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
  }
  // REQUIRES: the threads have ended.
  Status end() {
    if (error_) return std::unexpected(*std::move(error_));
    return {};
  }

  void report_wait(const std::string& waits_for) {
    {
      const std::lock_guard guard(mutex_);
      if (waits_for_ == waits_for) return;
      waits_for_ = waits_for;
    }
    observer_.waits(waits_for);
  }

 private:
  const State& state_;
  const WorkersOptions& options_;
  WorkersObserver& observer_;
  store::StoreGroup* const group_;  // several workers commit in it; null for a single worker
  const std::shared_ptr<Plans> plans_ = std::make_shared<Plans>();
  const std::shared_ptr<Slots> slots_ = std::make_shared<Slots>(options_.workers);
  std::mutex mutex_;
  std::optional<Error> error_;  // the first error; guarded by mutex_
  std::string waits_for_;       // last reported; guarded by mutex_
  std::atomic<bool> failed_{false};
};

// Checks whether a sandbox can be made. While none can, no phase is claimed, because the attempt would be
// wasted.
class BackendCheck {
 public:
  explicit BackendCheck(sandbox::Backend& backend) : backend_(backend) {}
  Status usable(MonoTime now) {
    if (now < good_until_) return {};
    auto status = backend_.check({});
    if (status) good_until_.micros = now.micros + kBackendGoodMs * 1000;
    return status;
  }

 private:
  sandbox::Backend& backend_;
  MonoTime good_until_;
};

// Whether another process holds what a turn needs, and will release it. An errno means that something is
// broken.
bool is_held(const Error& error) { return error.kind == ErrorKind::kUnavailable && error.sys_errno == 0; }

void wait(Workers& workers, os::Clock& clock, const std::string& waits_for) {
  workers.report_wait(waits_for);
  clock.sleep_ms(kLookAgainMs);
}

// Returns whether work may be left after this turn.
Result<bool> take_turn(Workers& workers, const State& state, Executor& executor, os::Clock& clock) {
  PAWL_TRY(const auto turn, executor.run_one());
  switch (turn.kind) {
    case Turn::Kind::kAttempt:
      workers.report_wait("");  // the wait is over
      // Changes to other phases of the run are projected when the run is over, or when it is left.
      PAWL_OK(ledger::project_phase(*state.store, state.folder, turn.run_id, turn.phase_id));
      return true;
    case Turn::Kind::kDetached:
      return false;
    case Turn::Kind::kLeaseLost:
    case Turn::Kind::kOutOfBudget:
    case Turn::Kind::kWaits:
      return true;
    case Turn::Kind::kNothing:
      break;
  }
  if (turn.not_claimable == store::NotClaimable::kAllTerminal ||
      turn.not_claimable == store::NotClaimable::kPerson ||
      turn.not_claimable == store::NotClaimable::kBudget)
    return false;
  if (turn.not_claimable == store::NotClaimable::kStalled)
    return fail(ErrorKind::kInvalid, "stalled: " + turn.waits_for);
  // With several workers one of them always waits. Only a single worker reports its wait.
  if (workers.options().workers == 1) workers.report_wait(turn.waits_for);
  clock.sleep_ms(kLookAgainMs);
  return true;
}

// No step sees the folders that the runs are about, wherever those folders lie.
Result<std::vector<std::string>> sources_of(store::Reader& store, const std::vector<std::string>& run_ids) {
  std::vector<std::string> out;
  for (const auto& run_id : run_ids) {
    PAWL_TRY(auto run, store.run(run_id));
    out.push_back(std::move(run.source_path));
  }
  return out;
}

// One worker: takes turns until its runs are over, it is told to stop, or an error occurs.
Status work(Workers& workers, int worker) {
  PAWL_TRY(const State state, workers.open());
  const auto& run_ids = workers.options().run_ids;
  PAWL_TRY(const auto first, state.store->run(run_ids.front()));
  PAWL_TRY(auto sources, sources_of(*state.store, run_ids));
  PAWL_TRY(const auto open, OpenWorld::open(state, std::move(sources)));
  const auto observer = workers.observer_of(worker);
  const World world = open->world();
  world.redactor.learn(workers.options().credentials);
  Executor executor(world, workers.executor_options(worker), *observer);
  PAWL_TRY(const auto backend, sandbox::make_backend(first.backend));
  BackendCheck check(*backend);
  while (!workers.should_stop()) {
    if (const auto usable = check.usable(world.clock.mono()); !usable) {
      wait(workers, world.clock, usable.error().message);
      continue;
    }
    const auto more = take_turn(workers, state, executor, world.clock);
    if (!more && !is_held(more.error())) return std::unexpected(more.error());
    // Work that the turn began goes on at the next turn.
    if (!more) wait(workers, world.clock, more.error().message);
    if (more && !*more) break;
  }
  return {};
}

// The judging code ends an attempt that it has no memory for. Elsewhere a lack of memory ends the workers
// with a message.
Status work_in_memory(Workers& workers, int worker) {
  try {
    return work(workers, worker);
  } catch (const std::bad_alloc&) {
    if (!os::defences().memory) throw;
  }
  return fail(ErrorKind::kExhausted, "no memory is left; nothing is lost, go on with `pawl resume`");
}

}  // namespace

Status check_bases(const State& state, const std::vector<std::string>& run_ids) {
  for (const auto& run_id : run_ids) {
    PAWL_TRY(const auto run, state.store->run(run_id));
    PAWL_OK(state.workspaces->check_owner(run.base_id, {}));
  }
  return {};
}

Status check_machine(const State& state, sandbox::Backend& backend, const std::vector<std::string>& run_ids) {
  backend.clean_up();
  state.workspaces->remove_left_over();
  PAWL_OK(backend.check({}));
  bool traceable = false;  // asked once
  for (const auto& run_id : run_ids) {
    PAWL_TRY(const auto run, state.store->run(run_id));
    PAWL_TRY(const auto plan, common_of(*state.store, run));
    if (plan.traced.empty() || traceable) continue;
    if (const auto status = backend.check({.enable_trace = true}); !status)
      return fail(
          ErrorKind::kDenied,
          fmt::format(
              "run {}: {}: trace: {}{}", run_id, plan.traced, status.error().message,
              run_ids.size() == 1 ? "" : "\n`pawl resume RUN` continues the runs without `trace: true`."));
    traceable = true;
  }
  return {};
}

Status run_workers(const State& state, const WorkersOptions& options, WorkersObserver& observer) {
  std::unique_ptr<store::StoreGroup> group;
  if (options.workers > 1) {
    PAWL_TRY(group, store::open_store_group(state.location, state.sealer));
  }
  Workers workers(state, options, observer, group.get());
  std::vector<std::thread> threads;
  for (int worker = 0; worker < options.workers; ++worker) {
    threads.emplace_back([&workers, worker] {
      if (auto status = work_in_memory(workers, worker); !status) workers.fail_all(std::move(status).error());
    });
  }
  for (auto& thread : threads) thread.join();
  return workers.end();
}

}  // namespace pawl::executor
