#include "views/budget.h"

#include <algorithm>

namespace pawl::views {

Result<std::vector<store::BudgetRow>> budgets_of(store::Reader& store, const std::string& run_id) {
  PAWL_TRY(auto out, store.budgets(run_id));
  PAWL_TRY(const std::int64_t unknown, store.unknown_usages(run_id));
  for (auto& row : out)
    if (row.unit != store::kSandboxMs) row.unknown = unknown;
  return out;
}

Json to_json(const std::vector<store::BudgetRow>& rows) {
  Json out = Json::object();
  for (const auto& row : rows) {
    out[row.unit] = {
        {"cap", row.cap ? Json(*row.cap) : Json()}, {"spent", row.spent}, {"reserved", row.reserved}};
    if (row.unit != store::kSandboxMs) out[row.unit]["unknown_executions"] = row.unknown;
  }
  return out;
}

std::optional<store::BudgetRow> spent_budget(store::Reader& store, const store::RunRow& run) {
  const auto rows = budgets_of(store, run.run_id);
  if (!rows || run.state != store::RunState::kExecuting) return std::nullopt;
  const auto spent = std::ranges::find_if(*rows, &store::BudgetRow::is_spent);
  return spent == rows->end() ? std::nullopt : std::optional(*spent);
}

}  // namespace pawl::views
