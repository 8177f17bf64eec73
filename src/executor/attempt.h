// One attempt as the executor sees it: which results it has, what comes next, what it is worth. A detail of
// this room.
//
// Everything is derived from rows and objects, so that an attempt loaded after a crash decides what the one
// before would have decided.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/executor.h"
#include "executor/steps.h"
#include "gates/gates.h"
#include "plan/plan.h"
#include "sandbox/spec.h"
#include "store/store.h"

namespace pawl::executor {

// How an attempt ended early, without results: a signal of the kind of the step that was lost.
struct LostStep {
  std::string gate_id;
  std::string outcome;  // lost | crash_loop | escalated
  bool escalate = false;
};

class Attempt {
 public:
  // REQUIRES: claim and plan outlive it.
  static Result<Attempt> load(World world, const store::Claim& claim, const plan::Plan& plan);

  // The next step, or nullptr when the attempt can be judged. Takes inventories as they become known.
  Result<const PlannedStep*> next();
  const PlannedStep* step_at(std::int64_t index) const;

  const plan::Phase& phase() const { return *phase_; }

  // The spec of a step; `context` is the folder mounted at /pawl, "" for none.
  Result<sandbox::SandboxSpec> spec_of(const PlannedStep& step, const std::string& context) const;
  // Writes feedback and evidence of the previous attempt into `folder`. False when there is none.
  Result<bool> write_context(const std::string& folder) const;

  void record(std::int64_t step_index, sandbox::SandboxRun run) { results_[step_index] = std::move(run); }
  // Bytes of the layer that the phase would add: the agent's, without protected paths.
  const std::string& accepted_layer() const { return gate_layer_; }

  // `extra`: signals from outside the gates (a merge that overlaps). `lost`: the attempt ended without a
  // result.
  Result<store::AttemptEnd> judge(const std::vector<gates::Signal>& extra,
                                  const std::optional<LostStep>& lost);

 private:
  Attempt(World world, const store::Claim& claim, const plan::Plan& plan);
  Status after_agent();  // the agent's layer, without protected paths
  Status load_inventories();
  Result<std::optional<std::vector<std::string>>> inventory_from_baseline(const std::string& gate_id);
  std::string inventory_key(const plan::Gate& gate) const;
  gates::StepFacts facts_of(const PlannedStep& step, const sandbox::SandboxRun& run) const;
  std::optional<gates::GateFacts> gate_facts(const std::string& gate_id) const;
  void evaluate_gates();
  std::vector<std::string> agent_environment(bool with_feedback) const;
  std::vector<std::string> layers_of(const PlannedStep& step) const;
  Result<gates::AttemptFacts> attempt_facts(const std::vector<gates::Signal>& extra,
                                            const std::optional<LostStep>& lost) const;

  World world_;
  const store::Claim* claim_;
  const plan::Plan* plan_;
  const plan::Phase* phase_;
  std::vector<PlannedStep> steps_;
  Results results_;
  std::string base_layer_;   // the accepted layers, merged
  bool agent_seen_ = false;  // whether the two below are known
  std::string gate_layer_;   // the agent's layer without protected paths
  std::vector<std::string> protected_changes_;
  std::map<std::string, std::vector<std::string>> inventories_;
  std::map<std::string, std::vector<gates::Signal>> gate_signals_;  // of gates that are over
  std::map<std::string, bool> gate_passed_;
};

}  // namespace pawl::executor
