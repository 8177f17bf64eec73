#include "executor/joint.h"

#include <algorithm>

#include "base/mutant.h"
#include "executor/plans.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kBesideMost = 100'000;  // more than a tier has phases

// Mutants (base/mutant.h).
bool leaves_out_gates_of_others() { return mutant("only_own_gates_together"); }
bool stays_on_old_base() { return mutant("together_on_the_old_base"); }

// A phase that a person approved adds no gates, because its work may fail them.
bool adds_gates(const store::PhaseRow& row) {
  if (leaves_out_gates_of_others()) return false;
  return row.outcome == store::PhaseOutcome::kPassed;
}

Status add_gates_of(const World& world, const store::RunRow& run, const std::string& phase_id, Planned& to) {
  PAWL_TRY(const auto row, world.store.phase(run.run_id, phase_id));
  if (!adds_gates(row)) return {};
  PAWL_TRY(const auto phase, phase_of(world.store, run, phase_id));
  for (const auto& gate : phase.gates) {
    if (std::ranges::find(to.phase.gates, gate) != to.phase.gates.end()) continue;
    to.phase.gates.push_back(gate);
    to.gates_of_others.insert(gate);
  }
  return {};
}

Result<bool> is_parallel(const World& world, const store::PhaseRow& phase) {
  PAWL_TRY(const auto tiers, world.store.tiers(phase.run_id));
  const auto tier = std::ranges::find(tiers, phase.tier_index, &store::TierRow::tier_index);
  return tier != tiers.end() && tier->parallel;
}

store::StepRow agent_row(const Episode& kept, std::int64_t round) {
  const auto& run = kept.result(kept.agent());
  return {.sandbox_run_id = run.run_id,
          .step_index = round * kRoundStride,
          .gate_id = std::string(kAgentGate),
          .state = store::StepState::kDone,
          .run = json_text(run)};
}

}  // namespace

Result<Planned> with_gates_of_tier(const World& world, const store::Claim& claim, const Planned& plan) {
  const auto& attempt = claim.attempt;
  // A first attempt in a parallel tier begins without the others' work.
  if (attempt.number == 1 || !attempt.base_has_own_tier) return plan;
  PAWL_TRY(const bool parallel, is_parallel(world, claim.phase));
  if (!parallel) return plan;
  Planned out = plan;
  PAWL_TRY(const auto layers, world.store.accepted_layers(claim.run.run_id));
  for (const auto& layer : layers) {
    if (layer.merge_seq > attempt.base_merge_seq) break;
    PAWL_TRY(const auto phase, world.store.phase(claim.run.run_id, layer.phase_id));
    if (phase.tier_index == claim.phase.tier_index)
      PAWL_OK(add_gates_of(world, claim.run, layer.phase_id, out));
  }
  return out;
}

Result<std::unique_ptr<Joint>> Joint::load(const World& world, const store::Claim& claim,
                                           const store::JudgedAgain& again, const Planned& plan,
                                           const Episode& kept) {
  auto out = std::make_unique<Joint>();
  const auto& attempt = again.attempt;
  const std::int64_t round = attempt.joined_round;
  out->claim = claim;
  out->claim.attempt = store::judged_on(attempt);
  if (!stays_on_old_base()) out->claim.layers = again.layers;
  out->plan = plan;
  out->plan.phase.best_of = 1;
  PAWL_TRY(const auto layers, world.store.accepted_beside(attempt, 0, kBesideMost));
  for (const auto& layer : layers) {
    if (layer.merge_seq > attempt.joined_merge_seq) break;
    out->beside.push_back(layer.phase_id);
    PAWL_OK(add_gates_of(world, claim.run, layer.phase_id, out->plan));
  }
  std::erase_if(out->claim.steps,
                [&](const store::StepRow& row) { return row.step_index / kRoundStride != round; });
  const auto of_round = out->claim.steps;
  out->claim.steps.push_back(agent_row(kept, round));
  PAWL_TRY(auto loaded,
           Episode::load(world, out->claim, out->plan, 0, {.number = round, .beside = out->beside}));
  out->one.emplace(ActiveEpisode{.episode = std::move(loaded)});
  for (const auto& row : of_round) {
    const auto* step = out->one->episode.step_at(row.step_index);
    if (step == nullptr || !is_row_of(row, claim, *step)) return not_its_place(row);
    if (row.state == store::StepState::kOpen && !is_hook(step->role))
      out->one->running = found_at_claim(*step, row);
  }
  return out;
}

}  // namespace pawl::executor
