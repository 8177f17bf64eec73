// Claims in a database of 1,000,000 phases in 10,000 runs.
#include <benchmark/benchmark.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "amount.h"
#include "scratch_store.h"

namespace {

const int kRuns = amount(10'000);
constexpr int kPhases = 100;

std::string run_name(int run) {
  const std::string digits = std::to_string(run);
  return "01900000-0000-7000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

pawl::WallTime start_of(int run) { return {1'767'225'600'000'000 + run}; }

// A run with the ledger rows and the signed head that every new run has.
pawl::store::NewRun new_run(int run) {
  pawl::store::NewRun out;
  out.run = {.run_id = run_name(run),
             .workflow_id = "w",
             .plan_file = "f",
             .plan_content = "c",
             .source_path = "/s",
             .base_id = "b",
             .backend = "namespace",
             .created_at = rfc3339(start_of(run))};
  out.tiers.push_back({.name = "t", .stop_on_failure = true});
  out.plan_text = "p";
  out.plan.common = "c";
  for (int phase = 0; phase < kPhases; ++phase) {
    out.phases.push_back({.run_id = out.run.run_id,
                          .phase_id = "p" + std::to_string(phase),
                          .phase_index = phase,
                          .max_attempts = 5});
    out.plan.phases.push_back({.phase_index = phase, .row = "a row"});
  }
  return out;
}

struct FullDatabase : ScratchStore {
  FullDatabase() : ScratchStore("claim") {
    for (int run = 0; run < kRuns; ++run) PAWL_CHECK(store->create_run(new_run(run), start_of(run)));
    sqlite3* raw = nullptr;
    PAWL_CHECK(sqlite3_open((folder + "/pawl.db").c_str(), &raw) == SQLITE_OK);
    PAWL_CHECK(sqlite3_exec(raw, "ANALYZE", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(raw);
  }
};

void Claim(benchmark::State& state) {
  FullDatabase database;
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
BENCHMARK(Claim)->Iterations(amount(5000))->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
