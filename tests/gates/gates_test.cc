// Signals from facts, verdicts from signals, and reports that an attacker wrote.
#include "gates/gates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

#include "gates/gate_kinds.h"
#include "support/places.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

StepFacts step(std::string name, std::int64_t exit_code = 0, Outcome outcome = Outcome::kExited) {
  return {.step_name = std::move(name), .outcome = outcome, .exit_code = exit_code};
}

void add_report(StepFacts& to, const std::string& format, const std::string& text) {
  const std::string family(family_of(format));
  to.declared.insert(family);
  MemorySource bytes(text);
  to.reports.push_back({.path = "r",
                        .format = format,
                        .family = family,
                        .report = read_report(format, bytes, testing::plain_redactor())});
}

// Evaluates, and checks that each signal has only details of its kind, and names its collector and its
// evidence.
std::vector<Signal> judged(const GateFacts& facts) {
  auto signals = evaluate(facts);
  for (const auto& signal : signals) {
    EXPECT_FALSE(signal.collector.empty());
    EXPECT_EQ(signal.read, digest_of(facts.steps));
    for (const auto& [key, value] : signal.details.items()) {
      const auto& known = details_of(signal.kind);
      const auto found = std::ranges::find(known, key, &Detail::key);
      EXPECT_NE(found, known.end()) << signal.kind << " says " << key;
      if (found == known.end()) continue;
      EXPECT_TRUE(found->type == Detail::Type::kText      ? value.is_string()
                  : found->type == Detail::Type::kInteger ? value.is_number_integer()
                                                          : value.is_boolean())
          << signal.kind << "." << key << " is " << value;
    }
  }
  return signals;
}

StepFacts reporting(const std::string& xml, std::int64_t exit_code = 0) {
  StepFacts out = step("unit", exit_code);
  add_report(out, "junit", xml);
  return out;
}

Signal tests_of(StepFacts facts, std::optional<std::vector<std::string>> inventory = std::nullopt) {
  Inventories base;
  if (inventory) base["tests"].names = *std::move(inventory);
  return judged({.gate_id = "g", .required = {"tests"}, .steps = {std::move(facts)}, .base = std::move(base)})
      .at(0);
}

constexpr const char* kTwo =
    "<testsuite><testcase classname='c' name='a'/><testcase classname='c' name='b'/></testsuite>";

TEST(Evaluate, BuildIsExitZeroOfEveryStepThatRan) {
  const auto build = [](std::vector<StepFacts> steps, bool finished = true) {
    return judged({.gate_id = "g", .required = {"build"}, .steps = std::move(steps), .finished = finished})
        .at(0);
  };
  EXPECT_TRUE(build({step("x"), step("y")}).passed);
  EXPECT_FALSE(build({step("x"), step("y", 1)}).passed);
  EXPECT_FALSE(build({step("x", -1, Outcome::kTimedOut)}).passed);
  EXPECT_FALSE(build({step("x", -1, Outcome::kOomKilled)}).passed);
  EXPECT_FALSE(build({step("x")}, false).passed) << "not all of its steps ran";
  EXPECT_TRUE(build({step("build"), step("unit", 1)}).passed) << "the step of its name decides";
  EXPECT_TRUE(build({}).missing);
}

// The signals of a gate that requires `required`. REQUIRES: one of `steps` failed.
std::vector<Signal> signals_of(const std::vector<std::string>& required,
                               const std::vector<StepFacts>& steps) {
  GateFacts facts{.gate_id = "g", .required = required, .steps = steps};
  facts.policy_signal =
      Signal{.kind = "policy", .gate_id = "diff", .passed = true, .details = Json::object()};
  for (const auto& kind : required) facts.base[kind] = {};
  auto signals = judged(facts);
  EXPECT_FALSE(gate_passed(facts, signals));
  return signals;
}

TEST(Evaluate, AStepThatFailsFailsItsGateWhateverSignalsAreRequired) {
  constexpr const char* kNoFindings =
      R"({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t"}}, "results": []}]})";
  for (const auto& kind : testing::gate_kinds()) {
    for (const bool fails_first : {true, false}) {
      StepFacts good = step(kind), bad = step("unit", 1);
      add_report(good, "junit", kTwo);
      add_report(good, "sarif", kNoFindings);
      add_report(good, "osv", R"({"results": []})");
      good.declared.insert("trace");
      good.trace.emplace();
      const std::vector<StepFacts> steps =
          fails_first ? std::vector{bad} : std::vector{good, bad};  // the first failed step ends the gate
      const auto signals = signals_of({kind}, steps);
      const bool named = std::ranges::any_of(signals, [](const Signal& signal) {
        return !signal.passed && signal.details.value("step", "") == "unit" &&
               signal.details.value("exit_code", 0) == 1;
      });
      EXPECT_TRUE(named) << kind;
      AttemptFacts facts{.signals = signals, .steps = steps, .open_gates = {"g"}};
      EXPECT_EQ(decide(facts).kind, Verdict::Kind::kFailedRetryable) << kind;
      facts.attempts_used = facts.max_attempts;
      EXPECT_NE(decide(facts).kind, Verdict::Kind::kPassed) << kind;
    }
  }
}

TEST(Evaluate, AFailedStepIsNamedOnceAndByItsOwnSignalWhereNoOtherOneNamesIt) {
  EXPECT_EQ(signals_of({"build"}, {step("unit", 1)}).size(), 1U);
  const auto signals = signals_of({"build"}, {step("build"), step("unit", 3)});
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_TRUE(signals[0].passed) << "the step of its name decides";
  EXPECT_EQ(key_of(signals[1]), "g.step.unit");
  EXPECT_EQ(signals[1].details, Json({{"step", "unit"}, {"outcome", "exited"}, {"exit_code", 3}}));
  AttemptFacts facts{.signals = signals, .non_retryable = {"build"}, .open_gates = {"g"}};
  EXPECT_EQ(decide(facts).kind, Verdict::Kind::kEscalate) << "it is retried as a build is";
}

TEST(Evaluate, AStepThatMayFailHoldsWithTheCodesOfAProgramAndNoOthers) {
  EXPECT_FALSE(step_held(Outcome::kExited, 1, false));
  for (const std::int64_t code : {0, 1, 125}) EXPECT_TRUE(step_held(Outcome::kExited, code, true)) << code;
  for (const std::int64_t code : {126, 127, 128 + 9, -1})
    EXPECT_FALSE(step_held(Outcome::kExited, code, true)) << code;
  for (const auto outcome : {Outcome::kTimedOut, Outcome::kSignaled, Outcome::kOomKilled,
                             Outcome::kOutputLimit, Outcome::kDiskLimit, Outcome::kSetupFailed})
    EXPECT_FALSE(step_held(outcome, -1, true)) << name(outcome);

  StepFacts scanner = step("scan", 1);
  scanner.may_fail = true;
  GateFacts facts{.gate_id = "g", .required = {"build"}, .steps = {scanner, step("unit")}};
  EXPECT_TRUE(gate_passed(facts, judged(facts)));
  StepFacts tests = reporting("<testsuite><testcase name='a'><failure/></testcase></testsuite>", 1);
  tests.may_fail = true;
  facts = {.gate_id = "g", .required = {"tests"}, .steps = {tests}};
  EXPECT_FALSE(gate_passed(facts, judged(facts))) << "its report has a failure";
}

TEST(Decide, NothingPassesWhileAGateIsOpen) {
  AttemptFacts facts;
  facts.signals = {{.kind = "build", .gate_id = "first", .passed = true, .details = Json::object()}};
  EXPECT_EQ(decide(facts).kind, Verdict::Kind::kPassed);
  facts.open_gates = {"second"};
  EXPECT_EQ(decide(facts).kind, Verdict::Kind::kEscalate);
  EXPECT_EQ(decide(facts).reason, "gate second was not judged");
}

TEST(Evaluate, TriesThatTheEgressRefusedAreToldAndDecideNothing) {
  StepFacts fetch = step("fetch"), unit = step("unit"), quiet = step("unit");
  fetch.egress_refused = 2;
  unit.egress_refused = 1;
  for (const auto& kind : {"build", "install", "tests"}) {
    const auto told = judged({.gate_id = "g", .required = {kind}, .steps = {fetch, unit}}).at(0);
    EXPECT_TRUE(told.passed);
    EXPECT_EQ(told.details["egress_refused"], 3);
    EXPECT_FALSE(judged({.gate_id = "g", .required = {kind}, .steps = {quiet}})
                     .at(0)
                     .details.contains("egress_refused"));
  }
}

TEST(Evaluate, EntriesThatWereRefusedAreToldAndFatalOnlyWhenThePlanSaysSo) {
  StepFacts first = step("first"), build = step("build");
  first.refused_entries = {"pipe", "a\nb"};
  build.refused_entries = {"socket"};
  first.refused_entries_total = 402;  // more than there are names
  build.refused_entries_total = 1;
  const auto told = judged({.gate_id = "g", .required = {"build"}, .steps = {first, build}}).at(0);
  EXPECT_TRUE(told.passed);
  EXPECT_EQ(told.details["refused_entries"], 403);
  first.refused_entries_fail = true;
  const auto failed = judged({.gate_id = "g", .required = {"build"}, .steps = {build, first}}).at(0);
  EXPECT_FALSE(failed.passed) << "whichever step decides by its exit code";
  EXPECT_FALSE(failed.missing);
  EXPECT_EQ(failed.details["refused_entries"], 403);
  EXPECT_TRUE(failed.details["refused_names"].get<std::string>().starts_with("pipe, ")) << failed.details;
  EXPECT_TRUE(failed.details["refused_names"].get<std::string>().ends_with(", and 400 more"))
      << failed.details;
  EXPECT_EQ(failed.details["refused_names"].get<std::string>().find('\n'), std::string::npos);
}

TEST(Evaluate, AStepThatLeftWhatItMayNotFailsItsGateWhateverTheGateRequires) {
  StepFacts unit = step("unit");
  unit.refused_entries = {"pipe"};
  unit.refused_entries_total = 1;
  unit.refused_entries_fail = true;
  for (const bool may_fail : {false, true})
    for (const auto& kind : testing::gate_kinds()) {
      unit.may_fail = may_fail;
      EXPECT_TRUE(std::ranges::any_of(signals_of({kind}, {unit}), [](const Signal& signal) {
        return !signal.passed && signal.details.value("refused_names", "") == "pipe";
      })) << kind;
    }
  unit.refused_entries_fail = false;
  const GateFacts facts{.gate_id = "g", .required = {"build"}, .steps = {unit}};
  EXPECT_TRUE(gate_passed(facts, judged(facts)));
}

TEST(Evaluate, TestsNeedAReportThatAgrees) {
  EXPECT_TRUE(tests_of(reporting(kTwo)).passed);
  EXPECT_FALSE(tests_of(reporting(kTwo, 1)).passed);
  EXPECT_FALSE(tests_of(reporting("<testsuite><testcase name='a'><failure/></testcase></testsuite>")).passed)
      << "exit code 0 with a failure in the report";
  const auto broken = tests_of(reporting("<testsuite><testcase"));
  EXPECT_FALSE(broken.passed);
  EXPECT_TRUE(broken.missing);
  StepFacts none = step("unit");
  none.declared.insert("tests");
  EXPECT_TRUE(tests_of(none).missing);
}

TEST(Evaluate, WhatAReportSaysOfItselfIsBounded) {
  StepFacts json = step("unit");
  // The parser's error quotes the text that it read last.
  add_report(json, "jest", "{\"testResults\": [\"" + std::string(5'000'000, 'x'));
  const auto signal = tests_of(json);
  EXPECT_TRUE(signal.missing);
  EXPECT_LE(signal.details["problem"].get<std::string>().size(), 512U);
}

TEST(Evaluate, ANameInTwoReportsIsTwoTests) {
  StepFacts both = reporting("<testsuite><testcase name='a'/></testsuite>");
  both.reports.push_back(both.reports.front());
  const std::vector<std::string> inventory = {"a", "a#2"};
  EXPECT_TRUE(tests_of(both, inventory).passed);
  both.reports.pop_back();
  EXPECT_EQ(tests_of(both, inventory).details["gone_names"], "a#2");
}

TEST(Evaluate, NoTestOfBaseMayGoByName) {
  const std::vector<std::string> inventory = {"c::a", "c::b"};
  EXPECT_TRUE(tests_of(reporting(kTwo), inventory).passed);
  const auto renamed = tests_of(
      reporting(
          "<testsuite><testcase classname='c' name='a'/><testcase classname='c' name='x'/></testsuite>"),
      inventory);
  EXPECT_FALSE(renamed.passed) << "the same number is not the same tests";
  EXPECT_EQ(renamed.details["gone_names"], "c::b");
  const auto skipped = tests_of(reporting("<testsuite><testcase classname='c' name='a'/><testcase "
                                          "classname='c' name='b'><skipped/></testcase></testsuite>"),
                                inventory);
  EXPECT_FALSE(skipped.passed);
  EXPECT_EQ(skipped.details["newly_skipped_names"], "c::b");
}

TEST(Evaluate, WhatIsGoneIsSaidInASentence) {
  const std::vector<std::string> inventory = {"c::a", "c::b", "c::d"};
  const auto problem = [&](const std::string& xml, std::int64_t code = 0) {
    return tests_of(reporting(xml, code), inventory).details.value("problem", "");
  };
  const std::string renamed =
      "<testsuite><testcase classname='c' name='a'/><testcase classname='c' name='x'/></testsuite>";
  for (const std::int64_t code : {0, 1})
    EXPECT_EQ(
        problem(renamed, code),
        "2 tests that base has did not run: c::b, c::d. Renamed or deleted tests count as lost; restore them "
        "under their names, or ask a person");
  EXPECT_EQ(
      problem("<testsuite><testcase classname='c' name='a'/><testcase classname='c' name='b'/><testcase "
              "classname='c' name='d'><skipped/></testcase></testsuite>"),
      "1 tests that base runs are skipped: c::d. A skipped test counts as lost; let it run");
  // The run ended early, so no test counts as lost yet.
  EXPECT_EQ(problem("<testsuite><testcase classname='' name='c'><error message='collection "
                    "failure'/></testcase></testsuite>",
                    2),
            "");
}

TEST(Evaluate, WhatIsNoTestFailsAndIsInNoInventory) {
  const std::string unloaded =
      "<testsuite><testcase classname='' name='test_a'><error message='collection "
      "failure'/></testcase><testcase name='b'/></testsuite>";
  const auto signal = tests_of(reporting(unloaded));
  EXPECT_FALSE(signal.passed) << "whatever the exit code";
  EXPECT_EQ(signal.details["failing"], "test_a");
  const auto base = inventories_of({"tests"}, {reporting(unloaded, 2)});
  EXPECT_EQ(base.at("tests").names, (std::vector<std::string>{"b"}));
  EXPECT_EQ(base.at("tests").failing, (std::vector<std::string>{"test_a"}));
  EXPECT_EQ(base.at("tests").state, Inventory::State::kLowerBound);
}

TEST(Evaluate, NewTestsAreTold) {
  const auto signal = tests_of(reporting(kTwo), std::vector<std::string>{"c::a"});
  EXPECT_TRUE(signal.passed);
  EXPECT_EQ(signal.details["new_names"], "c::b");
}

constexpr const char* kOneMatch =
    R"({"matches": [{"vulnerability": {"id": "CVE-1", "severity": "High"}, "artifact": {"name": "zlib", "version": "1"}}]})";

TEST(Evaluate, NoVulnerabilityMayBeNew) {
  const auto judge = [](const std::string& report, Inventories base) {
    StepFacts scan = step("scan");
    add_report(scan, "grype", report);
    return judged({.gate_id = "g", .required = {"cve_delta"}, .steps = {scan}, .base = std::move(base)})
        .at(0);
  };
  EXPECT_TRUE(judge(kOneMatch, {{"cve_delta", {.names = {"zlib::CVE-1"}}}}).passed);
  EXPECT_TRUE(judge(R"({"matches": []})", {{"cve_delta", {.names = {"zlib::CVE-1"}}}}).passed);
  const auto fresh = judge(kOneMatch, {{"cve_delta", {.names = {"zlib::CVE-0"}}}});
  EXPECT_FALSE(fresh.passed);
  EXPECT_FALSE(fresh.missing);
  EXPECT_EQ(fresh.details["new_names"], "zlib::CVE-1");
  EXPECT_EQ(fresh.details["new_high_or_critical"], 1);
  EXPECT_EQ(fresh.details["fixed"], 1);
  EXPECT_EQ(fresh.collector, "vulnerabilities: grype");
  EXPECT_TRUE(judge("{}", {{"cve_delta", {}}}).missing);
  EXPECT_TRUE(judge(kOneMatch, {}).missing) << "nothing to compare with";
}

TEST(Evaluate, TheSameFindingTwiceIsTwo) {
  StepFacts scan = step("scan");
  add_report(scan, "grype", kOneMatch);
  add_report(scan, "grype", kOneMatch);
  const auto signal = judged({.gate_id = "g",
                              .required = {"cve_delta"},
                              .steps = {scan},
                              .base = {{"cve_delta", {.names = {"zlib::CVE-1"}}}}})
                          .at(0);
  EXPECT_EQ(signal.details["new_names"], "zlib::CVE-1#2");
}

Signal trace_of(TraceFacts facts, const Policy& policy = {}) {
  StepFacts unit = step("unit");
  unit.declared.insert("trace");
  unit.trace = std::move(facts);
  return judged({.gate_id = "g",
                 .required = {"trace"},
                 .steps = {unit},
                 .base = {{"trace", {.names = {"reaches registry:443", "runs /bin/make"}}}},
                 .policy = policy})
      .at(0);
}

TEST(Evaluate, WhatATraceHasBeyondBaseFailsAsThePolicySays) {
  EXPECT_TRUE(trace_of({.executables = {"/bin/make"}, .endpoints = {"registry:443"}}).passed);
  const auto shell = trace_of({.executables = {"/bin/make", "/bin/sh", "/bin/nc"}});
  EXPECT_FALSE(shell.passed);
  EXPECT_EQ(shell.details["new_shells_names"], "/bin/sh");
  EXPECT_EQ(shell.details["new_executables_names"], "/bin/nc");
  EXPECT_EQ(trace_of({.endpoints = {"evil:80"}}).details["new_endpoints_names"], "evil:80");
  const Policy lenient{.trace_shells = Reaction::kTell,
                       .trace_executables = Reaction::kAllow,
                       .trace_endpoints = Reaction::kFail};
  const auto told = trace_of({.executables = {"/bin/sh", "/bin/nc"}}, lenient);
  EXPECT_TRUE(told.passed);
  EXPECT_EQ(told.details["new_shells"], 1);
  EXPECT_FALSE(told.details.contains("new_executables"));
  const auto cut = trace_of({.executables = {"/bin/make"}, .cut = true});
  EXPECT_FALSE(cut.passed);
  EXPECT_TRUE(cut.missing) << "what came after it is not known";
  EXPECT_EQ(cut.details["complete"], false);
}

TEST(Evaluate, ATraceThatCouldNotBeHadIsMissing) {
  StepFacts unit = step("unit");
  unit.declared.insert("trace");
  unit.trace_problem = "none was made";
  const auto signal =
      judged({.gate_id = "g", .required = {"trace"}, .steps = {unit}, .base = {{"trace", {}}}}).at(0);
  EXPECT_TRUE(signal.missing);
  EXPECT_FALSE(signal.passed);
}

TEST(Evaluate, AStepThatTimedOutSaysWhatItHadAndWhereItWas) {
  StepFacts unit = step("unit", -1, Outcome::kTimedOut);
  unit.time_budget_seconds = 7;
  unit.last_test = "a::loop";
  for (const auto* kind : {"build", "tests", "policy"}) {
    const auto signals = judged({.gate_id = "g", .required = {kind}, .steps = {unit}});
    const auto& told = signals.back().details;
    EXPECT_EQ(told.value("time_budget_seconds", 0), 7) << kind;
    EXPECT_EQ(told.value("last_test", ""), "a::loop") << kind;
  }
  unit.outcome = Outcome::kExited;
  EXPECT_FALSE(
      judged({.gate_id = "g", .required = {"build"}, .steps = {unit}})[0].details.contains("last_test"));
}

TEST(Evaluate, APolicyIsRepeated) {
  const auto judge = [](std::optional<Signal> found) {
    return judged({.gate_id = "g",
                   .required = {"policy"},
                   .steps = {step("x")},
                   .policy_signal = std::move(found)})
        .at(0);
  };
  EXPECT_TRUE(judge(Signal{.kind = "policy", .passed = true, .details = {{"files", 1}}}).passed);
  EXPECT_FALSE(judge(Signal{.kind = "policy", .details = {{"failing", "x"}}}).passed);
  EXPECT_TRUE(judge(std::nullopt).missing);
}

// The opinion of a model about itself is not a fact.
TEST(Signals, NoDetailIsAnOpinion) {
  constexpr std::string_view kOpinions[] = {"confidence", "self",  "opinion", "belief", "certain",
                                            "score",      "model", "claim",   "assess"};
  ASSERT_GE(signal_kinds().size(), 9U);
  for (const auto kind : signal_kinds()) {
    EXPECT_FALSE(details_of(kind).empty()) << kind;
    std::set<std::string_view> keys;
    for (const auto& detail : details_of(kind)) {
      EXPECT_TRUE(keys.insert(detail.key).second) << kind << "." << detail.key << " is there twice";
      for (const auto opinion : kOpinions)
        EXPECT_EQ(detail.key.find(opinion), std::string_view::npos) << kind << "." << detail.key;
    }
  }
}

TEST(Signals, TheDocsHaveTheCatalogue) {
  std::ifstream docs(std::string(testing::kSourceFolder) + "/docs/signals.md");
  std::set<std::string> told, known;
  for (std::string line; std::getline(docs, line);) {
    std::smatch row;
    if (std::regex_match(line, row, std::regex(R"(\| (\w+) \| (\w+) \| (text|integer|boolean) \| .+ \|)")))
      told.insert(row.str(1) + " " + row.str(2) + " " + row.str(3));
  }
  constexpr const char* kTypes[] = {"text", "integer", "boolean"};
  for (const auto kind : signal_kinds())
    for (const auto& detail : details_of(kind))
      known.insert(std::string(kind) + " " + std::string(detail.key) + " " +
                   kTypes[static_cast<int>(detail.type)]);
  EXPECT_EQ(told, known);
}

AttemptFacts failing(const std::string& kind = "build") {
  return {.signals = {{.kind = "agent", .gate_id = "agent", .passed = true},
                      {.kind = kind, .gate_id = "g", .details = Json::object()}},
          .steps = {step("run"), step("unit", 1)}};
}

TEST(Decide, EachRowOfTheDesign) {
  AttemptFacts passed = failing();
  passed.signals[1].passed = true;
  EXPECT_EQ(decide(passed).kind, Verdict::Kind::kPassed);
  EXPECT_EQ(decide(failing()).kind, Verdict::Kind::kFailedRetryable);

  AttemptFacts last = failing();
  last.attempts_used = last.max_attempts;
  EXPECT_EQ(decide(last).kind, Verdict::Kind::kEscalate);

  AttemptFacts final = failing();
  final.non_retryable = {"build"};
  EXPECT_EQ(decide(final).kind, Verdict::Kind::kEscalate);

  AttemptFacts missing = failing();
  missing.signals[1].missing = true;
  EXPECT_EQ(decide(missing).kind, Verdict::Kind::kEscalate);

  AttemptFacts late = failing();
  late.steps[1] = step("unit", -1, Outcome::kTimedOut);
  EXPECT_EQ(decide(late).kind, Verdict::Kind::kEscalate);
  late.timeout_retryable = true;
  EXPECT_EQ(decide(late).kind, Verdict::Kind::kFailedRetryable);
  late.steps[1] = step("unit", -1, Outcome::kOomKilled);
  EXPECT_EQ(decide(late).kind, Verdict::Kind::kEscalate);
  late.oom_retryable = true;
  EXPECT_EQ(decide(late).kind, Verdict::Kind::kFailedRetryable);

  AttemptFacts code = failing();
  code.signals = {{.kind = "agent", .gate_id = "agent"}, {.kind = "build", .gate_id = "g", .passed = true}};
  code.steps = {step("run", 3), step("unit")};
  code.steps[0].is_agent = true;
  EXPECT_EQ(decide(code).kind, Verdict::Kind::kEscalate) << "every gate passed";
  code.open_gates = {"g"};
  EXPECT_EQ(decide(code).kind, Verdict::Kind::kFailedRetryable);

  AttemptFacts backend = failing();
  backend.backend_error = true;
  EXPECT_EQ(decide(backend).kind, Verdict::Kind::kFailedRetryable);
  backend.signals[1].passed = true;
  EXPECT_NE(decide(backend).kind, Verdict::Kind::kPassed) << "a sandbox that was not made proves nothing";

  const AttemptFacts nothing{.signals = {{.kind = "agent", .gate_id = "agent", .passed = true}}};
  EXPECT_NE(decide(nothing).kind, Verdict::Kind::kPassed) << "nothing was judged";
}

TEST(Decide, SummaryIsBoundedUtf8) {
  AttemptFacts facts = failing();
  for (int i = 0; i < 10'000; ++i) facts.steps[1].output_tail += "é";
  const auto verdict = decide(facts);
  EXPECT_LE(verdict.summary.size(), kSummaryBytesMax);
  EXPECT_GT(verdict.summary.size(), kSummaryBytesMax - 100);
  EXPECT_EQ(valid_utf8(verdict.summary), verdict.summary);
}

}  // namespace
}  // namespace pawl::gates
