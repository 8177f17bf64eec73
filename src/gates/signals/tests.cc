// The tests pass, by exit code and by their reports, and none that base has is gone or newly skipped, by
// name.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gates/common.h"
#include "gates/signals/kind.h"

namespace pawl::gates::signals {
namespace {

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

// What losses mean, for whoever has to do something about them.
std::string meaning_of(const Losses& losses) {
  std::string out;
  if (!losses.gone.empty())
    out = fmt::format(
        "{} tests that base has did not run: {}. Renamed or deleted tests count as lost; restore "
        "them under their names, or ask a person",
        losses.gone.size(), shown(losses.gone));
  if (!losses.newly_skipped.empty())
    out += fmt::format("{}{} tests that base runs are skipped: {}. A skipped test counts as lost; let it run",
                       out.empty() ? "" : ". ", losses.newly_skipped.size(), shown(losses.newly_skipped));
  return out;
}

void add_problem(Signal& signal, const std::string& problem) {
  if (problem.empty()) return;
  const std::string before = signal.details.value("problem", "");
  signal.details["problem"] = before.empty() ? problem : before + ". " + problem;
}

void compare_with_base(const Tests& tests, const std::vector<std::string>& inventory, Signal& signal) {
  const auto name = [&](const char* key, const std::vector<std::string>& names) {
    if (names.empty()) return;
    signal.details[key] = names.size();
    signal.details[std::string(key) + "_names"] = shown(names);
  };
  const Losses losses = compare(inventory, tests);
  name("gone", losses.gone);
  name("newly_skipped", losses.newly_skipped);
  std::vector<std::string> names;
  for (const auto& test : tests)
    if (test.status != TestStatus::kSkipped) names.push_back(test.name);
  name("new", beyond(names, inventory));
  if (!losses.gone.empty() || !losses.newly_skipped.empty()) signal.passed = false;
  add_problem(signal, meaning_of(losses));
}

Signal judge_tests(const GateFacts& facts, const std::vector<std::string>* base) {
  Signal signal = exit_signal(facts, "tests");
  const Reports reports = all_reports(facts.steps, kTestsFamily);
  std::vector<std::string> failing;
  for (const auto& test : reports.all.tests)
    if (test.status == TestStatus::kFailed) failing.push_back(test.name);
  for (const auto& other : reports.all.no_tests)
    if (other.failed) failing.push_back(other.name);
  signal.details["tests"] = reports.all.tests.size();
  signal.details["failures"] = failing.size();
  signal.details["reports"] = reports.parsed;
  if (!failing.empty()) signal.details["failing"] = shown(failing);
  if (!signal.passed) {
    // The step says itself that it failed. What its reports lack, or what is gone, is told beside it.
    if (!reports.problem.empty())
      signal.details["problem"] = reports.problem;
    else if (base != nullptr && reports.parsed > 0 && reports.all.lower_bound.empty())
      compare_with_base(reports.all.tests, *base, signal);
    return signal;
  }
  if (reports.declared && lacks_reports(reports, signal)) return signal;
  if (const auto problem = reports.declared ? without_test(facts.steps) : ""; !problem.empty()) {
    signal.passed = false;
    signal.missing = true;
    signal.details["problem"] = problem;
    return signal;
  }
  if (!failing.empty()) {
    signal.passed = false;
    const bool zero = signal.details["exit_code"] == 0;
    signal.details["problem"] = zero ? "exit code 0, but the report has failures" : "the report has failures";
  }
  if (base != nullptr) compare_with_base(reports.all.tests, *base, signal);
  return signal;
}

// What base skips, nobody loses by going on to skip it. On base a broken report takes no name with it; the
// gate itself will need a good one.
std::vector<std::string> tests_on_base(const std::vector<StepFacts>& steps) {
  std::vector<std::string> names;
  for (const auto& test : all_reports(steps, kTestsFamily).all.tests)
    if (test.status != TestStatus::kSkipped) names.push_back(test.name);
  std::ranges::sort(names);
  return names;
}

}  // namespace

const Kind& tests() {
  using enum Detail::Type;
  static const Kind kind = {
      .evidence = kTestsFamily,
      .details = with_exit({{"tests", kInteger},
                            {"failures", kInteger},
                            {"failing", kText},
                            {"reports", kInteger},
                            {"problem", kText},
                            {"gone", kInteger},
                            {"gone_names", kText},
                            {"newly_skipped", kInteger},
                            {"newly_skipped_names", kText},
                            {"new", kInteger},
                            {"new_names", kText}}),
      .judge = judge_tests,
      .on_base = tests_on_base,
  };
  return kind;
}

}  // namespace pawl::gates::signals
