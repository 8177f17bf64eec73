#include "sim/kept.h"

#include <algorithm>

#include "sim/world.h"

namespace pawl::sim {

std::vector<KeptWorks::Layer> KeptWorks::left_before(const std::vector<store::StepRow>& steps,
                                                     const store::StepRow& marker, const Layer& first) const {
  const auto before = std::ranges::find_if(steps, [&](const store::StepRow& row) {
    return row.attempt_id == marker.attempt_id && row.step_index == marker.step_index &&
           row.execution == marker.execution - 1;
  });
  if (before == steps.end()) return {first};
  if (!continues_) return {std::nullopt};
  const auto kept = kept_.find(before->sandbox_run_id);
  World::require(kept != kept_.end(),
                 marker.label + " runs again, and nobody looked at what the lost one left");
  if (kept->second.began) return {kept->second.layer};
  auto out = left_before(steps, *before, first);
  out.push_back(std::nullopt);
  return out;
}

void KeptWorks::check_start(const std::vector<store::StepRow>& steps, const store::StepRow& marker,
                            const sandbox::SandboxSpec& spec, const Layer& first) const {
  const auto* const said = marker.execution == 1 ? "PAWL_CONTINUES=retry" : "PAWL_CONTINUES=1";
  const bool reported = std::ranges::find(spec.env, said) != spec.env.end();
  const Layer from = reported ? Layer(spec.workspace.own_layer) : std::nullopt;
  World::require(reported || spec.workspace.own_layer.empty(),
                 spec.label + " is not reported that it continues");
  const auto may_be = left_before(steps, marker, first);
  World::require(std::ranges::find(may_be, from) != may_be.end(),
                 spec.label + " does not go on from what the execution before left");
}

}  // namespace pawl::sim
