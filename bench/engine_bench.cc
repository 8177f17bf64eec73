// The engine alone: attempts with an agent's step and a gate's step, whose sandboxes are in memory and end at
// once. This measures the executor, the store and the disk: four durable transitions per attempt (claim, two
// markers, the end). For comparison, it also makes the same number of bare SQLite commits of one small row.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "amount.h"
#include "executor/executor.h"
#include "os/process.h"
#include "plan/parse.h"
#include "scratch_store.h"

namespace {

using namespace pawl;  // NOLINT(google-build-using-namespace)
using workspace::Workspaces;

const int kPhasesOfRun = amount(200);
constexpr int kTransitionsOfAttempt = 4;
// One worker runs few attempts per turn, so a turn is short even where a commit takes 4 ms. There are many
// turns (bench/in_process.py).
constexpr int kRunsOfOne = 2;
const int kBareCommits = kRunsOfOne * kPhasesOfRun * kTransitionsOfAttempt;

// Agents without a request.
class NoEpisodes final : public pawl::executor::Journals {
 public:
  pawl::Result<pawl::agent::Reported> reported_since(const pawl::agent::EpisodeKey&, std::int64_t) override {
    return pawl::agent::Reported();
  }
  pawl::Result<pawl::agent::Spent> spent(const pawl::agent::EpisodeKey&) override {
    return pawl::agent::Spent();
  }
  pawl::Result<bool> can_go_on(const pawl::agent::EpisodeKey&) override { return false; }
  pawl::Result<bool> can_save(std::int64_t) override { return true; }
  void forget(const pawl::agent::EpisodeKey&) override {}
};

class InstantSandboxes final : public supervisor::StepRunner {
 public:
  Status start(const std::string&, const std::string&, const sandbox::SandboxSpec&,
               const std::vector<supervisor::ContextFile>&,
               const std::optional<pawl::supervisor::AgentStep>&) override {
    return {};
  }
  Result<supervisor::Found> find(const std::string&) override { return supervisor::Found::kNothing; }
  Status wait(const std::string&, const std::function<bool()>&) override { return {}; }
  Result<sandbox::SandboxRun> collect(const std::string& sandbox_run_id, const std::string&) override {
    return sandbox::SandboxRun{.run_id = sandbox_run_id,
                               .backend = "namespace",
                               .gate_isolation_class = "shared_kernel",
                               .outcome = sandbox::Outcome::kExited,
                               .exit_code = 0};
  }
  Status abandon(const std::string&) override { return {}; }
  Result<supervisor::Salvage> salvage(const std::string&, const std::vector<std::string>&,
                                      const secrets::Redactor::Values&) override {
    return supervisor::Salvage{};
  }
  Result<supervisor::KeptWork> keep_work(const std::string&, const secrets::Redactor::Values&) override {
    return supervisor::KeptWork{};
  }
  Status report_usage(const supervisor::PrintedUsage&) override { return {}; }
  void forget(const std::string&) override {}
  void forget_lost(const std::string&) override {}
  Result<std::string> home_lacks(const agent::EpisodeKey&, const std::string&,
                                 const secrets::Redactor::Values&) override {
    return std::string();
  }
  Result<std::string> hand_home_on(const std::string&, const std::string&, const std::string&,
                                   const secrets::Redactor::Values&) override {
    return std::string("home");
  }
  void forget_homes(const std::string&, const std::string&) override {}
};

class NoObjects final : public workspace::ObjectStore {
 public:
  Result<workspace::Hold> hold() override { return workspace::Hold(); }
  bool has_layer(const std::string&) const override { return true; }
  std::vector<std::string> trees_of(const std::string&) const override { return {"/"}; }
  Status check_before_use(const std::string&, const std::vector<std::string>&) const override { return {}; }
  std::future<Status> check_beside(std::vector<workspace::Used>) const override {
    return std::async(std::launch::deferred, [] { return Status(); });
  }
  Result<std::string> blob_tail(const std::string&, std::uint64_t) const override { return std::string(); }
  Result<std::vector<workspace::File>> files_of(const std::string&, const std::vector<std::string>&,
                                                std::uint64_t, std::size_t) const override {
    return std::vector<workspace::File>();
  }
  Result<std::string> text_at(const std::string&, const std::vector<std::string>&, const std::string& path,
                              std::uint64_t) const override {
    return fail(ErrorKind::kNotFound, path);
  }
  Result<Workspaces::Filtered> without_protected(const std::string&, const std::string&,
                                                 const std::vector<std::string>&, const PathRules&) override {
    return Workspaces::Filtered();
  }
  Result<std::string> lid(const std::string&, const std::vector<std::string>&,
                          const std::vector<std::string>&, const Workspaces::Sight&) const override {
    return std::string();
  }
  bool has_path(const std::string&, const std::vector<std::string>&, const std::string&) const override {
    return true;
  }
  Result<std::string> only(const std::string& layer_id, const std::vector<std::string>&) const override {
    return layer_id;
  }
  Result<Workspaces::Work> without_ignored(const std::string& layer_id, const Workspaces::Source&,
                                           const std::vector<std::string>&) override {
    return Workspaces::Work{.layer_id = layer_id};
  }
  Result<Workspaces::RefusedWork> refused_work(const std::vector<std::string>&, std::int64_t,
                                               const Workspaces::Source&,
                                               const std::vector<std::string>&) const override {
    return Workspaces::RefusedWork();
  }
  Result<bool> leaves_out(const std::string&, const Workspaces::Source&,
                          const std::vector<std::string>&) const override {
    return false;
  }
  Result<Workspaces::Work> without_caches(const std::string& layer_id, const Workspaces::Source&,
                                          const std::vector<std::string>&) override {
    return Workspaces::Work{.layer_id = layer_id};
  }
  Status set_times(const std::string&, const std::string&, const std::vector<std::string>&) const override {
    return {};
  }
  Result<std::vector<std::string>> stack(const std::string&, const std::vector<std::string>&) override {
    return std::vector<std::string>();
  }
  Result<Workspaces::Repository> repository_for(const Workspaces::Source&, const std::vector<std::string>&,
                                                const std::string&) override {
    return Workspaces::Repository();
  }
  Result<std::string> deletion_of(const std::string&, const std::vector<std::string>&,
                                  const std::vector<std::string>&) override {
    return std::string();
  }
  Result<std::vector<std::string>> overlap(const std::string&, const std::string&,
                                           std::size_t) const override {
    return std::vector<std::string>();
  }
  Status each_change(const std::string&, const std::vector<std::string>&, const std::string&,
                     const workspace::ReadsFile&,
                     const std::function<Status(const FileChange&)>&) const override {
    return {};
  }
  Result<workspace::Patch> diff(const std::string&, const std::vector<std::string>&,
                                const std::vector<std::string>&, std::uint64_t) const override {
    return workspace::Patch();
  }
};

std::string plan_text() {
  std::string text =
      "version: 1\nworkflow: bench\nsource: {path: .}\ngates:\n  check: {steps: [{name: unit, run: x}]}\n";
  text += "tiers:\n  - parallel: true\n    phases:\n";
  for (int i = 0; i < kPhasesOfRun; ++i)
    text += fmt::format(
        "      - {{id: p{}, goal: g, agent: {{run: work}}, gates: [check], may_be_empty: true}}\n", i);
  return text;
}

class Database : public ScratchStore {
 public:
  Database() : ScratchStore("engine") {}

  void add_runs(int runs) {
    const std::string text = plan_text();
    const auto rows = executor::rows_of(*plan::parse(text, "plan.yaml").plan);
    for (int i = 0; i < runs; ++i) {
      store::NewRun run;
      const auto now = clock.wall();
      run.run = {.run_id = os::uuid7(now, random),
                 .workflow_id = "bench",
                 .plan_file = "/plan.yaml",
                 .plan_content = "content",
                 .source_path = "/",
                 .base_id = "base",
                 .backend = "namespace",
                 .created_at = rfc3339(now)};
      run.plan_text = text;
      run.plan = rows;
      run.tiers.push_back({.tier_index = 0, .name = "t", .stop_on_failure = true, .parallel = true});
      for (int phase = 0; phase < kPhasesOfRun; ++phase)
        run.phases.push_back({.run_id = run.run.run_id,
                              .phase_id = "p" + std::to_string(phase),
                              .phase_index = phase,
                              .max_attempts = 5});
      PAWL_CHECK(store->create_run(run, now));
    }
  }

  os::SystemClock clock;
  os::SystemRandom random;
};

// Runs attempts until no phase is left to claim.
void work(Database& database, store::Store& store, secrets::Redactor& redactor,
          std::shared_ptr<executor::Plans> plans, int worker) {
  InstantSandboxes sandboxes;
  NoObjects objects;
  os::SystemClock clock;
  os::SystemRandom random;
  executor::Observer observer;
  executor::Options options{.folder = database.folder,
                            .owner = os::to_text(os::this_process()) + "/" + std::to_string(worker),
                            .plans = std::move(plans)};
  NoEpisodes episodes;
  executor::Executor executor({store, sandboxes, sandboxes, objects, clock, random, redactor, episodes},
                              options, observer);
  for (;;) {
    const auto turn = executor.run_one();
    PAWL_CHECK(turn);
    if (turn->kind != executor::Turn::Kind::kAttempt) return;
  }
}

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

void Engine(benchmark::State& state) {
  const int workers = static_cast<int>(state.range(0));
  const int runs = workers == 1 ? kRunsOfOne : 40;
  double attempts = 0, cpu = 0, elapsed = 0;
  for (auto _ : state) {
    Database database;
    database.add_runs(runs);
    std::vector<std::unique_ptr<store::Store>> stores;
    const auto group = *store::open_store_group(database.location, database.sealer);
    for (int i = 0; i < workers; ++i)
      stores.push_back(workers == 1 ? *store::open_store(database.location, database.sealer)
                                    : *group->open());
    const auto plans = std::make_shared<executor::Plans>();
    secrets::Redactor redactor("", {});  // one for all workers, as in a run
    const double cpu_before = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i)
      threads.emplace_back([&, i] { work(database, *stores[i], redactor, plans, i); });
    for (auto& thread : threads) thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(took.count());
    attempts += runs * kPhasesOfRun;
    cpu += cpu_seconds() - cpu_before;
    elapsed += took.count();
  }
  state.counters["transitions_per_s"] = attempts * kTransitionsOfAttempt / elapsed;
  state.counters["cpu_us_per_transition"] = cpu / attempts / kTransitionsOfAttempt * 1e6;
}
BENCHMARK(Engine)->Arg(1)->Arg(64)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);

// The same number of commits, of one small row each.
void BareCommits(benchmark::State& state) {
  Database database;
  sqlite3* raw = nullptr;
  PAWL_CHECK(sqlite3_open((database.folder + "/bare.db").c_str(), &raw) == SQLITE_OK);
  PAWL_CHECK(sqlite3_exec(raw,
                          "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER "
                          "PRIMARY KEY, x TEXT);",
                          nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_stmt* insert = nullptr;
  PAWL_CHECK(sqlite3_prepare_v2(raw, "INSERT INTO t (x) VALUES ('one small row of a few dozen bytes')", -1,
                                &insert, nullptr) == SQLITE_OK);
  for (auto _ : state) {
    PAWL_CHECK(sqlite3_step(insert) == SQLITE_DONE);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  sqlite3_close(raw);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BareCommits)->Iterations(kBareCommits)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
