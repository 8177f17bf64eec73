// The gates of an Episode: which of them are over, and what they say.
#include <algorithm>
#include <new>

#include "executor/episode.h"
#include "gates/flaky.h"
#include "gates/policy/check.h"
#include "os/defences.h"

namespace pawl::executor {

std::optional<gates::GateFacts> Episode::gate_facts(const std::string& gate_id, std::int64_t rerun) {
  gates::GateFacts facts{.gate_id = gate_id,
                         .required = plan_->gates.at(gate_id).signals,
                         .known_failing = plan_->gates.at(gate_id).known_failing == plan::KnownFailing::kBase,
                         .removed = removed_,
                         .has_file =
                             [this](const std::string& path) {
                               auto layers = base_stack_;
                               if (!gate_layer_.empty()) layers.insert(layers.begin(), gate_layer_);
                               return world_.objects.has_path(claim_->run.base_id, layers, path);
                             },
                         .policy = policy_,
                         .policy_signal = policy_signal_};
  facts.finished = false;
  if (plan_->gates.at(gate_id).baseline == plan::Baseline::kNone)
    facts.base = gates::no_inventories(facts.required);
  if (const auto known = on_base_.find(gate_id); known != on_base_.end())
    facts.base = known->second.inventories;
  bool over = false;
  for (const auto& step : steps_) {
    if (step.role != StepRole::kGate || step.gate_id != gate_id || step.rerun != rerun) continue;
    const auto run = results_.find(step.index);
    if (run == results_.end()) break;
    facts.steps.push_back(facts_of(step, run->second));
    add_changed(step, run->second, facts.steps.back());
    facts.finished = step.last_of_gate;
    bool holds = held(step, run->second) && facts.steps.back().changed.empty();
    if (!holds && gates::step_held(gates::with_known_failing(facts).back())) {
      known_failing_.insert(step.index);
      holds = true;
    }
    over = step.last_of_gate || !holds;
    if (over) break;
  }
  if (!over) return std::nullopt;
  return facts;
}

Result<bool> Episode::evaluate_gate(const std::string& gate_id) {
  auto facts = gate_facts(gate_id, 0);
  if (!facts) return false;
  PAWL_TRY(const auto second, second_run(plan_->gates.at(gate_id), *facts));
  if (second == SecondRun::kAwaited) {
    base_again_.insert(gate_id);
    return false;
  }
  if (second == SecondRun::kKnown) facts = gate_facts(gate_id, 0);
  if (!facts) return false;  // a step of it counts as passed now, and another one follows
  auto run = after_reruns(gate_id, *facts);
  if (!run) return false;
  gate_passed_[gate_id] = run->passed;
  gate_signals_[gate_id] = std::move(run->signals);
  return true;
}

// A gate that failed runs again on the same content, until a result differs from the first one or the plan allows
// no further rerun. A sandbox that could not be made gives no result. An end that the plan does not retry is
// not run again either: a person decides, whatever a rerun would say.
std::optional<gates::GateRun> Episode::after_reruns(const std::string& gate_id,
                                                    const gates::GateFacts& first) {
  const auto& retry = plan_->gates.at(gate_id).retry;
  const auto has_result = [](const gates::GateFacts& facts) {
    return std::ranges::none_of(
        facts.steps, [](const auto& step) { return step.outcome == sandbox::Outcome::kSetupFailed; });
  };
  std::vector<gates::GateRun> runs = {gates::run_of(first)};
  const bool hopeless = std::ranges::any_of(first.steps, [&](const auto& step) {
    return gates::is_hopeless(step, retry.timeout_retryable, retry.oom_retryable);
  });
  if (runs.front().passed || hopeless || !has_result(first)) return std::move(runs.front());
  for (std::int64_t rerun = 1; rerun <= retry.flaky_reruns; ++rerun) {
    const auto facts = gate_facts(gate_id, rerun);
    if (!facts) {
      reruns_[gate_id] = rerun;
      return std::nullopt;
    }
    if (!has_result(*facts)) break;
    runs.push_back(gates::run_of(*facts));
    if (gates::differ(runs.front(), runs.back())) break;
  }
  reruns_.erase(gate_id);
  return gates::settled(std::move(runs), retry.flaky == plan::Flaky::kPass);
}

// A gate that failed first and passed is not a failure of the attempt: the run that passed counts. It is the last
// one. Otherwise the first run stands for all of them, as its signals say whether the others differ.
std::int64_t Episode::run_that_counts(const std::string& gate_id) const {
  std::int64_t last = 0;
  if (const auto passed = gate_passed_.find(gate_id); passed == gate_passed_.end() || !passed->second)
    return last;
  for (const auto& step : steps_)
    if (step.role == StepRole::kGate && step.gate_id == gate_id && results_.contains(step.index))
      last = std::max(last, step.rerun);
  return last;
}

Status Episode::evaluate_gates() {
  for (const auto& name : phase_->gates) {
    if (gate_passed_.contains(name)) continue;
    try {
      PAWL_TRY(const bool over, evaluate_gate(name));
      if (!over) return {};
    } catch (const std::bad_alloc&) {
      if (!os::defences().memory) throw;
      auto signal = gates::policy_missing(kNoMemory);
      signal.gate_id = name;
      gate_passed_[name] = false;
      gate_signals_[name] = {std::move(signal)};
    }
  }
  return {};
}

}  // namespace pawl::executor
