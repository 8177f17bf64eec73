// Several runs of a gate on the same content: equal results, other results, and what the plan allows.
#include "gates/flaky.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates {
namespace {

Signal flaky_input(const std::string& kind, bool passed, bool missing = false) {
  return {.kind = kind, .gate_id = "g", .passed = passed, .missing = missing};
}

GateRun run_that(bool passed, std::set<std::string> failing = {}, bool missing = false) {
  return {.signals = {flaky_input("build", true), flaky_input("tests", passed, missing)},
          .passed = passed,
          .failing = std::move(failing)};
}

TEST(Flaky, RunsWithTheSameResultHaveIt) {
  for (const bool allowed : {false, true}) {
    const auto same =
        settled({run_that(false, {"a"}), run_that(false, {"a"}), run_that(false, {"a"})}, allowed);
    EXPECT_FALSE(same.passed);
    for (const auto& signal : same.signals) EXPECT_EQ(signal.flaky, "");
    EXPECT_TRUE(
        settled({run_that(false, {}, true), run_that(false, {}, true)}, allowed).signals.at(1).missing);
  }
}

TEST(Flaky, AnotherResultIsFlakyAndPassesOnlyWhereThePlanSaysSo) {
  const auto runs = [] {
    return std::vector{run_that(false, {"a"}, true), run_that(false, {"a"}, true), run_that(true)};
  };
  for (const bool allowed : {false, true}) {
    const auto mixed = settled(runs(), allowed);
    EXPECT_EQ(mixed.passed, allowed);
    EXPECT_EQ(mixed.signals.at(0).flaky, "") << "it passed in each run";
    EXPECT_EQ(mixed.signals.at(1).flaky, "failed, failed, passed");
    EXPECT_EQ(mixed.signals.at(1).passed, allowed);
    EXPECT_FALSE(mixed.signals.at(1).missing) << "another attempt may help";
  }
}

TEST(Flaky, OtherTestsThatFailAreFlakyAndNeverPass) {
  const auto mixed = settled({run_that(false, {"a"}), run_that(false, {"b"})}, true);
  EXPECT_FALSE(mixed.passed);
  EXPECT_EQ(mixed.signals.at(1).flaky, "failed, failed");
  EXPECT_FALSE(mixed.signals.at(1).passed);
}

TEST(Flaky, ASignalThatOnlyALaterRunFailsIsNamed) {
  auto later = run_that(true);
  later.passed = false;
  later.failing = {"b"};
  later.signals.at(0).passed = false;
  const auto mixed = settled({run_that(false, {"a"}), later}, true);
  EXPECT_FALSE(mixed.passed);
  for (const auto& signal : mixed.signals) {
    EXPECT_FALSE(signal.passed) << signal.kind;
    EXPECT_EQ(signal.flaky, "failed, failed") << signal.kind;
  }
  EXPECT_EQ(mixed.signals.size(), 2U);
}

TEST(Flaky, ASignalThatFailsInBothRunsIsItsOwnUnlessItsTestsDiffer) {
  for (const std::string kind : {"build", "policy", "cve_delta", "sarif_delta", "tests"})
    for (const bool missing : {false, true}) {
      const auto run = [&](const std::string& failing) {
        GateRun out = run_that(false, {failing});
        out.signals.push_back(flaky_input(kind, false, missing));
        out.signals.back().gate_id = "other";
        return out;
      };
      const auto mixed = settled({run("a"), run("b")}, true);
      const auto& own = mixed.signals.back();
      const bool differs = kind == "tests" && !missing;
      EXPECT_EQ(own.flaky, differs ? "failed, failed" : "") << kind << missing;
      EXPECT_EQ(own.missing, missing) << kind;
      EXPECT_EQ(mixed.signals.at(1).flaky, "failed, failed") << "the tests beside it differ";
      EXPECT_FALSE(mixed.passed);
      AttemptFacts facts{.signals = mixed.signals, .attempts_used = 1, .max_attempts = 3};
      facts.open_gates = {"g"};
      facts.non_retryable = {kind};
      EXPECT_EQ(decide(facts).kind, differs ? Verdict::Kind::kFailedRetryable : Verdict::Kind::kEscalate)
          << kind;
    }
}

StepFacts tests_that_fail(const std::vector<std::string>& failing) {
  StepFacts out{.step_name = "s", .outcome = Outcome::kExited, .exit_code = 1, .declared = {"tests"}};
  Report report;
  for (const auto& name : failing) report.tests.push_back({.name = name, .status = TestStatus::kFailed});
  report.tests.push_back({.name = "passes"});
  out.reports.push_back({.path = "r", .format = "tap", .family = "tests", .report = std::move(report)});
  return out;
}

GateRun run_with(const std::vector<std::string>& failing, bool known_failing, const Inventory& base) {
  return run_of({.gate_id = "g",
                 .required = {"tests"},
                 .steps = {tests_that_fail(failing)},
                 .base = {{"tests", base}},
                 .known_failing = known_failing});
}

TEST(Flaky, WhatFailsOnBaseAndNamesThatMoveAreNoDifference) {
  const Inventory base{.names = {"known", "passes"}, .failing = {"known"}};
  for (const bool known : {false, true}) {
    const auto with = run_with({"broken", "known"}, known, base), without = run_with({"broken"}, known, base);
    EXPECT_EQ(differ(with, without), !known) << "only `known_failing: base` lets it fail";
    EXPECT_TRUE(differ(with, run_with({"other", "known"}, known, base)));
  }
  const Inventory moving{.names = {"at #", "passes"}, .twice = true, .moving = {"at #"}};
  for (const bool known : {false, true}) {
    EXPECT_FALSE(differ(run_with({"at 12:00:01"}, known, moving), run_with({"at 12:00:07"}, known, moving)));
    EXPECT_TRUE(differ(run_with({"at 12:00:01"}, known, moving), run_with({"other"}, known, moving)));
  }
}

TEST(Flaky, TestsThatNoSignalJudgesAreNoDifference) {
  const auto run = [](const std::string& failing) {
    return run_of({.gate_id = "g", .required = {"build"}, .steps = {tests_that_fail({failing})}});
  };
  EXPECT_FALSE(differ(run("a"), run("b"))) << "no signal could say what differs";
}

TEST(Flaky, OnlyAnEndThatThePlanDoesNotRetryIsHopeless) {
  for (const bool retryable : {false, true}) {
    EXPECT_EQ(is_hopeless({.outcome = Outcome::kTimedOut}, retryable, !retryable), !retryable);
    EXPECT_EQ(is_hopeless({.outcome = Outcome::kOomKilled}, !retryable, retryable), !retryable);
    for (const auto other : {Outcome::kExited, Outcome::kSignaled, Outcome::kOutputLimit, Outcome::kDiskLimit,
                             Outcome::kSetupFailed})
      EXPECT_FALSE(is_hopeless({.outcome = other}, retryable, retryable)) << name(other);
  }
}

TEST(Flaky, TheVerdictNamesIt) {
  const auto decided = [](bool allowed) {
    const auto gate = settled({run_that(false), run_that(true)}, allowed);
    AttemptFacts facts{.signals = gate.signals, .attempts_used = 1, .max_attempts = 3};
    facts.non_retryable = {"tests"};
    if (!gate.passed) facts.open_gates = {"g"};
    return decide(facts);
  };
  EXPECT_EQ(decided(false).kind, Verdict::Kind::kFailedRetryable) << "also where the kind is not retried";
  EXPECT_EQ(decided(true).kind, Verdict::Kind::kPassed);
  for (const bool allowed : {false, true})
    EXPECT_NE(decided(allowed).reason.find("flaky: g.tests (failed, passed)"), std::string::npos);
  const auto text = json_text(settled({run_that(false), run_that(true)}, false).signals.at(1));
  EXPECT_NE(text.find(R"("flaky":true)"), std::string::npos) << text;
  EXPECT_EQ(json_text(flaky_input("tests", true)).find("flaky"), std::string::npos);
}

}  // namespace
}  // namespace pawl::gates
