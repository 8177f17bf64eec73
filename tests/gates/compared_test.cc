// Comparisons with base in which a name alone is not enough: equal names, scripts that get tests, hooks, and
// reports that were not written.
#include <gtest/gtest.h>

#include "gates/gates.h"
#include "gates/told_by.h"

namespace pawl::gates {
namespace {

struct Written {
  std::string format, path, text;
};

// A step that looks for reports at `patterns` and wrote these `reports`.
StepFacts step_of(std::vector<DeclaredReport> patterns, const std::vector<Written>& reports,
                  std::int64_t exit_code = 0) {
  StepFacts out{.step_name = "unit", .outcome = Outcome::kExited, .exit_code = exit_code};
  for (const auto& one : patterns) out.declared.insert(std::string(family_of(one.format)));
  out.patterns = std::move(patterns);
  for (const auto& [format, path, text] : reports)
    out.reports.push_back({.path = path,
                           .format = format,
                           .family = std::string(family_of(format)),
                           .report = report_of(format, text)});
  return out;
}

StepFacts tap(const std::string& text, std::int64_t exit_code = 0) {
  return step_of({{"tap", "out.tap"}}, {{"tap", "out.tap", text}}, exit_code);
}

Signal tests_signal(GateFacts facts) {
  facts.gate_id = "g";
  facts.required = {"tests"};
  return evaluate(facts).at(0);
}

const Written kUnit{"junit", "u.xml", "<testsuite><testcase name='a'/></testsuite>"},
    kMore{"junit", "v.xml", "<testsuite><testcase name='b'/></testsuite>"},
    kEnd{"tap", "e.tap", "ok 1 c\n1..1\n"}, kFound{"sarif", "a.sarif", R"({"runs":[{"results":[]}]})"},
    kOther{"sarif", "b.sarif", R"({"runs":[{"results":[]}]})"};

struct Lacking {
  std::vector<DeclaredReport> patterns;
  std::vector<Written> all;
  std::size_t missing;  // index in `all` of the report that is not written
  std::string what;
};

const std::vector<Lacking>& lacking() {
  static const std::vector<Lacking> all = {
      {{{"junit", "u.xml"}, {"tap", "e.tap"}}, {kUnit, kEnd}, 1, "no report of tap"},
      {{{"junit", "*.xml"}, {"tap", "*.tap"}}, {kUnit, kEnd}, 1, "no report of tap"},
      {{{"junit", "u.xml"}, {"junit", "v.xml"}}, {kUnit, kMore}, 1, "no report at v.xml"},
      {{{"junit", "u.xml"}, {"junit", "v.xml"}}, {kUnit, kMore}, 0, "no report at u.xml"},
      {{{"sarif", "a.sarif"}, {"sarif", "b.sarif"}}, {kFound, kOther}, 1, "no report at b.sarif"},
      {{{"sarif", "a.sarif"}, {"sarif", "b.sarif"}}, {kFound, kOther}, 0, "no report at a.sarif"}};
  return all;
}

std::string kind_of(const Lacking& one) {
  return one.patterns.front().format == "sarif" ? "sarif_delta" : "tests";
}

std::vector<Written> without(std::vector<Written> all, std::size_t missing) {
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(missing));
  return all;
}

TEST(Declared, EachFormatAndEachPathMustHaveItsReport) {
  for (const auto& one : lacking()) {
    const std::string kind = kind_of(one);
    const auto judged = [&](const std::vector<Written>& written) {
      const GateFacts facts{.gate_id = "g",
                            .required = {kind},
                            .steps = {step_of(one.patterns, written)},
                            .base = {{kind, {}}}};
      return evaluate(facts).at(0);
    };
    EXPECT_TRUE(judged(one.all).passed) << one.what << judged(one.all).details;
    const auto signal = judged(without(one.all, one.missing));
    EXPECT_FALSE(signal.passed) << one.what;
    EXPECT_TRUE(signal.missing) << one.what;
    EXPECT_EQ(signal.details["problem"], "unit: " + one.what + " was written");
  }
}

TEST(Declared, OnBaseItStopsTheRunOrIsALowerBound) {
  for (const auto& one : lacking()) {
    const std::string kind = kind_of(one);
    const auto left = without(one.all, one.missing);
    EXPECT_EQ(on_base("g", {kind}, {step_of(one.patterns, one.all)}).stop, "");
    const auto found = on_base("g", {kind}, {step_of(one.patterns, left)});
    EXPECT_NE(found.stop.find("wrote " + one.what), std::string::npos) << found.stop;
    const auto red = on_base("g", {kind}, {step_of(one.patterns, left, 1)});
    EXPECT_EQ(red.stop, "") << "the phase is to mend it";
    EXPECT_EQ(red.inventories.at(kind).state, Inventory::State::kLowerBound);
    EXPECT_EQ(red.inventories.at(kind).reason, "unit exited with 1 and wrote " + one.what);
  }
}

TEST(Declared, APatternMayFitNothingBesideAnotherOfItsFormat) {
  for (const char* pattern : {"build/*.xml", "**/u?.xml", "sub/**"})
    EXPECT_TRUE(tests_signal({.steps = {step_of({{"junit", "u.xml"}, {"junit", pattern}}, {kUnit})}}).passed)
        << pattern;
}

// The second of two runners did not run, because the first one failed. Its results are not known.
TEST(Declared, KnownFailuresLetNoOtherReportGo) {
  const Written red{"junit", "u.xml", "<testsuite><testcase name='a'><failure/></testcase></testsuite>"};
  const std::vector<DeclaredReport> patterns = {{"junit", "u.xml"}, {"tap", "e.tap"}};
  const auto passes = [&](const std::vector<Written>& written) {
    const GateFacts facts{.gate_id = "g",
                          .required = {"tests"},
                          .steps = {step_of(patterns, written, 1)},
                          .base = on_base("g", {"tests"}, {step_of(patterns, {red}, 1)}).inventories,
                          .known_failing = true};
    return gate_passed(facts, evaluate(facts));
  };
  EXPECT_TRUE(passes({red, kEnd}));
  EXPECT_FALSE(passes({red}));
}

struct Equal {
  std::string base, now;
  std::string fresh, on_base;  // names of failing tests
};

TEST(EqualNames, AreComparedByHowManyFail) {
  const std::vector<Equal> cases = {
      {"ok a|not ok a", "ok a|ok a|not ok a", "", "a#3"},         // another one passes
      {"ok a|not ok a", "not ok a|ok a|ok a|ok a", "", "a#4"},    // the order does not matter
      {"ok a|not ok a", "ok a|not ok a|not ok a", "a#3", "a#2"},  // one more fails
      {"ok a|ok a|not ok a", "ok a|not ok a", "", "a#2"},         // one test less, which is reported as gone
      {"not ok a|not ok a", "ok a|ok a|not ok a|not ok a", "", "a#3, a#4"},
      {"ok a|not ok a|ok b", "ok a|not ok a|not ok b", "b", "a#2"},
      {"ok a|not ok b", "not ok a|not ok b", "a", "b"},
      {"ok a|not ok a#2", "ok a|ok a|not ok a#2", "", "a#2#2"},  // the number is part of the test's own name
      {"ok bug#12|not ok bug", "not ok bug#12|ok bug", "bug#12", ""}};
  const auto report = [](std::string lines) {
    std::string out;
    for (int number = 1; !lines.empty(); ++number) {
      const auto end = std::min(lines.find('|'), lines.size());
      const auto ok = lines.find("ok ") + 2;
      out += lines.substr(0, ok) + " " + std::to_string(number) + " -" + lines.substr(ok, end - ok) + "\n";
      lines.erase(0, end + 1);
      if (lines.empty()) out += "1.." + std::to_string(number) + "\n";
    }
    return out;
  };
  for (const auto& one : cases) {
    const auto base = on_base("g", {"tests"}, {tap(report(one.base), 1)}).inventories;
    GateFacts facts{.gate_id = "g",
                    .required = {"tests"},
                    .steps = {tap(report(one.now), 1)},
                    .base = base,
                    .known_failing = true};
    const auto signal = evaluate(facts).at(0);
    EXPECT_EQ(signal.details.value("newly_failing_names", ""), one.fresh) << one.now;
    EXPECT_EQ(signal.details.value("failing_on_base_names", ""), one.on_base) << one.now;
    const bool none_is_gone = signal.details.value("gone", 0) == 0;
    EXPECT_EQ(gate_passed(facts, evaluate(facts)), one.fresh.empty() && none_is_gone) << one.now;
    AttemptFacts attempt{.signals = evaluate(facts), .steps = facts.steps, .open_gates = {"g"}};
    for (const auto& name : failing_names(base.at("tests"))) attempt.failing_on_base.insert(name);
    const auto summary = decide(attempt).summary;
    for (std::size_t at = 0; !one.on_base.empty() && at < one.on_base.size();) {
      const auto end = std::min(one.on_base.find(", ", at), one.on_base.size());
      EXPECT_NE(summary.find(one.on_base.substr(at, end - at) + " (fails on base, too)"), std::string::npos)
          << summary;
      at = end + 2;
    }
    EXPECT_TRUE(one.fresh.empty() || summary.find(one.fresh + " (fails on base") == std::string::npos)
        << summary;
  }
}

// node --test names a file without tests of node's own by its path, even when the file throws.
TEST(Scripts, BecomeFilesWithTests) {
  const auto tap_of = [](const std::string& lines) { return "TAP version 13\n" + lines; };
  const auto junit_of = [](const std::string& cases) { return "<testsuites>" + cases + "</testsuites>"; };
  struct Case {
    Written base, now;
    bool right, throws;
  };
  const std::string
      threw = tap_of(
          "not ok 1 - /workspace/a.test.mjs\n  ---\n  error: 'TypeError: x is no function'\n  ...\n1..1\n"),
      script = tap_of("ok 1 - /workspace/a.test.mjs\n1..1\n"), tests = tap_of("ok 1 - adds\n1..1\n");
  const std::string junit_script = junit_of("<testcase name='/workspace/a.test.mjs' classname='test'/>"),
                    junit_tests = junit_of("<testcase name='adds' classname='test'/>");
  const std::vector<Case> cases = {
      {{"tap", "o", threw}, {"tap", "o", tests}, true, true},
      {{"tap", "o", script}, {"tap", "o", tests}, true, false},
      {{"junit", "o", junit_script}, {"junit", "o", junit_tests}, true, false},
      {{"tap", "o", tap_of("ok 1 - /workspace/a.test.mjs\nok 2 - old\n1..2\n")},
       {"tap", "o", tap_of("ok 1 - old\n1..1\n")},
       false,
       false},
      {{"tap", "o", tap_of("ok 1 - /workspace/a.test.mjs\nok 2 - /workspace/b.test.mjs\n1..2\n")},
       {"tap", "o", tests},
       false,
       false},
      {{"tap", "o", script},
       {"tap", "o", tap_of("ok 1 - /workspace/a.test.mjs # SKIP\nok 2 - adds\n1..2\n")},
       false,
       false},
      {{"tap", "o", tap_of("ok 1 - a.test.mjs\n1..1\n")}, {"tap", "o", tests}, false, false}};
  for (const auto& [base, now, right, throws] : cases) {
    GateFacts facts{
        .steps = {step_of({{base.format, "o"}}, {now})},
        .base = on_base("g", {"tests"}, {step_of({{base.format, "o"}}, {base}, throws ? 1 : 0)}).inventories};
    EXPECT_FALSE(tests_signal(facts).passed) << "nobody knows whether it is there: " << base.text;
    facts.has_file = [](const std::string& path) { return path == "a.test.mjs" || path == "b.test.mjs"; };
    EXPECT_EQ(tests_signal(facts).passed, right) << base.text << now.text << tests_signal(facts).details;
    facts.has_file = [](const std::string& path) { return path == "b.test.mjs"; };
    EXPECT_FALSE(tests_signal(facts).passed) << "it was removed: " << base.text;
  }
}

// The body of a suite throws on base: node's JUnit report then has the suite as a failed test.
TEST(Suites, OfNodeThatThrewOnBaseAreNoLostTests) {
  const auto junit_of = [](const std::string& cases) {
    return std::vector<Written>{{"junit", "o", "<testsuites>" + cases + "</testsuites>"}};
  };
  const auto test = [](const std::string& name, const std::string& inside = "") {
    return "<testcase name='" + name + "' classname='test'>" + inside + "</testcase>";
  };
  const auto suite = [](const std::string& name, const std::string& inside) {
    return "<testsuite name='" + name + "' hostname='h'>" + inside + "</testsuite>";
  };
  const std::string failed = "<failure/>", skipped = "<skipped/>", threw = test("gen", failed);
  struct Case {
    std::string base, now, gone;
  };
  for (const auto& [base, now, gone] :
       std::vector<Case>{{threw, suite("gen", test("a") + test("b")), ""},
                         {threw, suite("outer", suite("gen", test("a"))), ""},
                         {threw, suite("gen", suite("inner", test("a"))), ""},
                         {threw + threw, suite("gen", test("a")) + suite("gen", test("b")), ""},
                         {threw + threw, suite("gen", test("a")), "test::gen#2"},
                         {threw, suite("gen", ""), "test::gen"},
                         {threw, suite("gen", test("a", skipped)), "test::gen"},
                         {threw, suite("other", test("a")), "test::gen"},
                         {threw, "", "test::gen"},
                         {test("gen"), suite("gen", test("a")), "test::gen"},
                         {"<testcase name='gen' classname='of.another'><failure/></testcase>",
                          suite("gen", test("a")), "of.another::gen"}}) {
    const auto was = step_of({{"junit", "o"}}, junit_of(base + test("old")), 1);
    const auto is = step_of({{"junit", "o"}}, junit_of(now + test("old")));
    const auto signal = tests_signal({.steps = {is}, .base = on_base("g", {"tests"}, {was}).inventories});
    EXPECT_EQ(signal.passed, gone.empty()) << base << now << signal.details;
    EXPECT_EQ(signal.details.value("gone_names", ""), gone) << base << now;
  }
}

TEST(Hooks, AreNoTestsWhetherTheyPassOrNot) {
  const auto junit = [](const std::string& cases) { return "<testsuite>" + cases + "</testsuite>"; };
  for (const std::string hook :
       {"[BeforeSuite]", "[AfterSuite]", "[SynchronizedBeforeSuite]", "[SynchronizedAfterSuite]",
        "[ReportBeforeSuite]", "[ReportAfterSuite] Autogenerated ReportAfterSuite for --junit-report",
        "[DeferCleanup (Suite)]", "&quot;before all&quot; hook for &quot;adds&quot;"}) {
    const std::string test = "<testcase name='[It] adds' classname='s' status='passed'/>",
                      node = "<testcase name='" + hook + "' classname='s' status='passed'/>",
                      failed = "<testcase name='" + hook +
                               "' classname='s' status='failed'><failure>no</failure></testcase>",
                      skipped = "<testcase name='" + hook +
                                "' classname='s' status='skipped'><skipped/></testcase>";
    for (const auto& passing : {node, skipped})
      EXPECT_EQ(told_by("junit", junit(test + passing)), "+s::[It] adds") << hook;
    EXPECT_TRUE(told_by("junit", junit(test + failed)).starts_with("+s::[It] adds | !")) << hook;
    const auto base =
        on_base("g", {"tests"}, {step_of({{"junit", "o"}}, {{"junit", "o", junit(node + test)}})})
            .inventories;
    EXPECT_TRUE(
        tests_signal({.steps = {step_of({{"junit", "o"}}, {{"junit", "o", junit(test)}})}, .base = base})
            .passed)
        << hook;
  }
  EXPECT_EQ(told_by("junit", junit("<testcase name='[Before] adds'/><testcase name='BeforeSuite'/>")),
            "+[Before] adds | +BeforeSuite");
}

}  // namespace
}  // namespace pawl::gates
