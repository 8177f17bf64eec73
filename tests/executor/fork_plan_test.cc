// The changes of a plan that a fork accepts.
#include "executor/fork_plan.h"

#include <gtest/gtest.h>

#include "plan/parse.h"

namespace pawl::executor {
namespace {

constexpr std::string_view kPlan = R"(version: 1
workflow: w
source: {path: source}
models: [small]
protect: ["tests/**"]
gates:
  one: {steps: [{name: s, run: "true"}], signals: [build]}
  two: {steps: [{name: s, run: "true"}], signals: [build]}
tiers:
  - phases:
      - {id: a, goal: g, agent: {run: "true"}, gates: [one]}
      - {id: b, goal: g, agent: {run: "true"}, gates: [two]}
)";

plan::Plan plan_with(std::string_view old = "", std::string_view by = "") {
  std::string text(kPlan);
  if (!old.empty()) text.replace(text.find(old), old.size(), by);
  auto parsed = plan::parse(text, "plan.yaml");
  EXPECT_TRUE(parsed.plan) << text;
  return *std::move(parsed.plan);
}

std::string refusal(std::string_view old, std::string_view by, const std::string& from = "b") {
  const auto status = check_fork_plan(plan_with(), plan_with(old, by), from);
  if (status) return "";
  EXPECT_EQ(status.error().kind, ErrorKind::kInvalid);
  return status.error().message.substr(0, status.error().message.find(" than"));
}

TEST(ForkPlan, WhatJudgedAPhaseOrMadeItsWorkIsTheSame) {
  const std::string of_a = " for phase a";
  EXPECT_EQ(refusal("{id: a, goal: g", "{id: a, goal: h"), "the plan has another `goal`" + of_a);
  EXPECT_EQ(refusal("goal: g, agent: {run: \"true\"}", "goal: g, agent: {run: \"false\"}"),
            "the plan has another `agent`" + of_a);
  EXPECT_EQ(refusal("agent: {run: \"true\"}", "agent: {run: \"true\", budget: {tokens: 9}}"),
            "the plan has another `agent.budget`" + of_a);
  EXPECT_EQ(refusal("gates: [one]", "gates: [two]"), "the plan has another `gates`" + of_a);
  EXPECT_EQ(refusal("one: {steps: [{name: s, run: \"true\"", "one: {steps: [{name: s, run: \"false\""),
            "the plan has another `gates.one.steps`" + of_a);
  EXPECT_EQ(refusal("[\"tests/**\"]", "[]"), "the plan has another `protect`" + of_a);
}

TEST(ForkPlan, WhatWorkIsLookedAtWithoutIsTheSame) {
  for (const auto& [key, value] :
       {std::pair("ignored", "keep"), std::pair("protect_existing", "[\"docs/**\"]"),
        std::pair("allow_shadowing", "[\"lib\"]")})
    EXPECT_EQ(refusal("gates:\n", std::string(key) + ": " + value + "\ngates:\n"),
              "the plan has another `" + std::string(key) + "` for phase a");
}

TEST(ForkPlan, WhatComesAfterMayBeAnother) {
  EXPECT_EQ(refusal("{id: b, goal: g", "{id: b, goal: h"), "");
  EXPECT_EQ(refusal("two: {steps: [{name: s, run: \"true\"", "two: {steps: [{name: s, run: \"false\""), "");
  EXPECT_EQ(refusal("models: [small]", "models: [large]"), "");
  EXPECT_EQ(refusal("gates:\n", "\n# lines move\ngates:\n"), "");
  EXPECT_EQ(refusal("[\"tests/**\"]", "[]", "a"), "") << "nothing is shared";
}

}  // namespace
}  // namespace pawl::executor
