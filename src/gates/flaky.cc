#include "gates/flaky.h"

#include <algorithm>

#include "base/mutant.h"
#include "gates/moving.h"
#include "gates/signal_parts.h"

namespace pawl::gates {
namespace {

// Mutants (base/mutant.h).
bool passes_flaky() { return mutant("flaky_gate_passes"); }
bool hides_flaky() { return mutant("flaky_gate_is_silent"); }

bool takes_flaky(bool flaky_passes) { return flaky_passes || passes_flaky(); }

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

// Whether one cause made the signal fail in both runs, although the runs differ. Different tests may make a signal of
// tests fail; its failures have one cause only when both runs lack evidence. Any other signal has one cause.
bool fails_alike(const Signal* in_first, const Signal* in_last) {
  if (in_first == nullptr || in_last == nullptr) return false;
  return in_first->kind != kTestsFamily || (in_first->missing && in_last->missing);
}

// The tests whose failure the gate's signal of tests does not accept, by the names that base holds them to. A
// gate without that signal has none.
std::vector<std::string> failing_tests_of(const GateFacts& facts) {
  if (std::ranges::find(facts.required, kTestsFamily) == facts.required.end()) return {};
  Report report = all_reports(facts.steps, kTestsFamily).all;
  const auto base = facts.base.find(std::string(kTestsFamily));
  if (base == facts.base.end()) return failing_of(report);
  report = with_settled_names(std::move(report), base->second);
  return facts.known_failing ? compare_failing(report, base->second).fresh : failing_of(report);
}

}  // namespace

GateRun run_of(const GateFacts& facts) {
  GateRun out;
  out.signals = evaluate(facts);
  out.passed = gate_passed(facts, out.signals);
  for (auto& name : failing_tests_of(facts)) out.failing.insert(std::move(name));
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
    if (fails_alike(failing_signal(first, key), failing_signal(last, key))) continue;
    signal.flaky = hides_flaky() ? "" : results_of(runs);
    signal.missing = false;
    signal.passed = passes;
  }
  out.passed = passes;
  return out;
}

}  // namespace pawl::gates
