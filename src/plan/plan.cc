#include "plan/plan.h"

#include <algorithm>

namespace pawl::plan {

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

bool failures_may_hide_tests(const Gate& gate, const Step& step) {
  const auto is_pattern = [](const std::string& path) { return path.find_first_of("*?") != path.npos; };
  return gate.known_failing == KnownFailing::kBase ||
         std::ranges::any_of(step.reports, [&](const Reports& declared) {
           return std::ranges::any_of(declared.patterns, is_pattern);
         });
}

const Phase* Plan::find_phase(const std::string& id) const {
  for (const auto& tier : tiers)
    for (const auto& phase : tier.phases)
      if (phase.id == id) return &phase;
  return nullptr;
}

PathRules rules_on_agent(const Common& common, const Phase& phase) {
  auto out = rules_of(common, phase);
  std::ranges::copy(common.source_exclude, std::back_inserter(out.protect));
  return out;
}

PathRules rules_of(const Common& common, const Phase& phase) {
  PathRules out;
  const auto add = [&](const Guarded& guarded) {
    const auto& rules = guarded.rules;
    out.protect.insert(out.protect.end(), rules.protect.begin(), rules.protect.end());
    out.protect_existing.insert(out.protect_existing.end(), rules.protect_existing.begin(),
                                rules.protect_existing.end());
  };
  add(common.guarded);
  add(phase.guarded);
  for (const auto& gate : phase.gates) add(common.gates.at(gate).guarded);
  return out;
}

}  // namespace pawl::plan
