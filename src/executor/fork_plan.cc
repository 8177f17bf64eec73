#include "executor/fork_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "plan/rows.h"

namespace pawl::executor {
namespace {

// The place of a gate's signals in the file does not affect what they judge.
constexpr std::string_view kPlaceOfSignals = "signals_at";

std::vector<const plan::Phase*> phases_before(const plan::Plan& plan, const std::string& phase_id) {
  std::vector<const plan::Phase*> out;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases) {
      if (phase.id == phase_id) return out;
      out.push_back(&phase);
    }
  return out;
}

// The first key in which two rows differ; "" when they are the same.
std::string differing_key(const Json& there, const Json& here) {
  for (const auto& [key, value] : here.items())
    if (key != kPlaceOfSignals && there.value(key, Json()) != value) return key;
  return "";
}

// The name that plans use for a key of a row.
std::string plan_key(const std::string& key) {
  static const std::map<std::string, std::string> names = {{"agent_budget", "agent.budget"},
                                                           {"agent_usage", "agent.usage"},
                                                           {"agent_model", "agent.model"},
                                                           {"max_children", "agent.max_children"}};
  const auto found = names.find(key);
  return found == names.end() ? key : found->second;
}

std::unexpected<Error> differs(const plan::Phase& phase, const std::string& key) {
  return fail(
      ErrorKind::kInvalid,
      fmt::format("the plan has another `{}` for phase {} than the run: what comes before the point can't "
                  "be changed by a fork; fork from {} instead",
                  key, phase.id, phase.id));
}

}  // namespace

Status check_fork_plan(const plan::Plan& there, const plan::Plan& here, const std::string& phase_id) {
  if (there.find_phase(phase_id) == nullptr || here.find_phase(phase_id) == nullptr) return {};
  const auto before_there = phases_before(there, phase_id), before_here = phases_before(here, phase_id);
  PAWL_TRY(const Json common_there, parse_json(plan::common_row(there)));
  PAWL_TRY(const Json common_here, parse_json(plan::common_row(here)));
  const auto policy_of = [](const plan::Plan& plan) { return plan.policy ? plan.policy->blake3 : ""; };
  const std::size_t both = std::min(before_there.size(), before_here.size());
  for (std::size_t at = 0; at < both; ++at) {
    const auto& phase = *before_here[at];
    if (before_there[at]->id != phase.id) return {};
    PAWL_TRY(const Json row_there, parse_json(plan::phase_row(*before_there[at])));
    PAWL_TRY(const Json row_here, parse_json(plan::phase_row(phase)));
    if (const auto key = differing_key(row_there, row_here); !key.empty())
      return differs(phase, plan_key(key));
    for (const auto& gate : phase.gates) {
      const auto key = differing_key(common_there["gates"][gate], common_here["gates"][gate]);
      if (!key.empty()) return differs(phase, fmt::format("gates.{}.{}", gate, key));
    }
    if (there.ignored != here.ignored) return differs(phase, "ignored");
    if (there.guarded.rules.protect != here.guarded.rules.protect) return differs(phase, "protect");
    if (there.guarded != here.guarded) return differs(phase, "protect_existing");
    if (there.allow_shadowing != here.allow_shadowing) return differs(phase, "allow_shadowing");
    if (policy_of(there) != policy_of(here)) return differs(phase, "policy");
  }
  return {};
}

}  // namespace pawl::executor
