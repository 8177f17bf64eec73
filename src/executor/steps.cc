#include "executor/steps.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "gates/gates.h"

namespace pawl::executor {

std::set<std::string, std::less<>> evidence_of(const plan::Step& step) {
  std::set<std::string, std::less<>> out;
  if (step.trace) out.insert("trace");
  for (const auto& declared : step.reports) out.emplace(gates::family_of(declared.format));
  return out;
}

bool needs_inventory(const plan::Gate& gate) {
  return std::ranges::any_of(gate.signals, [&](const auto& kind) {
    return gates::compares_with_base(kind) && std::ranges::any_of(gate.steps, [&](const auto& step) {
             return evidence_of(step).contains(gates::evidence_of(kind));
           });
  });
}

std::vector<std::int64_t> episodes_of(const plan::Phase& phase) {
  if (phase.best_of == 1) return {0};
  std::vector<std::int64_t> out(static_cast<std::size_t>(phase.best_of));
  std::iota(out.begin(), out.end(), std::int64_t{1});
  return out;
}

std::vector<PlannedStep> planned_steps(const plan::Common& plan, const plan::Phase& phase,
                                       std::int64_t attempt, std::int64_t episode) {
  std::vector<PlannedStep> out;
  const auto add = [&](StepRole role, const std::string& gate, const plan::Step& step, bool last) {
    out.push_back({.index = static_cast<std::int64_t>(out.size()),
                   .role = role,
                   .gate_id = gate,
                   .step = &step,
                   .last_of_gate = last,
                   .episode = episode});
  };
  add(StepRole::kAgent, std::string(kAgentGate), phase.agent, true);
  for (const auto& name : phase.gates) {
    const plan::Gate& gate = plan.gates.at(name);
    const auto add_all = [&](StepRole role) {
      const auto& steps = gate.steps_of_attempt(attempt);
      for (const auto& step : steps) add(role, name, step, &step == &steps.back());
    };
    if (needs_inventory(gate)) add_all(StepRole::kBaseline);
    add_all(StepRole::kGate);
  }
  const auto steps_of_episode = static_cast<std::int64_t>(out.size());
  for (auto& step : out) step.index += std::max<std::int64_t>(0, episode - 1) * steps_of_episode;
  if (plan.doctor) add(StepRole::kDoctor, std::string(kDoctorGate), plan.doctor->step, true);
  if (plan.replan) add(StepRole::kReplan, std::string(kReplanGate), plan.replan->step, true);
  for (auto& step : out | std::views::drop(steps_of_episode)) {
    step.index += (phase.best_of - 1) * steps_of_episode;
    step.episode = 0;
  }
  return out;
}

std::string step_name(const PlannedStep& step) {
  return step.role == StepRole::kBaseline ? step.step->name + "@base" : step.step->name;
}

std::string label_of(const std::string& phase_id, const PlannedStep& step, std::int64_t attempt) {
  std::string label =
      phase_id + "." + step.gate_id + "." + step_name(step) + ".attempt" + std::to_string(attempt);
  if (step.round > 0) label += ".together" + std::to_string(step.round);
  return step.episode == 0 ? label : label + ".episode" + std::to_string(step.episode);
}

bool held(const PlannedStep& step, const sandbox::SandboxRun& run) {
  return gates::step_held(sandbox::name(run.outcome), run.exit_code, step.step->may_fail);
}

const PlannedStep* next_step(std::span<const PlannedStep> steps, const Progress& progress) {
  const auto result = [&](const PlannedStep& step) {
    const auto found = progress.results.find(step.index);
    return found == progress.results.end() ? nullptr : &found->second;
  };
  for (const auto& step : steps) {
    const auto* done = result(step);
    switch (step.role) {
      case StepRole::kAgent:
        if (done == nullptr) return &step;
        if (progress.agent_decides) return nullptr;
        break;
      case StepRole::kBaseline:
        // All steps of a baseline run, whatever their end: on base, tests may fail, and it is names that
        // count.
        if (done == nullptr && !progress.inventories.contains(step.gate_id)) return &step;
        break;
      case StepRole::kGate:
        if (done == nullptr) return &step;
        if (!held(step, *done)) return nullptr;
        if (step.last_of_gate) {
          const auto passed = progress.gate_passed.find(step.gate_id);
          if (passed != progress.gate_passed.end() && !passed->second) return nullptr;
        }
        break;
      case StepRole::kDoctor:
      case StepRole::kReplan:
        break;  // not before the verdict
    }
  }
  return nullptr;
}

}  // namespace pawl::executor
