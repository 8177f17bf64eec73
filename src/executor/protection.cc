#include "executor/protection.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::executor {
namespace {

template <typename Plan, typename Visit>
void each_guarded(Plan& plan, const Visit& visit) {
  visit(plan.guarded);
  for (auto& [name, gate] : plan.gates) visit(gate.guarded);
  for (auto& tier : plan.tiers)
    for (auto& phase : tier.phases) visit(phase.guarded);
}

}  // namespace

std::vector<const plan::Guarded*> guarded_of(const plan::Plan& plan) {
  std::vector<const plan::Guarded*> out;
  each_guarded(plan, [&](const plan::Guarded& one) {
    if (!one.rules.empty()) out.push_back(&one);
  });
  return out;
}

std::vector<std::string> patterns_of(const plan::Guarded& guarded) {
  auto out = guarded.rules.protect;
  std::ranges::copy(guarded.rules.protect_existing, std::back_inserter(out));
  return out;
}

std::vector<Unmatched> unmatched(const plan::Guarded& guarded, std::span<const workspace::Covered> covered) {
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
         .is_error = nothing_is || !covered[i].near.empty()});
  }
  return out;
}

Status settle_protection(const workspace::Workspaces& workspaces, const std::string& base_id,
                         const std::string& plan_file, plan::Plan& plan) {
  Status status;
  each_guarded(plan, [&](plan::Guarded& one) {
    if (!status || one.rules.empty()) return;
    const auto covered = workspace::covered_in_base(workspaces, base_id, patterns_of(one));
    for (const auto& each : unmatched(one, covered))
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
