#include "cli/accepted.h"

#include "executor/start_run.h"

namespace pawl::cli {

Result<std::vector<workspace::AppliedPhase>> accepted_phases(store::Store& store, const store::RunRow& run) {
  PAWL_TRY(const auto plan, executor::plan_of(run));
  PAWL_TRY(const auto layers, store.accepted_layers(run.run_id));
  std::vector<workspace::AppliedPhase> out;
  for (const auto& layer : layers) {
    const auto* phase = plan.find_phase(layer.phase_id);
    out.push_back({.phase_id = layer.phase_id,
                   .goal = phase == nullptr ? "" : phase->goal,
                   .layer_id = layer.layer_id});
  }
  return out;
}

std::vector<std::string> layers_topmost_first(const std::vector<workspace::AppliedPhase>& phases) {
  std::vector<std::string> out;
  for (auto phase = phases.rbegin(); phase != phases.rend(); ++phase)
    if (!phase->layer_id.empty()) out.push_back(phase->layer_id);
  return out;
}

}  // namespace pawl::cli
