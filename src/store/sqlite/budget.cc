// What a run may spend: reserved with the marker of a step, settled with its end, in the same transactions.
#include <algorithm>
#include <string>

#include "base/money.h"
#include "base/planted.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::store::sqlite {
namespace {

BudgetRow read_budget(const Query& query) {
  BudgetRow row{.unit = query.text(0), .spent = query.number(2), .reserved = query.number(3)};
  if (!query.is_null(1)) row.cap = query.number(1);
  return row;
}

}  // namespace

Result<std::vector<BudgetRow>> SqliteStore::budgets(const std::string& run_id) {
  std::vector<BudgetRow> out;
  PAWL_TRY(auto query, connection_->query("budgets_of_run"));
  query.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back(read_budget(query));
  }
}

BudgetRow of_unit(const std::vector<BudgetRow>& budgets, std::string_view unit) {
  const auto found = std::ranges::find(budgets, unit, &BudgetRow::unit);
  return found == budgets.end() ? BudgetRow{.unit = std::string(unit)} : *found;
}

Status SqliteStore::create_budget(const NewRun& run) {
  const auto insert = [&](std::string_view unit, const std::optional<std::int64_t>& cap) -> Status {
    PAWL_TRY(auto query, connection_->query("insert_budget"));
    query.bind(run.run.run_id).bind(unit);
    if (cap)
      query.bind(*cap);
    else
      query.bind_null();
    return query.run();
  };
  PAWL_OK(insert(kSandboxMs, run.sandbox_ms_cap));
  if (run.tokens_cap) PAWL_OK(insert(kTokens, run.tokens_cap));
  if (run.usd_nanos_cap) PAWL_OK(insert(kUsdNanos, run.usd_nanos_cap));
  return {};
}

Status SqliteStore::reserve_budget(const std::string& run_id, std::string_view unit, std::int64_t amount) {
  if (amount == 0) return {};
  PAWL_TRY(auto query, connection_->query("reserve_budget"));
  return query.bind(run_id).bind(unit).bind(amount).run();
}

Status SqliteStore::reserve(const std::string& run_id, const std::vector<BudgetRow>& budgets,
                            const StepStart& start, StepRow& step, Begun& out) {
  const auto left = of_unit(budgets, kSandboxMs);
  out.started = !(planted("budget_without_reservations") ? left.is_spent() : left.is_used_up());
  // The rest of what the run may spend, or what the step asks for at most.
  const auto take = [&](std::string_view unit, const std::optional<std::int64_t>& most,
                        std::optional<std::int64_t>& granted) {
    const auto row = of_unit(budgets, unit);
    granted = most;
    if (!row.cap) return;
    const std::int64_t rest = *row.cap - row.spent - row.reserved;
    const std::int64_t part = rest / start.shares + (rest % start.shares > 0 ? 1 : 0);
    granted = std::min(part, most.value_or(part));
    if (rest <= 0) out.started = false;
  };
  if (start.spends) {
    take(kTokens, start.tokens_most, out.tokens);
    take(kUsdNanos, start.usd_nanos_most, out.usd_nanos);
  }
  if (!out.started) return {};
  const auto reserve_if_capped = [&](std::string_view unit, const std::optional<std::int64_t>& granted,
                                     std::int64_t& kept) -> Status {
    if (of_unit(budgets, unit).cap && granted) kept = *granted;
    return reserve_budget(run_id, unit, kept);
  };
  step.reserved_ms = start.reserved_ms;
  PAWL_OK(reserve_budget(run_id, kSandboxMs, step.reserved_ms));
  PAWL_OK(reserve_if_capped(kTokens, out.tokens, step.reserved_tokens));
  return reserve_if_capped(kUsdNanos, out.usd_nanos, step.reserved_usd_nanos);
}

Status SqliteStore::settle_budgets(const StepRow& ended, std::int64_t spent_ms, const Told& told) {
  const auto settle = [&](std::string_view unit, std::int64_t spent, std::int64_t reserved) -> Status {
    if (spent == 0 && reserved == 0) return {};
    const std::int64_t given_back = planted("reservations_kept") ? 0 : reserved;
    PAWL_TRY(auto query, connection_->query("settle_budget"));
    return query.bind(ended.run_id).bind(unit).bind(spent).bind(given_back).run();
  };
  std::int64_t tokens = 0, usd_nanos = 0;
  for (const auto& usage : told.usage) {
    tokens = sum_at_most_max(tokens, sum_at_most_max(usage.input_tokens, usage.output_tokens));
    usd_nanos = sum_at_most_max(usd_nanos, usage.usd_nanos);
  }
  PAWL_OK(settle(kSandboxMs, spent_ms, ended.reserved_ms));
  PAWL_OK(settle(kTokens, tokens, ended.reserved_tokens));
  return settle(kUsdNanos, usd_nanos, ended.reserved_usd_nanos);
}

Result<std::optional<Nothing>> SqliteStore::held_by_budget(const PhaseRow& phase, BudgetRow& row) {
  PAWL_TRY(const auto budgets, this->budgets(phase.run_id));
  if (std::ranges::none_of(budgets, &BudgetRow::is_used_up)) return std::optional<Nothing>();
  // A step that is open holds a reservation: whoever settles it gives some back, and loses no result.
  {
    PAWL_TRY(auto query, connection_->query("open_step_of_phase"));
    query.bind(phase.run_id).bind(phase.phase_id);
    PAWL_TRY(const bool open, query.next());
    if (open) return std::optional<Nothing>();
  }
  bool agent_is_done = false;
  {
    PAWL_TRY(auto query, connection_->query("agent_of_unfinished_attempt"));
    query.bind(phase.run_id).bind(phase.phase_id);
    PAWL_TRY(agent_is_done, query.next());
  }
  for (const auto unit : {kSandboxMs, kTokens, kUsdNanos}) {
    if (unit != kSandboxMs && agent_is_done) continue;  // gates spend none of these
    row = of_unit(budgets, unit);
    if (row.is_used_up()) return std::optional(row.is_spent() ? Nothing::kBudget : Nothing::kReserved);
  }
  return std::optional<Nothing>();
}

Status SqliteStore::operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                                    const Operator& who, WallTime now) {
  PAWL_TRY(auto transaction, begin("budget"));
  PAWL_TRY(const auto run_row, run(run_id));
  if (run_row.state != RunState::kExecuting)
    return fail(ErrorKind::kInvalid, "run " + run_id + " is " + std::string(name(run_row.state)) +
                                         ": it spends nothing more; `pawl retry` a phase first");
  {
    PAWL_TRY(auto query, connection_->query("set_cap"));
    PAWL_OK(query.bind(run_id).bind(unit).bind(cap).run());
  }
  const std::string action = "budget " + std::string(unit) + " " + std::to_string(cap);
  PAWL_OK(append_row(run_id, "", run_operator_row(action, who, run_row.state), now));
  PAWL_OK(sign_head(run_id, now));
  return transaction.commit();
}

}  // namespace pawl::store::sqlite
