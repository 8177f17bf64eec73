#include "gates/signal_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/glob.h"
#include "base/mutant.h"
#include "gates/hang.h"
#include "gates/reading/collector.h"
#include "gates/unloaded.h"

namespace pawl::gates {
namespace {

// A mutant (base/mutant.h).
bool knows_each_failure() { return mutant("any_failure_is_known"); }

constexpr std::size_t kNamesShown = 5;
constexpr std::size_t kProblemBytesMax = 512;  // the problem of a report can quote megabytes of it

// The steps that decide a kind: the step with its name, otherwise all steps.
std::vector<const StepFacts*> deciding(const GateFacts& facts, std::string_view kind) {
  std::vector<const StepFacts*> all;
  for (const auto& step : facts.steps) {
    if (step.step_name == kind) return {&step};
    all.push_back(&step);
  }
  return all;
}

// "registry.example.org:443 (12 times)", in the order of the counts, largest first.
std::vector<std::string> by_count(const std::map<std::string, std::int64_t>& hosts) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [host, count] : hosts) sorted.emplace_back(-count, host);
  std::ranges::sort(sorted);
  std::vector<std::string> out;
  for (const auto& [count, host] : sorted)
    out.push_back(fmt::format("{} ({} times)", printable(host), -count));
  return out;
}

Result<Report> merged(const std::vector<StepFacts>& steps, std::string_view family) {
  TestCollector tests(nullptr);
  FindingCollector findings(nullptr);
  std::int64_t not_run = 0;
  for (const auto& step : steps)
    for (const auto& file : step.reports) {
      if (file.family != family || !file.report) continue;
      for (const auto& test : file.report->tests)
        PAWL_OK(tests.add("", test.name, test.status, test.message));
      for (const auto& other : file.report->no_tests)
        PAWL_OK(tests.add_no_test(other.what, other.name, other.message, other.failed));
      for (const auto& suite : file.report->suites) PAWL_OK(tests.add_suite("", suite));
      if (!file.report->lower_bound.empty()) tests.bound_from_below(file.report->lower_bound);
      if (!file.report->stopped.empty()) tests.stopped_early(file.report->stopped);
      if (const auto loaded = loaded_file_of(step, file); !loaded.empty())
        PAWL_OK(tests.add_no_test(NoTest::What::kLoaded, loaded, "", false));
      not_run += file.report->not_run;
      for (const auto& finding : file.report->findings)
        PAWL_OK(findings.add("", finding.name, finding.severity));
    }
  Report out = tests.take();
  out.not_run = not_run;
  out.findings = findings.take();
  return out;
}

std::int64_t failing_in(const StepFacts& step, std::string_view family) {
  std::int64_t failing = 0;
  for (const auto& file : step.reports)
    if (file.family == family && file.report)
      failing += static_cast<std::int64_t>(failing_of(*file.report).size());
  return failing;
}

// The option, with its file: "`bail` in .mocharc.yml".
std::string shown_option(const StepFacts& step) {
  const auto& option = step.stop_option;
  return "`" + option.word + "`" + (option.file.empty() ? "" : " in " + printable(option.file));
}

// Most runners that end at a failure leave an ordinary report. The end shows in their output, or by an option
// of the command together with as many failures as it allows.
std::string stopped_at_failure(const StepFacts& step) {
  const auto failing = failing_in(step, kTestsFamily);
  if (failing == 0) return "";
  if (!step.said_stop.words.empty()) return fmt::format("{} says: {}", step.step_name, step.said_stop.words);
  if (step.stop_option.word.empty() || failing < step.stop_option.failures) return "";
  return fmt::format("{}{} ends the runner at a failure", shown_option(step),
                     step.stop_option.file.empty() ? " of " + step.step_name : "");
}

void add_early_stops(const std::vector<StepFacts>& steps, Report& to) {
  for (const auto& step : steps) {
    auto why = stopped_at_failure(step);
    if (why.empty()) {
      if (to.lower_bound.empty()) to.lower_bound = end_not_known(step);
      continue;
    }
    std::int64_t tests = 0;
    for (const auto& file : step.reports)
      if (file.family == kTestsFamily && file.report)
        tests += static_cast<std::int64_t>(file.report->tests.size());
    if (to.not_run == 0) to.not_run = std::max<std::int64_t>(0, step.said_stop.collected - tests);
    if (to.lower_bound.empty()) to.lower_bound = why;
    if (to.stopped.empty()) to.stopped = std::move(why);
  }
}

std::string ended_before(const StepFacts& failed, const StepFacts& step) {
  const auto how = failed.outcome == Outcome::kExited ? fmt::format("exited with {}", failed.exit_code)
                                                      : std::string(name(failed.outcome));
  return fmt::format("{} {} on base, so what {} reports there is not known", failed.step_name, how,
                     step.step_name);
}

}  // namespace

std::string end_not_known(const StepFacts& step) {
  if (step.stop_option.not_searched.empty() || failing_in(step, kTestsFamily) == 0) return "";
  if (!stopped_at_failure(step).empty()) return "";
  return fmt::format(
      "whether the runner of {} ended at a failure is not known: the search for options that end it stopped "
      "at {}",
      step.step_name, printable(step.stop_option.not_searched));
}

void report_refusals(const std::vector<StepFacts>& steps, Signal& signal) {
  std::int64_t egress = 0, total = 0;
  std::map<std::string, std::int64_t> hosts;
  std::vector<std::string> fatal, entries;
  for (const auto& step : steps) {
    egress += step.egress_refused;
    for (const auto& [host, count] : step.refused_hosts) hosts[host] += count;
    total += step.refused_entries_total;
    auto& to = step.refused_entries_fail ? fatal : entries;
    for (const auto& path : step.refused_entries) to.push_back(printable(path));
  }
  if (egress > 0) signal.details["egress_refused"] = egress;
  if (!hosts.empty()) signal.details["egress_refused_hosts"] = shown(by_count(hosts));
  std::vector<std::string> changed;
  for (const auto& step : steps)
    for (const auto& path : step.changed) changed.push_back(printable(path));
  if (!changed.empty()) {
    signal.passed = false;
    signal.details["changed_protected"] = shown(changed);
  }
  if (!fatal.empty()) signal.passed = false;
  fatal.insert(fatal.end(), entries.begin(), entries.end());
  if (fatal.empty()) return;
  signal.details["refused_entries"] = total;
  signal.details["refused_names"] = shown(fatal, static_cast<std::size_t>(total));
}

std::vector<Detail> with_refusals(std::vector<Detail> more) {
  more.insert(more.end(), {{"egress_refused", Detail::Type::kInteger},
                           {"egress_refused_hosts", Detail::Type::kText},
                           {"refused_entries", Detail::Type::kInteger},
                           {"refused_names", Detail::Type::kText},
                           {"changed_protected", Detail::Type::kText}});
  std::ranges::copy(hang_details(), std::back_inserter(more));
  return more;
}

Signal exit_signal(const GateFacts& facts, std::string_view kind) {
  Signal signal{.kind = std::string(kind), .gate_id = facts.gate_id, .details = Json::object()};
  const auto steps = deciding(facts, kind);
  const auto bad = std::ranges::find_if(steps, [](const auto* step) { return !step_held(*step); });
  const StepFacts* last = bad != steps.end() ? *bad : (steps.empty() ? nullptr : steps.back());
  // A step named like the kind decides alone, even if the gate stopped after it.
  const bool all_ran = facts.finished || (steps.size() == 1 && steps.front()->step_name == kind);
  signal.passed = bad == steps.end() && !steps.empty() && all_ran;
  signal.missing = steps.empty();
  if (last != nullptr) {
    signal.details["step"] = last->step_name;
    signal.details["outcome"] = name(last->outcome);
    signal.details["exit_code"] = last->exit_code;
  }
  if (last != nullptr) report_hang(*last, signal);
  report_refusals(facts.steps, signal);
  return signal;
}

std::vector<Detail> with_exit(std::vector<Detail> more) {
  more.insert(more.begin(), {{"step", Detail::Type::kText},
                             {"outcome", Detail::Type::kText},
                             {"exit_code", Detail::Type::kInteger}});
  return with_refusals(std::move(more));
}

std::string shown(const std::vector<std::string>& names) { return shown(names, names.size()); }

std::string shown(const std::vector<std::string>& names, std::size_t total) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) out += (i == 0 ? "" : ", ") + names[i];
  const std::size_t told = std::min(names.size(), kNamesShown);
  if (total > told) out += fmt::format(", and {} more", total - told);
  return out;
}

std::vector<std::string> beyond(const std::vector<std::string>& after,
                                const std::vector<std::string>& before) {
  std::vector<std::string> out;
  std::ranges::copy_if(after, std::back_inserter(out),
                       [&](const auto& name) { return !std::ranges::binary_search(before, name); });
  return out;
}

std::optional<std::string> unwritten_by(const StepFacts& step, std::string_view family) {
  if (!step.declared.contains(family)) return std::nullopt;
  const auto has = [&](const auto& is_wanted) { return std::ranges::any_of(step.reports, is_wanted); };
  if (!has([&](const ReportFacts& file) { return file.family == family; })) return "";
  for (const auto& wanted : step.patterns) {
    if (family_of(wanted.format) != family) continue;
    const auto is_of = [&](const ReportFacts& file) { return file.format == wanted.format; };
    if (!has(is_of)) return " of " + wanted.format;
    const auto fits = [&](const ReportFacts& file) {
      return is_of(file) && glob_matches(wanted.pattern, file.path);
    };
    const bool is_one_path = wanted.pattern.find_first_of("*?") == std::string::npos;
    if (is_one_path && !has(fits)) return " at " + printable(wanted.pattern);
  }
  return std::nullopt;
}

bool has_nothing(const Report& report) {
  return !report.cut_short.empty() && report.tests.empty() && report.no_tests.empty();
}

Reports all_reports(const std::vector<StepFacts>& steps, std::string_view family) {
  Reports out;
  for (const auto& step : steps) {
    out.declared = out.declared || step.declared.contains(family);
    if (const auto unwritten = unwritten_by(step, family); unwritten && out.unwritten.empty())
      out.unwritten = fmt::format("{}: no report{} was written", step.step_name, *unwritten);
    for (const auto& file : step.reports) {
      if (file.family != family) continue;
      const std::string problem = file.report ? file.report->cut_short : file.report.error().message;
      const bool is_one = file.report && !has_nothing(*file.report);
      out.parsed += is_one ? 1 : 0;
      auto& told = is_one ? out.cut_short : out.problem;
      if (!problem.empty() && told.empty())
        told = printable((file.path + ": " + problem).substr(0, kProblemBytesMax));
    }
  }
  auto all = merged(steps, family);
  if (all)
    out.all = *std::move(all);
  else
    out.problem = all.error().message;
  if (family == kTestsFamily) add_early_stops(steps, out.all);
  return out;
}

std::vector<std::string> failing_of(const Report& report) {
  std::vector<std::string> out;
  for (const auto& test : report.tests)
    if (test.status == TestStatus::kFailed) out.push_back(test.name);
  for (const auto& other : report.no_tests)
    if (other.failed) out.push_back(other.name);
  return out;
}

std::string_view unnumbered(std::string_view name, const Names& names) {
  for (;;) {
    const auto hash = name.rfind('#');
    if (hash == name.npos) return name;
    int number = 0;
    const auto [end, error] = std::from_chars(name.data() + hash + 1, name.data() + name.size(), number);
    const auto stem = name.substr(0, hash);
    const bool numbered = error == std::errc() && end == name.data() + name.size() && number >= 2 &&
                          fmt::format("{}#{}", stem, number) == name && names.contains(stem) &&
                          (number == 2 || names.contains(fmt::format("{}#{}", stem, number - 1)));
    if (!numbered) return name;
    name = stem;
  }
}

Names names_of(const Report& report) {
  Names out;
  for (const auto& test : report.tests) out.insert(test.name);
  return out;
}

Failing compare_failing(const Report& report, const Inventory& base) {
  auto failing = failing_of(report);
  if (failing.empty()) return {};
  const auto known = failing_names(base);
  std::multiset<std::string, std::less<>> left(known.begin(), known.end());
  const Names names = names_of(report);
  Failing out;
  for (auto& name : failing) {
    const auto found = left.find(unnumbered(name, names));
    const bool fresh = found == left.end() && !knows_each_failure();
    (fresh ? out.fresh : out.on_base).push_back(std::move(name));
    if (found != left.end()) left.erase(found);
  }
  return out;
}

bool counts_failures(const StepFacts& step, std::string_view family) {
  // Mocha's exit code is at most 255 (lib/cli/run-helpers.js), that of Perl's Test::More at most 254.
  constexpr std::int64_t kCountMax = 254;
  if (step.outcome != Outcome::kExited) return false;
  const auto failing = failing_in(step, family);
  return failing == step.exit_code || (failing > kCountMax && step.exit_code >= kCountMax);
}

bool lacks_reports(const Reports& reports, Signal& signal) {
  if (reports.parsed > 0 && reports.problem.empty() && reports.unwritten.empty()) return false;
  signal.passed = false;
  signal.missing = true;
  const std::string unwritten = reports.unwritten.empty() ? "no report was written" : reports.unwritten;
  signal.details["problem"] = reports.problem.empty() ? unwritten : reports.problem;
  return true;
}

std::string without_test(const std::vector<StepFacts>& steps) {
  bool any_ran = false;
  for (const auto& step : steps) {
    std::map<std::string, std::size_t> found;  // number of items by format
    for (const auto& file : step.reports) {
      if (file.family != kTestsFamily || !file.report) continue;
      found[file.format] += file.report->tests.size() + static_cast<std::size_t>(std::ranges::count(
                                                            file.report->no_tests, true, &NoTest::failed));
      any_ran = any_ran || std::ranges::any_of(file.report->tests, [](const TestCase& test) {
                  return test.status != TestStatus::kSkipped;
                });
    }
    for (const auto& [format, tests] : found)
      if (tests == 0)
        return fmt::format(
            "no test is in the {} reports of {}: a report with at least one would prove something; "
            "look at how its runner finds tests, and where it writes them",
            format, step.step_name);
  }
  if (any_ran) return "";
  return "no test ran, all of them were skipped: one that runs would prove something";
}

std::vector<Detail> delta_details() {
  using enum Detail::Type;
  return with_exit({{"reports", kInteger},
                    {"before", kInteger},
                    {"after", kInteger},
                    {"fixed", kInteger},
                    {"new", kInteger},
                    {"new_names", kText},
                    {"new_high_or_critical", kInteger},
                    {"base", kText},
                    {"problem", kText}});
}

Inventory findings_on_base(const std::vector<StepFacts>& steps, std::string_view family) {
  const Reports reports = all_reports(steps, family);
  Inventory out;
  out.reason = lacks_on_base(steps, reports, family);
  if (!out.reason.empty()) {
    out.state = Inventory::State::kUnknown;
    return out;
  }
  for (const auto& finding : reports.all.findings) out.names.push_back(finding.name);
  std::ranges::sort(out.names);
  out.reason = bound_on_base(steps, family);
  if (!out.reason.empty()) out.state = Inventory::State::kLowerBound;
  return out;
}

bool report_inventory(const Inventory& base, Signal& signal) {
  if (base.state == Inventory::State::kKnown) return true;
  signal.details["base"] = text_of(base);
  if (base.state == Inventory::State::kLowerBound) return true;
  signal.passed = false;
  signal.missing = true;
  signal.details["problem"] = "what base has is not known: " + base.reason +
                              "; fix base, or say `baseline: none` in the gate when base has none";
  return false;
}

std::string bound_on_base(const std::vector<StepFacts>& steps, std::string_view family) {
  for (const auto& step : steps)
    if (const auto unwritten = unwritten_by(step, family))
      return fmt::format("{} exited with {} and wrote no report{}", step.step_name, step.exit_code,
                         *unwritten);
  return "";
}

// A program that ended by a signal of its own, or by `die` of Perl, is a fact about base: the tests that it
// reported are there. A SIGKILL came from outside.
std::string aborted_on_base(const StepFacts& step, std::string_view family) {
  constexpr std::int64_t kSignals = 128, kSignalMax = 64,
                         kKill = 9;    // a shell's code is 128 + N for signal N
  constexpr std::int64_t kDied = 255;  // perldoc -f die
  const std::int64_t signal = step.exit_code - kSignals;
  const bool ended_early =
      (signal >= 1 && signal <= kSignalMax && signal != kKill) || step.exit_code == kDied;
  const bool by_code = step.outcome == Outcome::kExited && ended_early && !counts_failures(step, family);
  const bool by_signal = step.outcome == Outcome::kSignaled && step.signal != 0 && step.signal != kKill;
  const auto ran = [](const TestCase& test) { return test.status != TestStatus::kSkipped; };
  const bool any_ran = std::ranges::any_of(step.reports, [&](const ReportFacts& file) {
    return file.family == family && file.report && std::ranges::any_of(file.report->tests, ran);
  });
  if (!(by_code || by_signal) || !any_ran) return "";
  const auto how = by_code ? fmt::format("exited with {}", step.exit_code)
                           : fmt::format("was ended by signal {}", step.signal);
  return fmt::format("{} {}: its runner stopped early", step.step_name, how);
}

std::string lacks_on_base(const std::vector<StepFacts>& steps, const Reports& reports,
                          std::string_view family) {
  constexpr std::int64_t kShellCodesFrom = 126;  // POSIX.1-2017, XCU 2.8.2
  const StepFacts* failed_before = nullptr;
  for (const auto& step : steps) {
    if (!step.declared.contains(family)) {
      if (failed_before == nullptr && !step_held(step)) failed_before = &step;
      continue;
    }
    const bool wrote =
        std::ranges::any_of(step.reports, [&](const auto& file) { return file.family == family; });
    // This step lacks a result because the earlier one made no input for it.
    if (failed_before != nullptr && !step_held(step) && !wrote) return ended_before(*failed_before, step);
    if (!aborted_on_base(step, family).empty()) continue;
    if (step.outcome != Outcome::kExited) return fmt::format("{} {}", step.step_name, name(step.outcome));
    auto ended = fmt::format("{} exited with {}", step.step_name, step.exit_code);
    if (step.exit_code >= kShellCodesFrom && !counts_failures(step, family)) return ended;
    if (!wrote)
      return ended + " and wrote no report" +
             (step.stop_option.word.empty()
                  ? ""
                  : fmt::format(": {} may end its runner before it writes one", shown_option(step)));
  }
  return reports.problem;
}

Signal delta_signal(const GateFacts& facts, std::string_view kind, std::string_view family,
                    const Inventory* base) {
  Signal signal = exit_signal(facts, kind);
  const Reports reports = all_reports(facts.steps, family);
  signal.details["reports"] = reports.parsed;
  if (!signal.passed || lacks_reports(reports, signal)) return signal;
  if (base == nullptr) {
    signal.passed = false;
    signal.missing = true;
    signal.details["problem"] = "nothing is known of base";
    return signal;
  }
  if (!report_inventory(*base, signal)) return signal;
  std::vector<std::string> names, fresh;
  std::int64_t grave = 0;
  for (const auto& finding : reports.all.findings) {
    names.push_back(finding.name);
    if (std::ranges::binary_search(base->names, finding.name)) continue;
    fresh.push_back(finding.name);
    grave += finding.severity >= Severity::kHigh ? 1 : 0;
  }
  std::ranges::sort(names);
  signal.details["before"] = base->names.size();
  signal.details["after"] = names.size();
  signal.details["fixed"] = beyond(base->names, names).size();
  signal.details["new"] = fresh.size();
  if (fresh.empty()) return signal;
  signal.passed = false;
  signal.details["new_names"] = shown(fresh);
  signal.details["new_high_or_critical"] = grave;
  return signal;
}

}  // namespace pawl::gates
