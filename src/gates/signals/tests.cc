// The tests pass by exit code and by their reports. No test that base has is lost or newly skipped; tests are
// compared by name.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "gates/failure.h"
#include "gates/moving.h"
#include "gates/reading/collector.h"
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"
#include "gates/unloaded.h"

namespace pawl::gates::signals {
namespace {

struct Losses {
  std::vector<std::string> gone, newly_skipped, unloaded_gone;
};

// The file of a test that node --test names by its path ("test::PATH" in its JUnit report). Such a file is a
// script that passes or throws and has no tests of node's own. "" for other names.
std::string script_of(std::string_view name) {
  constexpr std::string_view kGroup = "test::";
  if (name.starts_with(kGroup)) name.remove_prefix(kGroup.size());
  return name.starts_with('/') ? inside_workspace(name) : "";
}

// The number of tests that base does not have. A script that got tests of node's own is not a test any more,
// so each new test may explain one missing script.
std::size_t new_tests(const Inventory& base, const std::set<std::string_view>& ran) {
  return static_cast<std::size_t>(std::ranges::count_if(
      ran, [&](const auto name) { return !std::ranges::binary_search(base.names, name, std::less<>()); }));
}

// Tests of base that are suites now: node --test writes a suite whose body threw as a failed test. Each suite
// in which a test ran explains one of them.
std::set<std::string_view> became_suites(const Inventory& base, const Report& report) {
  std::multiset<std::string_view> suites(report.suites.begin(), report.suites.end());
  const Names names(base.names.begin(), base.names.end());
  std::set<std::string_view> out;
  for (const auto& name : base.failing) {
    const auto found = suites.empty() ? suites.end() : suites.find(unnumbered(name, names));
    if (found == suites.end()) continue;
    suites.erase(found);
    out.insert(name);
  }
  return out;
}

Losses compare(const GateFacts& facts, const Inventory& base, const Report& report) {
  std::set<std::string_view> ran, skipped;
  for (const auto& test : report.tests)
    (test.status == TestStatus::kSkipped ? skipped : ran).insert(test.name);
  Losses out;
  const auto suites = became_suites(base, report);
  std::optional<std::size_t> fresh;  // computed on first use: few names need it
  for (const auto& name : base.names) {
    if (ran.contains(name) || suites.contains(name)) continue;
    if (const auto script = script_of(name);
        !script.empty() && !skipped.contains(name) && facts.has_file && facts.has_file(script)) {
      if (!fresh) fresh = new_tests(base, ran);
      if (*fresh > 0) {
        --*fresh;
        continue;
      }
    }
    (skipped.contains(name) ? out.newly_skipped : out.gone).push_back(name);
  }
  for (const auto& name : base.unloaded)
    if (facts.removed.contains(name) || !is_there(name, report)) out.unloaded_gone.push_back(name);
  std::ranges::copy_if(base.files, std::back_inserter(out.unloaded_gone),
                       [&](const auto& name) { return facts.removed.contains(name); });
  return out;
}

// The meaning of losses, for the person or the agent that has to act on them.
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
  if (!losses.unloaded_gone.empty())
    out += fmt::format(
        "{}Base could not load {}, and now a file of it or a test in it is gone or skipped, or no test of it "
        "ran. Fix it under its name, or ask a person",
        out.empty() ? "" : ". ", shown(losses.unloaded_gone));
  return out;
}

// How the first lost test with a new number, time or path in its name may have come back. The work did
// not remove such a test. "" when there is none.
std::string moving_name(const std::vector<std::string>& gone, const std::vector<std::string>& fresh) {
  if (gone.empty()) return "";
  std::map<std::string, const std::string*> by_form;
  for (const auto& name : fresh) by_form.emplace(normalised_end(name), &name);
  for (const auto& name : gone)
    if (const auto found = by_form.find(normalised_end(name)); found != by_form.end())
      return fmt::format(
          "{} may be {} now: a name with a number, a time or a path that differs from run to "
          "run can't be compared, so give the test a name that stays",
          printable(name), printable(*found->second));
  return "";
}

void add_problem(Signal& signal, const std::string& problem) {
  if (problem.empty()) return;
  const std::string before = text_in(signal.details, "problem");
  signal.details["problem"] = before.empty() ? problem : before + ". " + problem;
}

void tell(const char* key, const std::vector<std::string>& names, Signal& signal) {
  if (names.empty()) return;
  signal.details[key] = names.size();
  signal.details[std::string(key) + "_names"] = shown(names);
}

// Adds to the signal which failures of the report base has too. Returns the other failures.
std::vector<std::string> tell_broken(const Report& report, const Inventory* base, Signal& signal) {
  if (base == nullptr || base->state == Inventory::State::kUnknown) return failing_of(report);
  auto failing = compare_failing(report, *base);
  tell("failing_on_base", failing.on_base, signal);
  tell("newly_failing", failing.fresh, signal);
  return std::move(failing.fresh);
}

// Where base's runner stopped, the names of the tests after that are not known. Their number often is.
void compare_count(const Report& report, const Inventory& base, Signal& signal) {
  const auto tests = static_cast<std::int64_t>(report.tests.size());
  if (base.count <= tests || !report.stopped.empty()) return;
  signal.passed = false;
  signal.details["fewer"] = base.count - tests;
  add_problem(signal,
              fmt::format("base's report counts {} tests, of which some did not run there, and now there "
                          "are {}. Restore those that are gone, or ask a person",
                          base.count, tests));
}

void compare_with_base(const GateFacts& facts, const Report& report, const Inventory& base, Signal& signal) {
  const Losses losses = compare(facts, base, report);
  tell("gone", losses.gone, signal);
  tell("newly_skipped", losses.newly_skipped, signal);
  tell("unloaded_gone", losses.unloaded_gone, signal);
  std::vector<std::string> names;
  for (const auto& test : report.tests)
    if (test.status != TestStatus::kSkipped) names.push_back(test.name);
  const auto fresh = beyond(names, base.names);
  tell("new", fresh, signal);
  tell("moving", names_that_move(base), signal);
  const std::string meaning = meaning_of(losses);
  if (!meaning.empty()) signal.passed = false;
  add_problem(signal, meaning);
  if (!base.twice) add_problem(signal, moving_name(losses.gone, fresh));
  compare_count(report, base, signal);
}

// Under `known_failing`, a known failure may end the runner. Without this check the tests after it would
// pass unseen.
void refuse_stopped(const GateFacts& facts, const Report& report, Signal& signal) {
  if (!signal.passed || !facts.known_failing || report.stopped.empty()) return;
  signal.passed = false;
  signal.missing = true;
  add_problem(signal, "the runner stopped early: " + printable(report.stopped) +
                          ". Tests behind that did not run, and are no pass; let it go on behind a failure "
                          "(`cargo test --no-fail-fast` with 2>&1, no -x, --maxfail, -failfast, --bail or "
                          "--stop-on-failure, nor such a setting in a file), or fix the test that ends it");
}

Signal judge_tests(const GateFacts& facts, const Inventory* base) {
  Signal signal = exit_signal(facts, "tests");
  Reports reports = all_reports(facts.steps, kTestsFamily);
  if (reports.problem.empty()) reports.problem = reports.cut_short;
  if (base != nullptr) reports.all = with_settled_names(std::move(reports.all), *base);
  const auto failing = failing_of(reports.all);
  signal.details["tests"] = reports.all.tests.size();
  signal.details["failures"] = failing.size();
  signal.details["reports"] = reports.parsed;
  if (!failing.empty()) signal.details["failing"] = shown(failing);
  const auto broken = tell_broken(reports.all, base, signal);
  if (!signal.passed) {
    // The step itself reports the failure. What its reports lack and which tests are lost is added.
    if (!reports.problem.empty())
      signal.details["problem"] = reports.problem;
    else if (base != nullptr && base->state != Inventory::State::kUnknown && reports.parsed > 0 &&
             reports.all.lower_bound.empty() && reports.unwritten.empty())
      compare_with_base(facts, reports.all, *base, signal);
    if (!reports.all.stopped.empty())
      add_problem(signal, "tests behind the failure did not run: " + printable(reports.all.stopped));
    for (const auto& step : facts.steps) add_problem(signal, end_not_known(step));
    return signal;
  }
  if (reports.declared && lacks_reports(reports, signal)) return signal;
  if (const auto problem = reports.declared ? without_test(facts.steps) : ""; !problem.empty()) {
    signal.passed = false;
    signal.missing = true;
    signal.details["problem"] = problem;
    return signal;
  }
  if (!(facts.known_failing ? broken : failing).empty()) {
    signal.passed = false;
    const bool zero = signal.details["exit_code"] == 0;
    signal.details["problem"] = zero ? "exit code 0, but the report has failures" : "the report has failures";
  }
  if (base == nullptr) return signal;
  const bool passed_so_far = signal.passed;
  if (report_inventory(*base, signal)) compare_with_base(facts, reports.all, *base, signal);
  refuse_stopped(facts, reports.all, signal);
  if (!passed_so_far) signal.missing = false;  // the signal fails in any case, whatever base has
  return signal;
}

// Why base may have more tests than its reports say; "" when it has no others.
std::string bound_of_tests(const std::vector<StepFacts>& steps, const Report& report) {
  if (!report.lower_bound.empty()) return printable(report.lower_bound);
  for (const auto& step : steps)
    if (auto aborted = aborted_on_base(step, kTestsFamily); !aborted.empty()) return aborted;
  return bound_on_base(steps, kTestsFamily);
}

// The tests of base. Tests that base skips are left out: the work may skip them as well.
Inventory tests_on_base(const std::vector<StepFacts>& as_they_ended) {
  const auto steps = with_unloaded_files(as_they_ended);
  const Reports reports = all_reports(steps, kTestsFamily);
  Inventory out;
  out.reason = lacks_on_base(steps, reports, kTestsFamily);
  if (!out.reason.empty()) {
    out.state = Inventory::State::kUnknown;
    return out;
  }
  for (const auto& test : reports.all.tests)
    if (test.status != TestStatus::kSkipped) out.names.push_back(test.name);
  out.failing = failing_of(reports.all);
  for (const auto& other : reports.all.no_tests)
    if (other.failed && other.what == NoTest::What::kLoaded)
      out.unloaded.push_back(other.name);
    else if (other.failed && other.what == NoTest::What::kFile)
      out.files.push_back(other.name);
  if (reports.all.not_run > 0)
    out.count = static_cast<std::int64_t>(reports.all.tests.size()) + reports.all.not_run;
  std::ranges::sort(out.names);
  std::ranges::sort(out.files);
  std::ranges::sort(out.unloaded);
  std::ranges::sort(out.failing);
  out.reason = bound_of_tests(steps, reports.all);
  if (!out.reason.empty()) {
    out.state = Inventory::State::kLowerBound;
    return out;
  }
  for (const auto& step : steps) {
    if (step.exit_code == 0 || !step.declared.contains(kTestsFamily) || !out.failing.empty()) continue;
    // The step failed, and no test did: another cause ended it.
    const bool none = reports.all.tests.empty();
    out.state = none ? Inventory::State::kUnknown : Inventory::State::kLowerBound;
    out.reason = fmt::format("{} exited with {}, and {}", step.step_name, step.exit_code,
                             none ? "its report has no test" : "no test in its report failed");
  }
  return out;
}

}  // namespace

const Kind& tests() {
  using enum Detail::Type;
  static const Kind kind = {
      .evidence = kTestsFamily,
      .details = with_exit({{"tests", kInteger},
                            {"failures", kInteger},
                            {"failing", kText},
                            {"failing_on_base", kInteger},
                            {"failing_on_base_names", kText},
                            {"newly_failing", kInteger},
                            {"newly_failing_names", kText},
                            {"reports", kInteger},
                            {"problem", kText},
                            {"gone", kInteger},
                            {"gone_names", kText},
                            {"newly_skipped", kInteger},
                            {"newly_skipped_names", kText},
                            {"unloaded_gone", kInteger},
                            {"unloaded_gone_names", kText},
                            {"fewer", kInteger},
                            {"new", kInteger},
                            {"new_names", kText},
                            {"moving", kInteger},
                            {"moving_names", kText},
                            {"base", kText}}),
      .judge = judge_tests,
      .on_base = tests_on_base,
  };
  return kind;
}

}  // namespace pawl::gates::signals
