#include "sim/operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/world.h"

namespace pawl::sim {

std::vector<store::PhaseRow> ended_phases(store::Store& store, const std::string& run_id,
                                          const std::string& phase_id) {
  auto out = World::must(store.phases(run_id));
  std::erase_if(out, [&](const store::PhaseRow& row) {
    return !is_terminal(row.state) || row.state == store::PhaseState::kComplete ||
           (!phase_id.empty() && row.phase_id != phase_id);
  });
  return out;
}

bool may_refuse(store::Store& store, const workspace::ObjectStore& objects, const store::AttemptRow& attempt,
                ErrorKind kind) {
  if (kind == ErrorKind::kNotFound) {
    const auto steps = World::must(store.steps_of_attempt(attempt.run_id, attempt.attempt_id));
    return std::ranges::none_of(steps, [](const store::StepRow& step) {
      return step.gate_id == store::kAgentGate && step.state == store::StepState::kDone;
    });
  }
  if (kind != ErrorKind::kConflict) return kind != ErrorKind::kInvalid;
  const auto base = World::must(store.base_layers(attempt));
  return std::ranges::any_of(World::must(store.accepted_layers(attempt.run_id)), [&](const auto& layer) {
    return !layer.layer_id.empty() && std::ranges::find(base, layer.layer_id) == base.end() &&
           may_overlap(objects, attempt.agent_layer, layer.layer_id);
  });
}

void let_go_on(store::Store& store, const std::string& run_id, World& world) {
  const auto changed = store.operator_go_on(run_id, {.uid = 1000, .reason = "because"}, world.clock.wall());
  if (changed && !changed->empty())
    world.tell(fmt::format("an operator lets {} go on", fmt::join(*changed, " ")));
}

}  // namespace pawl::sim
