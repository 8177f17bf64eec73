#include "plan/plan.h"

#include <algorithm>

namespace pawl::plan {

std::vector<std::string> Common::not_to_be_changed() const {
  auto out = protect;
  std::ranges::copy(source_exclude, std::back_inserter(out));
  return out;
}

const std::string& Common::model_of_attempt(std::int64_t n) const {
  static const std::string none;
  if (models.empty()) return none;
  const auto last = static_cast<std::int64_t>(models.size()) - 1;
  return models[static_cast<std::size_t>(std::clamp<std::int64_t>(n - 1, 0, last))];
}

const std::vector<Step>& Gate::steps_of_attempt(std::int64_t n) const {
  const auto found = overrides.find(n);
  return found == overrides.end() ? steps : found->second;
}

const Phase* Plan::find_phase(const std::string& id) const {
  for (const auto& tier : tiers)
    for (const auto& phase : tier.phases)
      if (phase.id == id) return &phase;
  return nullptr;
}

}  // namespace pawl::plan
