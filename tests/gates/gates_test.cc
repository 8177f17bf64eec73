// Signals out of facts, verdicts out of signals; reports from an attacker.
#include "gates/gates.h"

#include <gtest/gtest.h>

namespace pawl::gates {
namespace {

StepFacts step(std::string name, std::int64_t exit_code = 0, std::string outcome = "exited") {
  return {.step_name = std::move(name), .outcome = std::move(outcome), .exit_code = exit_code};
}

StepFacts reporting(const std::string& xml, std::int64_t exit_code = 0) {
  StepFacts out = step("unit", exit_code);
  out.reports_declared = true;
  MemorySource bytes(xml);
  out.reports.push_back({.path = "r.xml", .tests = read_tests("junit", bytes)});
  return out;
}

Signal tests_of(StepFacts facts, std::optional<std::vector<std::string>> inventory = std::nullopt) {
  return evaluate({.gate_id = "g",
                   .required = {"tests"},
                   .steps = {std::move(facts)},
                   .inventory = std::move(inventory)})
      .at(0);
}

constexpr const char* kTwo =
    "<testsuite><testcase classname='c' name='a'/><testcase classname='c' name='b'/></testsuite>";

TEST(Evaluate, BuildIsExitZeroOfEveryStepThatRan) {
  const auto build = [](std::vector<StepFacts> steps, bool finished = true) {
    return evaluate({.gate_id = "g", .required = {"build"}, .steps = std::move(steps), .finished = finished})
        .at(0);
  };
  EXPECT_TRUE(build({step("x"), step("y")}).passed);
  EXPECT_FALSE(build({step("x"), step("y", 1)}).passed);
  EXPECT_FALSE(build({step("x", -1, "timed_out")}).passed);
  EXPECT_FALSE(build({step("x", -1, "oom_killed")}).passed);
  EXPECT_FALSE(build({step("x")}, false).passed) << "not all of its steps ran";
  EXPECT_TRUE(build({step("build"), step("unit", 1)}).passed) << "the step of its name decides";
  EXPECT_TRUE(build({}).missing);
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
  none.reports_declared = true;
  EXPECT_TRUE(tests_of(none).missing);
}

TEST(Evaluate, WhatAReportSaysOfItselfIsBounded) {
  StepFacts json = step("unit");
  json.reports_declared = true;
  MemorySource bytes("{\"testResults\": [\"" +
                     std::string(5'000'000, 'x'));  // the parser quotes what it read last
  json.reports.push_back({.path = "r.json", .tests = read_tests("jest", bytes)});
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

AttemptFacts failing(const std::string& kind = "build") {
  return {.signals = {{.kind = "agent", .gate_id = "agent", .passed = true},
                      {.kind = kind, .gate_id = "g", .details = Json::object()}},
          .steps = {step("run"), step("unit", 1)}};
}

TEST(Decide, EachRowOfTheDesign) {
  AttemptFacts passed = failing();
  passed.signals[1].passed = true;
  EXPECT_EQ(decide(passed).verdict, "passed");
  EXPECT_EQ(decide(failing()).verdict, "failed_retryable");

  AttemptFacts last = failing();
  last.attempts_used = last.max_attempts;
  EXPECT_EQ(decide(last).verdict, "escalate");

  AttemptFacts again = failing();
  again.earlier_failures = {{"g.build"}, {"g.build"}};
  EXPECT_EQ(decide(again).verdict, "failed_unrecoverable");
  again.earlier_failures = {{"g.build"}, {"g.tests"}, {"g.build"}};
  EXPECT_EQ(decide(again).verdict, "failed_retryable") << "in a row";

  AttemptFacts final = failing();
  final.non_retryable = {"build"};
  EXPECT_EQ(decide(final).verdict, "escalate");

  AttemptFacts missing = failing();
  missing.signals[1].missing = true;
  EXPECT_EQ(decide(missing).verdict, "escalate");

  AttemptFacts late = failing();
  late.steps[1] = step("unit", -1, "timed_out");
  EXPECT_EQ(decide(late).verdict, "escalate");
  late.timeout_retryable = true;
  EXPECT_EQ(decide(late).verdict, "failed_retryable");
  late.steps[1] = step("unit", -1, "oom_killed");
  EXPECT_EQ(decide(late).verdict, "escalate");
  late.oom_retryable = true;
  EXPECT_EQ(decide(late).verdict, "failed_retryable");

  AttemptFacts backend = failing();
  backend.backend_error = true;
  EXPECT_EQ(decide(backend).verdict, "failed_retryable");
  backend.signals[1].passed = true;
  EXPECT_NE(decide(backend).verdict, "passed") << "a sandbox that was not made proves nothing";

  const AttemptFacts nothing{.signals = {{.kind = "agent", .gate_id = "agent", .passed = true}}};
  EXPECT_NE(decide(nothing).verdict, "passed") << "nothing was judged";
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
