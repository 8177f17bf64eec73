#include "executor/steps.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "base/mutant.h"
#include "gates/gates.h"

namespace pawl::executor {

std::set<std::string, std::less<>> evidence_of(const plan::Step& step) {
  std::set<std::string, std::less<>> out;
  if (step.trace) out.insert("trace");
  for (const auto& declared : step.reports) out.emplace(gates::family_of(declared.format));
  return out;
}

bool needs_inventory(const plan::Gate& gate) {
  if (gate.baseline == plan::Baseline::kNone) return false;
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

namespace {

// For each gate that may be flaky its steps, once for each rerun.
void add_reruns(const plan::Common& plan, const plan::Phase& phase, std::int64_t attempt,
                std::int64_t episode, std::vector<PlannedStep>& to) {
  for (const auto& name : phase.gates) {
    const plan::Gate& gate = plan.gates.at(name);
    const auto& steps = gate.steps_of_attempt(attempt);
    for (std::int64_t rerun = 1; rerun <= gate.retry.flaky_reruns; ++rerun)
      for (const auto& step : steps)
        to.push_back({.index = static_cast<std::int64_t>(to.size()),
                      .role = StepRole::kGate,
                      .gate_id = gate.name,
                      .step = &step,
                      .last_of_gate = &step == &steps.back(),
                      .episode = episode,
                      .rerun = rerun});
  }
}

}  // namespace

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
  const auto add_gate = [&](StepRole role, const plan::Gate& gate, bool again = false) {
    const auto& steps = gate.steps_of_attempt(attempt);
    for (const auto& step : steps) {
      add(role, gate.name, step, &step == &steps.back());
      out.back().compared = role == StepRole::kBaseline && needs_inventory(gate) && !again;
      out.back().again = again;
    }
  };
  add(StepRole::kAgent, std::string(kAgentGate), phase.agent, true);
  for (const auto& name : phase.gates) {
    const plan::Gate& gate = plan.gates.at(name);
    if (needs_inventory(gate)) add_gate(StepRole::kBaseline, gate);
    add_gate(StepRole::kGate, gate);
  }
  const auto steps_of_episode = static_cast<std::int64_t>(out.size());
  for (auto& step : out) step.index += std::max<std::int64_t>(0, episode - 1) * steps_of_episode;
  if (plan.doctor) add(StepRole::kDoctor, std::string(kDoctorGate), plan.doctor->step, true);
  if (plan.replan) add(StepRole::kReplan, std::string(kReplanGate), plan.replan->step, true);
  for (auto& step : out | std::views::drop(steps_of_episode)) {
    step.index += (phase.best_of - 1) * steps_of_episode;
    step.episode = 0;
  }
  const std::size_t shared = out.size();
  for (const auto& name : phase.gates) {
    const plan::Gate& gate = plan.gates.at(name);
    if (gate.baseline == plan::Baseline::kTaken && !needs_inventory(gate))
      add_gate(StepRole::kBaseline, gate);
  }
  // Each episode has these steps, after those of the previous episode.
  const auto number_from = [&](std::size_t from, std::int64_t before) {
    const auto each = static_cast<std::int64_t>(out.size() - from);
    for (auto& step : out | std::views::drop(from))
      step.index += before + std::max<std::int64_t>(0, episode - 1) * each;
    return before + (phase.best_of - 1) * each;
  };
  const auto more = number_from(shared, (phase.best_of - 1) * steps_of_episode);
  const std::size_t first_again = out.size();
  for (const auto& name : phase.gates)
    if (const plan::Gate& gate = plan.gates.at(name); needs_inventory(gate))
      add_gate(StepRole::kBaseline, gate, true);
  const auto most = number_from(first_again, more);
  const std::size_t first_rerun = out.size();
  add_reruns(plan, phase, attempt, episode, out);
  number_from(first_rerun, most);
  return out;
}

std::string step_name(const PlannedStep& step) {
  if (step.rerun > 0) return step.step->name + "@rerun" + std::to_string(step.rerun);
  if (step.role != StepRole::kBaseline) return step.step->name;
  return step.step->name + (step.again ? "@base2" : "@base");
}

std::string label_of(const std::string& phase_id, const PlannedStep& step, std::int64_t attempt) {
  std::string label =
      phase_id + "." + step.gate_id + "." + step_name(step) + ".attempt" + std::to_string(attempt);
  if (step.round > 0) label += ".together" + std::to_string(step.round);
  return step.episode == 0 ? label : label + ".episode" + std::to_string(step.episode);
}

bool minds_refused_entries(const PlannedStep& step) {
  return step.role != StepRole::kBaseline &&  // base is not judged
         step.step->limits.refused_entries == plan::RefusedEntries::kFail;
}

bool held(const PlannedStep& step, const sandbox::SandboxRun& run) {
  return gates::step_held(run.outcome, run.exit_code, step.step->may_fail);
}

bool leaves_no_verdict(const PlannedStep& step, const sandbox::SandboxRun& run) {
  return step.rerun == 0 && run.outcome == sandbox::Outcome::kSetupFailed;
}

namespace {

// Mutants (base/mutant.h).
bool ignores_unusable_base() { return mutant("unusable_base_ignored"); }
bool starts_agent_before_base() { return mutant("agent_before_base"); }

const sandbox::SandboxRun* result_of(const PlannedStep& step, const Progress& progress) {
  const auto found = progress.results.find(step.index);
  return found == progress.results.end() ? nullptr : &found->second;
}

bool is_missed(const PlannedStep& step, const Progress& progress) {
  return step.role == StepRole::kBaseline && !step.again && !progress.on_base.contains(step.gate_id) &&
         result_of(step, progress) == nullptr;
}

bool base_is_usable(const Progress& progress) {
  if (ignores_unusable_base()) return true;
  return std::ranges::all_of(progress.on_base, [](const auto& known) { return known.second.is_usable(); });
}

// Whether the agent has to wait, and for which step. nullptr: it waits for a person.
std::optional<const PlannedStep*> before_agent(std::span<const PlannedStep> steps, const Progress& progress) {
  if (starts_agent_before_base()) return std::nullopt;
  const auto first = std::ranges::find_if(steps, [&](const auto& step) { return is_missed(step, progress); });
  if (first != steps.end()) return &*first;  // a person learns at once all there is to fix
  return base_is_usable(progress) ? std::nullopt : std::optional<const PlannedStep*>(nullptr);
}

}  // namespace

const PlannedStep* next_step(std::span<const PlannedStep> steps, const Progress& progress) {
  const auto again = std::ranges::find_if(steps, [&](const auto& step) {
    return step.again && progress.base_again.contains(step.gate_id) && result_of(step, progress) == nullptr;
  });
  if (again != steps.end()) return &*again;
  const auto rerun = std::ranges::find_if(steps, [&](const auto& step) {
    const auto awaited = progress.reruns.find(step.gate_id);
    return step.rerun > 0 && awaited != progress.reruns.end() && awaited->second == step.rerun &&
           result_of(step, progress) == nullptr;
  });
  if (rerun != steps.end()) return &*rerun;
  for (const auto& step : steps) {
    const auto* done = result_of(step, progress);
    switch (step.role) {
      case StepRole::kAgent:
        if (done == nullptr) return before_agent(steps, progress).value_or(&step);
        if (progress.agent_decides) return nullptr;
        break;
      case StepRole::kBaseline:
        // All steps of a baseline run, however they end: on base tests may fail, and only their names count.
        if (step.compared && is_missed(step, progress)) return &step;
        break;
      case StepRole::kGate: {
        const auto passed = progress.gate_passed.find(step.gate_id);
        const bool is_known = passed != progress.gate_passed.end();
        // A gate that passed by a rerun has a step before that did not hold.
        if (step.rerun > 0 || (is_known && passed->second)) break;
        if (done == nullptr) return &step;
        if (!held(step, *done) && !progress.known_failing.contains(step.index)) return nullptr;
        if (step.last_of_gate && is_known) return nullptr;
        break;
      }
      case StepRole::kDoctor:
      case StepRole::kReplan:
        break;  // not before the verdict
    }
  }
  return nullptr;
}

}  // namespace pawl::executor
