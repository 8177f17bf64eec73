// The bytes of ledger that `pawl verify` checks per second, on one core, in memory.
#include <benchmark/benchmark.h>

#include <string>

#include "amount.h"
#include "base/hash.h"
#include "ledger/ledger.h"

namespace {

// A chain of one long phase, with markers and results like those of runs.
pawl::ledger::Files make_files(std::size_t bytes) {
  pawl::ledger::Files files;
  std::string text, prev(pawl::kZeroHash);
  for (std::int64_t seq = 1; text.size() < bytes; ++seq) {
    const std::string id = "01900000-0000-7000-8000-" + std::to_string(100'000'000'000 + seq / 2);
    const pawl::Json row =
        seq % 2 == 1
            ? pawl::Json{{"type", "pre_execute"},
                         {"attempt_id", "fix.1"},
                         {"label", "fix.check.unit.attempt1"},
                         {"sandbox_run_id", id},
                         {"sandbox_spec_hash", pawl::kZeroHash},
                         {"started_at", "2026-01-02T03:04:05.678901Z"},
                         {"execution", 1}}
            : pawl::Json{
                  {"type", "executed"},   {"attempt_id", "fix.1"},   {"label", "fix.check.unit.attempt1"},
                  {"sandbox_run_id", id}, {"outcome", "exited"},     {"exit_code", 0},
                  {"duration_ms", 1234},  {"layer", pawl::kZeroHash}};
    auto sealed = pawl::ledger::seal_row(pawl::members_of(row), seq, {1'767'323'045'000'000 + seq}, prev);
    text += sealed.line + "\n";
    prev = sealed.hash;
  }
  files.phases.emplace_back("fix", std::move(text));
  return files;
}

void VerifyLedger(benchmark::State& state) {
  const auto files = make_files(static_cast<std::size_t>(amount(64 << 20)));
  for (auto _ : state) {
    auto report = pawl::ledger::verify(files, {.live = true});
    benchmark::DoNotOptimize(report);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * files.phases[0].second.size()));
}
BENCHMARK(VerifyLedger)->Unit(benchmark::kMillisecond);

}  // namespace
