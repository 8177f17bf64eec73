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
std::string differing_key(const Json& of_run, const Json& of_fork) {
  for (const auto& [key, value] : of_fork.items())
    if (key != kPlaceOfSignals && of_run.value(key, Json()) != value) return key;
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

Status check_fork_plan(const plan::Plan& run_plan, const plan::Plan& fork_plan, const std::string& phase_id) {
  if (run_plan.find_phase(phase_id) == nullptr || fork_plan.find_phase(phase_id) == nullptr) return {};
  const auto before_in_run = phases_before(run_plan, phase_id),
             before_in_fork = phases_before(fork_plan, phase_id);
  PAWL_TRY(const Json run_common, parse_json(plan::common_row(run_plan)));
  PAWL_TRY(const Json fork_common, parse_json(plan::common_row(fork_plan)));
  const auto policy_of = [](const plan::Plan& plan) { return plan.policy ? plan.policy->blake3 : ""; };
  const std::size_t both = std::min(before_in_run.size(), before_in_fork.size());
  for (std::size_t at = 0; at < both; ++at) {
    const auto& phase = *before_in_fork[at];
    if (before_in_run[at]->id != phase.id) return {};
    PAWL_TRY(const Json run_row, parse_json(plan::phase_row(*before_in_run[at])));
    PAWL_TRY(const Json fork_row, parse_json(plan::phase_row(phase)));
    if (const auto key = differing_key(run_row, fork_row); !key.empty()) return differs(phase, plan_key(key));
    for (const auto& gate : phase.gates) {
      const auto key = differing_key(run_common["gates"][gate], fork_common["gates"][gate]);
      if (!key.empty()) return differs(phase, fmt::format("gates.{}.{}", gate, key));
    }
    if (run_plan.ignored != fork_plan.ignored) return differs(phase, "ignored");
    if (run_plan.guarded.rules.protect != fork_plan.guarded.rules.protect) return differs(phase, "protect");
    if (run_plan.guarded != fork_plan.guarded) return differs(phase, "protect_existing");
    if (run_plan.allow_shadowing != fork_plan.allow_shadowing) return differs(phase, "allow_shadowing");
    if (policy_of(run_plan) != policy_of(fork_plan)) return differs(phase, "policy");
  }
  return {};
}

}  // namespace pawl::executor
