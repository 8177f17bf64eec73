#include "views/provider_wait.h"

#include <algorithm>
#include <ranges>

#include "store/ledger_rows.h"

namespace pawl::views {
namespace {

constexpr std::size_t kWaitRowsMax = 100'000;  // more than a phase's chain has

}  // namespace

std::optional<store::Wait> provider_wait(store::EvidenceReader& store, const store::PhaseRow& phase) {
  if (phase.not_before.empty() || phase.state != store::PhaseState::kExecuting) return std::nullopt;
  const auto rows = store.ledger(phase.run_id, phase.phase_id, 1, kWaitRowsMax);
  if (!rows) return std::nullopt;
  for (const auto& row : *rows | std::views::reverse) {
    if (row.line.find("\"type\":\"waited\"") == std::string::npos) continue;
    const auto json = parse_json(row.line);
    auto wait = json ? store::wait_in(*json) : std::nullopt;
    if (!wait) continue;
    return wait->not_before == phase.not_before ? wait : std::nullopt;
  }
  return std::nullopt;
}

ProviderWaits provider_waits(store::EvidenceReader& store, const std::vector<store::PhaseRow>& phases) {
  ProviderWaits out;
  for (const auto& phase : phases)
    if (auto wait = provider_wait(store, phase)) out.emplace_back(phase.phase_id, *std::move(wait));
  return out;
}

bool is_for_a_person(const store::Wait& wait) { return wait.not_before == store::kUntilAPerson; }

bool has_no_money(const store::Wait& wait) { return is_for_a_person(wait) && wait.status == 402; }

bool has_no_credential(const store::Wait& wait) {
  return is_for_a_person(wait) && !has_no_money(wait) && wait.credential.empty();
}

bool any_is_for_a_person(const ProviderWaits& waits) {
  return std::ranges::any_of(waits, [](const auto& each) { return is_for_a_person(each.second); });
}

Json to_json(const ProviderWaits& waits) {
  Json out = Json::array();
  for (const auto& [phase_id, wait] : waits)
    out.push_back({{"phase_id", phase_id},
                   {"provider", wait.provider},
                   {"credential", wait.credential},
                   {"status", wait.status},
                   {"message", wait.message},
                   {"reset", wait.reset},
                   {"source", wait.source},
                   {"not_before", wait.not_before},
                   {"number", wait.number}});
  return out;
}

}  // namespace pawl::views
