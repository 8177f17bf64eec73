// The budget of a run.
#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "store/reader.h"

namespace pawl::views {

// The budgets of a run, with the executions whose use of tokens and money is unknown.
Result<std::vector<store::BudgetRow>> budgets_of(store::Reader& store, const std::string& run_id);

// {UNIT: {cap, spent, reserved}}, with unknown_executions for tokens and money; a null cap means that the unit is not
// limited.
Json to_json(const std::vector<store::BudgetRow>& rows);

// Returns the spent budget of a run that can't go on before a person raises its cap. No value: it can go on.
std::optional<store::BudgetRow> spent_budget(store::Reader& store, const store::RunRow& run);

}  // namespace pawl::views
