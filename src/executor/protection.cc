#include "executor/protection.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::executor {
namespace {

// Whether a phase of the first tier has the gate. Its files cannot be made before.
bool is_of_first_tier(const plan::Plan& plan, const std::string& gate) {
  return std::ranges::any_of(plan.tiers.front().phases, [&](const auto& phase) {
    return std::ranges::find(phase.gates, gate) != phase.gates.end();
  });
}

template <typename Plan, typename Visit>
void each_guarded(Plan& plan, const Visit& visit) {
  visit(plan.guarded, false);
  for (auto& [name, gate] : plan.gates) visit(gate.guarded, !is_of_first_tier(plan, name));
  for (auto& tier : plan.tiers)
    for (auto& phase : tier.phases) visit(phase.guarded, &tier != &plan.tiers.front());
}

}  // namespace

std::vector<GuardedList> guarded_of(const plan::Plan& plan) {
  std::vector<GuardedList> out;
  each_guarded(plan, [&](const plan::Guarded& one, bool is_of_later_tiers) {
    if (!one.rules.empty()) out.push_back({.guarded = &one, .is_of_later_tiers = is_of_later_tiers});
  });
  return out;
}

std::vector<std::string> patterns_of(const plan::Guarded& guarded) {
  auto out = guarded.rules.protect;
  std::ranges::copy(guarded.rules.protect_existing, std::back_inserter(out));
  return out;
}

std::vector<Unmatched> unmatched(const GuardedList& list, std::span<const workspace::Covered> covered) {
  const auto& guarded = *list.guarded;
  const auto patterns = patterns_of(guarded);
  const bool nothing_is = std::ranges::none_of(covered, &workspace::Covered::any);
  std::vector<Unmatched> out;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto& pattern = patterns[i];
    const bool may_be_absent =
        std::ranges::find(guarded.may_be_absent, pattern) != guarded.may_be_absent.end();
    if (covered[i].any || may_be_absent) continue;
    const auto at = guarded.at.find(pattern);
    out.push_back(
        {.at = at == guarded.at.end() ? plan::Place() : at->second,
         .message = fmt::format(
             "protect: '{}' matches nothing in the source{}: correct it, or write "
             "{{pattern: \"{}\", may_be_absent: true}}",
             pattern, covered[i].near.empty() ? "" : fmt::format("; did you mean '{}'?", covered[i].near),
             pattern),
         .is_error = (nothing_is && !list.is_of_later_tiers) || !covered[i].near.empty()});
  }
  return out;
}

Status settle_protection(const workspace::Workspaces& workspaces, const std::string& base_id,
                         const std::string& plan_file, plan::Plan& plan) {
  Status status;
  each_guarded(plan, [&](plan::Guarded& one, bool is_of_later_tiers) {
    if (!status || one.rules.empty()) return;
    const auto covered = workspace::covered_in_base(workspaces, base_id, patterns_of(one));
    for (const auto& each : unmatched({.guarded = &one, .is_of_later_tiers = is_of_later_tiers}, covered))
      if (status && each.is_error && !plan_file.empty())
        status = fail(ErrorKind::kInvalid,
                      fmt::format("{}:{}:{}: {}", plan_file, each.at.line, each.at.column, each.message));
    const auto of_protect = one.rules.protect.size();
    for (std::size_t i = 0; i < covered.size(); ++i) {
      auto& list = i < of_protect ? one.rules.protect : one.rules.protect_existing;
      list.insert(list.end(), covered[i].led_to.begin(), covered[i].led_to.end());
    }
  });
  return status;
}

}  // namespace pawl::executor
