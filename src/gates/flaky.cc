#include "gates/flaky.h"

#include <algorithm>

#include "base/mutant.h"
#include "gates/signal_parts.h"

namespace pawl::gates {
namespace {

// Mutants (base/mutant.h).
bool takes_flaky(bool flaky_passes) {
  if (mutant("flaky_gate_passes")) return true;
  return flaky_passes;
}
bool hides_flaky() { return mutant("flaky_gate_is_silent"); }

const Signal* failing_signal(const GateRun& run, const std::string& key) {
  const auto found = std::ranges::find_if(
      run.signals, [&](const Signal& signal) { return !signal.passed && key_of(signal) == key; });
  return found == run.signals.end() ? nullptr : &*found;
}

std::string results_of(const std::vector<GateRun>& runs) {
  std::string out;
  for (const auto& run : runs)
    out += std::string(out.empty() ? "" : ", ") + (run.passed ? "passed" : "failed");
  return out;
}

}  // namespace

GateRun run_of(const GateFacts& facts) {
  GateRun out;
  out.signals = evaluate(facts);
  out.passed = gate_passed(facts, out.signals);
  for (auto& name : failing_of(all_reports(facts.steps, kTestsFamily).all))
    out.failing.insert(std::move(name));
  return out;
}

bool differ(const GateRun& one, const GateRun& other) {
  if (one.passed != other.passed) return true;
  return !one.passed && one.failing != other.failing;
}

GateRun settled(std::vector<GateRun> runs, bool flaky_passes) {
  const GateRun& first = runs.front();
  const GateRun& last = runs.back();
  if (!differ(first, last)) return std::move(runs.front());
  GateRun out{.signals = first.signals, .failing = first.failing};
  for (const auto& signal : last.signals) {
    if (signal.passed || failing_signal(first, key_of(signal)) != nullptr) continue;
    std::erase_if(out.signals, [&](const Signal& other) { return key_of(other) == key_of(signal); });
    out.signals.push_back(signal);
  }
  const bool passes = takes_flaky(flaky_passes) && (first.passed || last.passed);
  for (auto& signal : out.signals) {
    if (signal.passed) continue;
    const auto key = key_of(signal);
    const bool in_both = failing_signal(first, key) != nullptr && failing_signal(last, key) != nullptr;
    if (in_both && first.failing == last.failing) continue;
    signal.flaky = hides_flaky() ? "" : results_of(runs);
    signal.missing = false;
    signal.passed = passes;
  }
  out.passed = passes;
  return out;
}

}  // namespace pawl::gates
