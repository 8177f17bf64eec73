#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gates/gates.h"
#include "gates/reading/collector.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kNamesShown = 5;
constexpr std::size_t kProblemBytesMax = 512;  // what is wrong with a report can quote megabytes of it

bool exited_zero(const StepFacts& step) { return step.outcome == "exited" && step.exit_code == 0; }

std::string shown(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesShown) out += fmt::format(", and {} more", names.size() - kNamesShown);
  return out;
}

// The steps that decide a kind: the one named like it, else all.
std::vector<const StepFacts*> deciding(const GateFacts& facts, std::string_view kind) {
  std::vector<const StepFacts*> all;
  for (const auto& step : facts.steps) {
    if (step.step_name == kind) return {&step};
    all.push_back(&step);
  }
  return all;
}

Signal exit_signal(const GateFacts& facts, const std::string& kind) {
  Signal signal{.kind = kind, .gate_id = facts.gate_id, .details = Json::object()};
  const auto steps = deciding(facts, kind);
  const auto bad = std::ranges::find_if(steps, [](const auto* step) { return !exited_zero(*step); });
  const StepFacts* last = bad != steps.end() ? *bad : (steps.empty() ? nullptr : steps.back());
  // One step named like the kind decides by itself, wherever the gate stopped after it.
  const bool all_ran = facts.finished || (steps.size() == 1 && steps.front()->step_name == kind);
  signal.passed = bad == steps.end() && !steps.empty() && all_ran;
  signal.missing = steps.empty();
  if (last != nullptr) {
    signal.details["step"] = last->step_name;
    signal.details["outcome"] = last->outcome;
    signal.details["exit_code"] = last->exit_code;
  }
  return signal;
}

struct Reports {
  Tests tests;
  bool declared = false;
  std::int64_t parsed = 0;
  std::string problem;  // of the first that does not parse
};

Reports all_reports(const GateFacts& facts) {
  Reports out;
  for (const auto& step : facts.steps) {
    out.declared = out.declared || step.reports_declared;
    for (const auto& [path, tests] : step.reports) {
      if (tests)
        ++out.parsed;
      else if (out.problem.empty())
        out.problem = printable((path + ": " + tests.error().message).substr(0, kProblemBytesMax));
    }
  }
  auto tests = all_tests(facts.steps);
  if (tests)
    out.tests = *std::move(tests);
  else
    out.problem = tests.error().message;
  return out;
}

struct Losses {
  std::vector<std::string> gone, newly_skipped;
};

Losses compare(const std::vector<std::string>& inventory, const Tests& tests) {
  std::set<std::string_view> ran, skipped;
  for (const auto& test : tests) (test.status == TestStatus::kSkipped ? skipped : ran).insert(test.name);
  Losses out;
  for (const auto& name : inventory) {
    if (ran.contains(name)) continue;
    (skipped.contains(name) ? out.newly_skipped : out.gone).push_back(name);
  }
  return out;
}

Signal tests_signal(const GateFacts& facts) {
  Signal signal = exit_signal(facts, "tests");
  const Reports reports = all_reports(facts);
  std::vector<std::string> failing;
  for (const auto& test : reports.tests)
    if (test.status == TestStatus::kFailed) failing.push_back(test.name);
  signal.details["tests"] = reports.tests.size();
  signal.details["failures"] = failing.size();
  signal.details["reports"] = reports.parsed;
  if (!failing.empty()) signal.details["failing"] = shown(failing);
  if (!signal.passed) return signal;
  if (reports.declared && (reports.parsed == 0 || !reports.problem.empty())) {
    signal.passed = false;
    signal.missing = true;
    signal.details["problem"] = reports.problem.empty() ? "no report was written" : reports.problem;
    return signal;
  }
  if (!failing.empty()) {
    signal.passed = false;
    signal.details["problem"] = "exit code 0, but the report has failures";
  }
  if (!facts.inventory) return signal;
  const Losses losses = compare(*facts.inventory, reports.tests);
  if (!losses.gone.empty()) {
    signal.passed = false;
    signal.details["gone"] = losses.gone.size();
    signal.details["gone_names"] = shown(losses.gone);
  }
  if (!losses.newly_skipped.empty()) {
    signal.passed = false;
    signal.details["newly_skipped"] = losses.newly_skipped.size();
    signal.details["newly_skipped_names"] = shown(losses.newly_skipped);
  }
  return signal;
}

}  // namespace

Json to_json(const Signal& signal) {
  return {{"kind", signal.kind},
          {"gate_id", signal.gate_id},
          {"passed", signal.passed},
          {"missing", signal.missing},
          {"details", signal.details}};
}

Result<Tests> all_tests(const std::vector<StepFacts>& steps) {
  TestCollector out;
  for (const auto& step : steps)
    for (const auto& report : step.reports) {
      if (!report.tests) continue;
      for (const auto& test : *report.tests) PAWL_OK(out.add("", test.name, test.status, test.message));
    }
  return out.take();
}

std::string key_of(const Signal& signal) { return signal.gate_id + "." + signal.kind; }

std::vector<Signal> evaluate(const GateFacts& facts) {
  std::vector<Signal> out;
  for (const auto& kind : facts.required)
    out.push_back(kind == "tests" ? tests_signal(facts) : exit_signal(facts, kind));
  return out;
}

}  // namespace pawl::gates
