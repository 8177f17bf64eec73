#include "sim/scene.h"

#include <fmt/format.h>

#include <algorithm>

#include "executor/executor.h"
#include "plan/parse.h"

namespace pawl::sim {
namespace {

constexpr std::int64_t kFlakyRerunsMost = 2;

std::string draw_policies(Dice& dice, Bounds& bounds) {
  bounds.max_attempts = 1 + dice.below(4);
  std::string plan = fmt::format("max_attempts: {}\n", bounds.max_attempts);
  const auto resume =
      dice.one_of<std::string>({"re_execute", "continue", "skip", "escalate", "{probe: look}"});
  plan += "resume: " + resume + "\n";
  bounds.effect_is_elsewhere = resume.starts_with('{');
  bounds.agents_continue = resume == "continue";
  if (resume == "re_execute" || bounds.agents_continue)
    bounds.refused_percent = dice.one_of<std::int64_t>({0, 10, 50});
  if (dice.percent(50)) plan += fmt::format("doctor: {{run: ask, after_failures: {}}}\n", 1 + dice.below(2));
  if (dice.percent(50)) {
    bounds.max_replans = dice.below(3);
    plan += fmt::format("replan: {{run: think, max_replans: {}}}\n", bounds.max_replans);
  }
  if (dice.percent(30)) plan += "backoff: {initial_seconds: 5}\n";
  if (dice.percent(30)) plan += "protect: [\"test/**\"]\n";
  return plan;
}

std::string draw_agent_budget(Dice& dice, AgentCaps& caps) {
  if (dice.percent(80)) return "";
  if (dice.percent(50)) {
    caps.tokens = 1 + dice.below(kTokensMax);
    return fmt::format(", budget: {{tokens: {}}}", *caps.tokens);
  }
  caps.usd_micros = 1 + dice.below(kMicrosMax);
  return fmt::format(", budget: {{usd: \"0.{:06}\"}}", *caps.usd_micros);
}

using GateSteps = std::vector<GateStep>;

// Gate `one` has two steps, gate `two` has one. A step that is named like a signal decides that signal alone.
GateSteps draw_gates(Dice& dice, std::string& plan) {
  GateSteps steps = {{"one", dice.percent(50) ? "build" : "a", dice.percent(10)},
                     {"one", "b", dice.percent(10)},
                     {"two", "c", dice.percent(10), dice.percent(40)}};
  const auto text = [](const GateStep& step) {
    return fmt::format("{{name: {}, run: x, may_fail: {}{}}}", step.name, step.may_fail,
                       step.known_failing ? ", reports: {tap: [answer]}" : "");
  };
  const auto retry = [&](std::size_t first, std::size_t end) {
    const std::int64_t reruns = dice.percent(30) ? 1 + dice.below(kFlakyRerunsMost) : 0;
    const bool passes = reruns > 0 && dice.percent(50);
    for (auto i = first; i < end; ++i) {
      steps[i].flaky_reruns = reruns;
      steps[i].flaky_passes = passes;
    }
    const auto* word = passes ? ", flaky: pass" : "";
    return reruns == 0 ? "" : fmt::format(", retry: {{flaky_reruns: {}{}}}", reruns, word);
  };
  const auto of_one = retry(0, 2), of_two = retry(2, 3);
  plan += fmt::format("gates:\n  one: {{steps: [{}, {}]{}}}\n  two: {{steps: [{}]{}{}}}\ntiers:\n",
                      text(steps[0]), text(steps[1]), of_one, text(steps[2]),
                      steps[2].known_failing ? ", known_failing: base" : "", of_two);
  return steps;
}

void add_tier(Dice& dice, std::int64_t tier, const GateSteps& gates, Scene& to) {
  const bool parallel = dice.percent(50), stop = dice.percent(70);
  to.plan += fmt::format("  - parallel: {}\n    on_failure: {}\n    phases:\n", parallel,
                         stop ? "stop" : "continue");
  to.run.tiers.push_back({.tier_index = tier, .name = "t", .stop_on_failure = stop, .parallel = parallel});
  for (std::int64_t phase = 0, phases = 1 + dice.below(3); phase < phases; ++phase) {
    const std::string id = fmt::format("p{}{}", tier, phase);
    const auto budget = draw_agent_budget(dice, to.bounds.agent_caps[id]);
    const std::int64_t best_of = dice.percent(40) ? 2 + dice.below(2) : 1;
    const bool two_gates = dice.percent(50);
    const bool may_be_empty = dice.percent(50), any_exit = dice.percent(20);
    const bool goes_on = best_of == 1 && dice.percent(40);
    const std::string usage = dice.percent(50) ? ", usage: claude_code" : "";
    to.bounds.best_of = std::max(to.bounds.best_of, best_of);
    to.plan += fmt::format(
        "      - {{id: {}, goal: g, agent: {{run: work{}{}}}, gates: [one{}], best_of: {}, may_be_empty: {}, "
        "agent_exit: {}{}}}\n",
        id, budget, usage, two_gates ? ", two" : "", best_of, may_be_empty, any_exit ? "any" : "zero",
        goes_on ? ", on_retry: continue" : "");
    if (may_be_empty || to.bounds.effect_is_elsewhere) to.bounds.may_be_empty.insert(id);
    if (goes_on) to.bounds.go_on_after_failure.insert(id);
    if (any_exit) to.bounds.any_exit.insert(id);
    auto& steps = to.bounds.gate_steps[id];
    for (const auto& step : gates)
      if (step.gate_id == "one" || two_gates) steps.push_back(step);
    to.run.phases.push_back(
        {.phase_id = id, .tier_index = tier, .phase_index = phase, .max_attempts = to.bounds.max_attempts});
    to.phase_ids.push_back(id);
  }
}

}  // namespace

Scene draw_scene(Dice& dice) {
  Scene out;
  out.plan = "version: 1\nworkflow: sim\nsource: {path: .}\nmodels: [small, large]\n";
  out.plan += draw_policies(dice, out.bounds);
  out.plan += fmt::format("sandbox: {{time_budget_seconds: {}}}\n", kStepSeconds);
  const auto gates = draw_gates(dice, out.plan);
  for (std::int64_t tier = 0, tiers = 1 + dice.below(2); tier < tiers; ++tier)
    add_tier(dice, tier, gates, out);
  std::int64_t reruns = 0;
  for (const auto& step : gates) reruns += step.flaky_reruns;
  // Each episode: the agent, three steps of gates, their reruns, and the same three on base. Two hooks. For each
  // other phase one round of three steps of gates, their reruns, one of them on base, too, and two hooks.
  out.bounds.steps_of_attempt = (7 + reruns) * out.bounds.best_of + 2 +
                                (6 + reruns) * (static_cast<std::int64_t>(out.phase_ids.size()) - 1);
  auto& run = out.run;
  if (dice.percent(40)) run.sandbox_ms_cap = 1 + dice.below(4 * kStepSeconds * 1000);
  if (dice.percent(30)) run.tokens_cap = 1 + dice.below(kTokensMax);
  if (dice.percent(30)) run.usd_nanos_cap = (1 + dice.below(kMicrosMax)) * 1000;
  run.run = {.workflow_id = "sim",
             .plan_file = "/sim/plan.yaml",
             .plan_content = "content",
             .source_path = "/sim",
             .base_id = fmt::format("base{}", dice.next()),  // no results on base from another history
             .backend = "namespace"};
  run.plan_text = out.plan;
  // Otherwise the run is like one from an older version: the first claim makes its rows.
  if (dice.percent(85)) run.plan = executor::rows_of(*plan::parse(out.plan, "plan.yaml").plan);
  return out;
}

}  // namespace pawl::sim
