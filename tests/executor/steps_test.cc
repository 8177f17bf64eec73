// The order of steps: base first, then the agent, then the gates.
#include "executor/steps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/parse.h"

namespace pawl::executor {
namespace {

plan::Plan plan_of(const std::string& gates, const std::string& of_phase, const std::string& more = "") {
  auto parsed =
      plan::parse("version: 1\nworkflow: w\nsource: {path: .}\n" + more + "gates: {" + gates +
                      "}\ntiers: [{phases: [{id: p, goal: g, agent: {run: x}, " + of_phase + "}]}]\n",
                  "plan.yaml");
  EXPECT_TRUE(parsed.plan);
  return *std::move(parsed.plan);
}

struct Played {
  Results results;
  std::map<std::string, gates::OnBase> on_base;
  std::set<std::int64_t> known_failing;
  std::map<std::string, bool> gate_passed;
  std::set<std::string> base_again;
  std::map<std::string, std::int64_t> reruns;

  const PlannedStep* next(const std::vector<PlannedStep>& steps) const {
    return next_step(steps, {.results = results,
                             .on_base = on_base,
                             .known_failing = known_failing,
                             .gate_passed = gate_passed,
                             .base_again = base_again,
                             .reruns = reruns});
  }
  void ended(const PlannedStep& step, std::int64_t exit_code = 0) {
    results[step.index].outcome = sandbox::Outcome::kExited;
    results[step.index].exit_code = exit_code;
  }
};

std::string name_of(const PlannedStep* step) {
  return step == nullptr ? "" : step->gate_id + "." + step_name(*step);
}

constexpr const char* kBuild = "one: {steps: [{name: a, run: x}, {name: b, run: x}]}";
constexpr const char* kTests =
    "two: {steps: [{name: c, run: x, reports: {junit: [o.xml]}}], signals: [tests]}";

TEST(Steps, EachGateRunsOnBaseBeforeTheAgent) {
  const auto plan = plan_of(std::string(kBuild) + ", " + kTests, "gates: [one, two]");
  const auto steps = planned_steps(plan, *plan.find_phase("p"), 1, 0);
  Played played;
  std::vector<std::string> order;
  while (const auto* step = played.next(steps)) {
    order.push_back(name_of(step));
    played.ended(*step, step->role == StepRole::kBaseline ? 1 : 0);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"two.c@base", "one.a@base", "one.b@base", "agent.run", "one.a",
                                             "one.b", "two.c"}));
}

TEST(Steps, WhatIsKnownOfBaseIsNotRunAgain) {
  const auto plan = plan_of(std::string(kBuild) + ", " + kTests, "gates: [one, two]");
  const auto steps = planned_steps(plan, *plan.find_phase("p"), 1, 0);
  Played played;
  played.on_base["two"] = {.green = true};
  EXPECT_EQ(name_of(played.next(steps)), "one.a@base");
  played.on_base["one"] = {};
  EXPECT_EQ(name_of(played.next(steps)), "agent.run") << "red on base: the phase is to mend it";
}

TEST(Steps, WithAGateThatIsOfNoUseOnBaseNoAgentStarts) {
  const auto plan = plan_of(std::string(kBuild) + ", " + kTests, "gates: [one, two]");
  const auto steps = planned_steps(plan, *plan.find_phase("p"), 1, 0);
  for (const bool no_sandbox : {false, true}) {
    Played played;
    played.on_base["one"] = {.no_sandbox = no_sandbox, .stop = no_sandbox ? "" : "install it"};
    EXPECT_EQ(name_of(played.next(steps)), "two.c@base") << "all that a person has to mend is told at once";
    played.on_base["two"] = {};
    EXPECT_EQ(played.next(steps), nullptr);
    played.ended(steps.front());
    EXPECT_EQ(name_of(played.next(steps)), "one.a") << "an agent that an older version paid is judged";
  }
}

TEST(Steps, AfterTheAgentOnlyWhatIsComparedIsAskedOfBase) {
  const auto plan = plan_of(std::string(kBuild) + ", " + kTests, "gates: [one, two]");
  const auto steps = planned_steps(plan, *plan.find_phase("p"), 1, 0);
  Played played;
  played.ended(steps.front());
  std::vector<std::string> order;
  while (const auto* step = played.next(steps)) {
    order.push_back(name_of(step));
    played.ended(*step);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"one.a", "one.b", "two.c@base", "two.c"}));
}

TEST(Steps, ASecondRunOnBaseComesWhereAVerdictWaitsForIt) {
  const auto plan = plan_of(std::string(kBuild) + ", " + kTests, "gates: [two, one]");
  const auto steps = planned_steps(plan, *plan.find_phase("p"), 1, 0);
  Played played;
  played.base_again = {"two"};
  std::vector<std::string> order;
  while (const auto* step = played.next(steps)) {
    order.push_back(name_of(step));
    played.ended(*step);
  }
  EXPECT_EQ(order.front(), "two.c@base2");
  EXPECT_EQ(std::ranges::count(order, "two.c@base2"), 1);
  EXPECT_EQ(std::ranges::count_if(steps, &PlannedStep::again), 1) << "nothing is compared by the other gate";
}

TEST(Steps, ARerunComesWhereAVerdictWaitsForItAndAPassGoesOnBehindIt) {
  const std::string one =
      "one: {steps: [{name: a, run: x}, {name: b, run: x}], baseline: none, retry: {flaky_reruns: 2}}";
  const auto plan = plan_of(one + ", two: {steps: [{name: c, run: x}], baseline: none}", "gates: [one, two]");
  const auto steps = planned_steps(plan, *plan.find_phase("p"), 1, 0);
  Played played;
  played.ended(steps.front());
  played.ended(*played.next(steps), 1);  // one.a fails
  EXPECT_EQ(played.next(steps), nullptr) << "nothing waits for a rerun yet";
  std::vector<std::string> order;
  for (const std::int64_t rerun : {1, 2}) {
    played.reruns["one"] = rerun;
    for (int i = 0; i < 2; ++i) {
      order.push_back(name_of(played.next(steps)));
      played.ended(*played.next(steps));
    }
  }
  EXPECT_EQ(order,
            (std::vector<std::string>{"one.a@rerun1", "one.b@rerun1", "one.a@rerun2", "one.b@rerun2"}));
  played.reruns.clear();
  EXPECT_EQ(played.next(steps), nullptr) << "the gate failed";
  played.gate_passed["one"] = true;
  EXPECT_EQ(name_of(played.next(steps)), "two.c");
  EXPECT_EQ(label_of("p", steps.back(), 3), "p.one.b@rerun2.attempt3");
}

TEST(Steps, OnlyTheFirstRunOfAGateNeedsASandboxForAVerdict) {
  using enum sandbox::Outcome;
  for (const auto outcome :
       {kExited, kSignaled, kTimedOut, kOomKilled, kOutputLimit, kDiskLimit, kSetupFailed})
    for (const auto role : {StepRole::kAgent, StepRole::kGate})
      for (const std::int64_t rerun : {0, 1, 5}) {
        const bool none = leaves_no_verdict({.role = role, .rerun = rerun}, {.outcome = outcome});
        EXPECT_EQ(none, outcome == kSetupFailed && rerun == 0) << sandbox::name(outcome) << rerun;
      }
}

TEST(Steps, BaselineNoneKeepsAGateFromBase) {
  const auto plan = plan_of(
      "two: {steps: [{name: c, run: x, reports: {junit: [o.xml]}}], signals: [tests], baseline: none}",
      "gates: [two]");
  const auto steps = planned_steps(plan, *plan.find_phase("p"), 1, 0);
  EXPECT_EQ(name_of(Played().next(steps)), "agent.run");
  EXPECT_EQ(steps.size(), 2U);
}

// The rows of an attempt that an older version began name steps by these indexes.
TEST(Steps, IndexesOfTheAgentTheGatesAndTheHooksAreThoseOfOlderVersions) {
  const auto plan = plan_of(std::string(kBuild) + ", " + kTests, "gates: [one, two], best_of: 2",
                            "doctor: {run: x}\nreplan: {run: x}\n");
  std::set<std::int64_t> indexes;
  std::map<std::string, std::int64_t> by_name;
  for (const std::int64_t episode : {1, 2})
    for (const auto& step : planned_steps(plan, *plan.find_phase("p"), 1, episode)) {
      indexes.insert(step.index);
      by_name[name_of(&step) + "/" + std::to_string(step.episode)] = step.index;
    }
  EXPECT_EQ(by_name["agent.run/1"], 0);
  EXPECT_EQ(by_name["one.a/1"], 1);
  EXPECT_EQ(by_name["one.b/1"], 2);
  EXPECT_EQ(by_name["two.c@base/1"], 3);
  EXPECT_EQ(by_name["two.c/1"], 4);
  EXPECT_EQ(by_name["agent.run/2"], 5);
  EXPECT_EQ(by_name["two.c/2"], 9);
  EXPECT_EQ(by_name["doctor.run/0"], 10);
  EXPECT_EQ(by_name["replan.run/0"], 11);
  EXPECT_EQ(by_name["one.a@base/1"], 12);
  EXPECT_EQ(by_name["one.b@base/2"], 15);
  EXPECT_EQ(by_name["two.c@base2/1"], 16);
  EXPECT_EQ(by_name["two.c@base2/2"], 17);
  EXPECT_EQ(indexes.size(), by_name.size()) << "each has its own";
}

}  // namespace
}  // namespace pawl::executor
