#include "views/budget.h"

#include <algorithm>

namespace pawl::views {

Json to_json(const std::vector<store::BudgetRow>& rows) {
  Json out = Json::object();
  for (const auto& row : rows)
    out[row.unit] = {
        {"cap", row.cap ? Json(*row.cap) : Json()}, {"spent", row.spent}, {"reserved", row.reserved}};
  return out;
}

std::optional<store::BudgetRow> spent_budget(store::Reader& store, const store::RunRow& run) {
  const auto rows = store.budgets(run.run_id);
  if (!rows || run.state != store::RunState::kExecuting) return std::nullopt;
  const auto spent = std::ranges::find_if(*rows, &store::BudgetRow::is_spent);
  return spent == rows->end() ? std::nullopt : std::optional(*spent);
}

}  // namespace pawl::views
