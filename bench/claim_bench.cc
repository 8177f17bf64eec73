// Claiming in a database of 1,000,000 phases in 10,000 runs.
#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ledger/ledger.h"
#include "os/file.h"
#include "store/store.h"

namespace {

constexpr int kRuns = 10'000, kPhases = 100;

std::string run_name(int run) {
  const std::string digits = std::to_string(run);
  return "01900000-0000-7000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

struct Database {
  Database() {
    char name[] = "build/bench-claim-XXXXXX";
    PAWL_CHECK(mkdtemp(name) != nullptr);
    folder = name;
    auto sealer = pawl::ledger::open_sealer(folder);
    store = *pawl::store::open_store("sqlite:" + folder + "/pawl.db", *sealer);
    sqlite3* raw = nullptr;
    PAWL_CHECK(sqlite3_open((folder + "/pawl.db").c_str(), &raw) == SQLITE_OK);
    const std::string fill =
        "BEGIN; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(kRuns - 1) +
        ") INSERT INTO runs (run_id, workflow_id, plan_text, plan_file, plan_content, source_path, base_id, "
        "base_commit,"
        " backend, created_at) SELECT '01900000-0000-7000-8000-' || printf('%012d', i), 'w', '', 'f', 'c', "
        "'/s', 'b', '',"
        " 'namespace', '2026-01-01T00:00:00.000000Z' FROM n;"
        "INSERT INTO plans SELECT run_id, 'c', 'p' FROM runs;"
        "INSERT INTO tiers SELECT run_id, 0, 't', 1, 0 FROM runs;"
        "INSERT INTO budgets (run_id, unit) SELECT run_id, 'sandbox_ms' FROM runs;"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(kPhases - 1) +
        ") INSERT INTO phases (run_id, phase_id, tier_index, phase_index) SELECT run_id, 'p' || i, 0, i FROM "
        "runs, n;"
        "INSERT INTO planned_phases SELECT run_id, tier_index, phase_index, 'a row' FROM phases;"
        "COMMIT; ANALYZE;";
    PAWL_CHECK(sqlite3_exec(raw, fill.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(raw);
  }
  ~Database() { static_cast<void>(pawl::os::remove_tree(folder)); }
  std::string folder;
  std::unique_ptr<pawl::store::Store> store;
};

void Claim(benchmark::State& state) {
  Database database;
  std::vector<double> micros;
  int run = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    auto claimed =
        database.store->claim({.run_ids = {run_name(run * 7919 % kRuns)},
                               .owner = "bench",
                               .now = {1'767'323'045'000'000 + run},
                               .model_of_attempt = [](const auto&, auto) { return std::string(); }});
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    PAWL_CHECK(claimed && claimed->claim);
    micros.push_back(took.count());
    state.SetIterationTime(took.count() / 1e6);
    ++run;
  }
  std::ranges::sort(micros);
  state.counters["p50_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
}
BENCHMARK(Claim)->Iterations(5000)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
