// The budgets of a run: reserved with the marker of a step and settled with its end, in the same
// transactions.
#include <algorithm>
#include <string>

#include "base/money.h"
#include "base/mutant.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

// Mutants (base/mutant.h).
bool ignores_reservations() { return mutant("budget_without_reservations"); }
bool keeps_reservations() { return mutant("reservations_kept"); }

BudgetRow read_budget(const Query& query) {
  BudgetRow row{.unit = query.text(0), .spent = query.number(2), .reserved = query.number(3)};
  if (!query.is_null(1)) row.cap = query.number(1);
  return row;
}

}  // namespace

Result<std::vector<BudgetRow>> ReadingStore::budgets(const std::string& run_id) {
  std::vector<BudgetRow> out;
  PAWL_TRY(auto query, database_->query("budgets_of_run"));
  query.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back(read_budget(query));
  }
}

Status RunStore::create_budget(const NewRun& run) {
  const auto insert = [&](std::string_view unit, const std::optional<std::int64_t>& cap) -> Status {
    PAWL_TRY(auto query, database_->query("insert_budget"));
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

Result<std::vector<BudgetRow>> ReadingStore::known_budgets(const std::string& run_id) {
  if (!database_->in_transaction()) return budgets(run_id);
  if (const auto known = memory_.budgets.find(run_id); known != memory_.budgets.end()) return known->second;
  PAWL_TRY(auto found, budgets(run_id));
  PAWL_OK(check_spent(run_id, found));
  PAWL_OK(check_reserved(run_id, found));
  return memory_.budgets[run_id] = std::move(found);
}

Status RunStore::write_budgets(const std::string& run_id, const std::vector<BudgetRow>& after) {
  PAWL_TRY(const auto before, known_budgets(run_id));
  for (const auto& row : after) {
    const auto known = of_unit(before, row.unit);
    if (row.spent == known.spent && row.reserved == known.reserved) continue;
    PAWL_TRY(auto query, database_->query("write_budget"));
    PAWL_OK(query.bind(run_id).bind(row.unit).bind(row.spent).bind(row.reserved).run());
  }
  memory_.budgets[run_id] = after;
  return {};
}

namespace {

BudgetRow& row_of(std::vector<BudgetRow>& budgets, std::string_view unit) {
  const auto found = std::ranges::find(budgets, unit, &BudgetRow::unit);
  return found == budgets.end() ? budgets.emplace_back(BudgetRow{.unit = std::string(unit)}) : *found;
}

}  // namespace

void reserve_for(std::vector<BudgetRow>& budgets, const StepStart& start, StepRow& step, Begun& out) {
  const auto left = of_unit(budgets, kSandboxMs);
  out.started = !(ignores_reservations() ? left.is_spent() : left.is_used_up());
  // Grants this step's share of the rest of the budget, at most the amount that the step asks for.
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
  if (!out.started) return;
  const auto keep = [&](std::string_view unit, std::int64_t amount, std::int64_t& kept) {
    kept = amount;
    if (amount != 0) row_of(budgets, unit).reserved += amount;
  };
  const auto keep_if_capped = [&](std::string_view unit, const std::optional<std::int64_t>& granted,
                                  std::int64_t& kept) {
    if (of_unit(budgets, unit).cap && granted) keep(unit, *granted, kept);
  };
  keep(kSandboxMs, start.reserved_ms, step.reserved_ms);
  keep_if_capped(kTokens, out.tokens, step.reserved_tokens);
  keep_if_capped(kUsdNanos, out.usd_nanos, step.reserved_usd_nanos);
}

void settle(std::vector<BudgetRow>& budgets, const StepRow& ended, std::int64_t spent_ms,
            const Reported& reported) {
  const auto settle_unit = [&](std::string_view unit, std::int64_t spent, std::int64_t reserved) {
    if (spent == 0 && reserved == 0) return;
    auto& row = row_of(budgets, unit);
    row.spent = std::min(sum_at_most_max(row.spent, spent), kSpentMax);
    row.reserved -= keeps_reservations() ? 0 : reserved;
  };
  std::int64_t tokens = 0, usd_nanos = 0;
  for (const auto& usage : reported.usage) {
    tokens = sum_at_most_max(tokens, sum_at_most_max(usage.input_tokens, usage.output_tokens));
    usd_nanos = sum_at_most_max(usd_nanos, usage.usd_nanos);
  }
  settle_unit(kSandboxMs, spent_ms, ended.reserved_ms);
  settle_unit(kTokens, tokens, ended.reserved_tokens);
  settle_unit(kUsdNanos, usd_nanos, ended.reserved_usd_nanos);
}

Result<std::optional<NotClaimable>> ReadingStore::held_by_budget(const PhaseRow& phase, BudgetRow& row) {
  PAWL_TRY(const auto budgets, known_budgets(phase.run_id));
  if (std::ranges::none_of(budgets, &BudgetRow::is_used_up)) return std::optional<NotClaimable>();
  // An open step holds a reservation. A claim that settles it frees a part and loses no result, so it is
  // allowed.
  {
    PAWL_TRY(auto query, database_->query("open_step_of_phase"));
    query.bind(phase.run_id).bind(phase.phase_id);
    PAWL_TRY(const bool open, query.next());
    if (open) return std::optional<NotClaimable>();
  }
  bool agent_is_done = false;
  {
    PAWL_TRY(auto query, database_->query("agent_of_unfinished_attempt"));
    query.bind(phase.run_id).bind(phase.phase_id);
    PAWL_TRY(agent_is_done, query.next());
  }
  for (const auto unit : {kSandboxMs, kTokens, kUsdNanos}) {
    if (unit != kSandboxMs && agent_is_done) continue;  // gates spend no tokens and no money
    row = of_unit(budgets, unit);
    if (row.is_used_up())
      return std::optional(row.is_spent() ? NotClaimable::kBudget : NotClaimable::kReserved);
  }
  return std::optional<NotClaimable>();
}

Status RunStore::operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                                 const Operator& who, WallTime now) {
  PAWL_TRY(auto transaction, begin("budget", run_id));
  PAWL_TRY(const auto run_row, run(run_id));
  if (run_row.state != RunState::kExecuting)
    return fail(ErrorKind::kInvalid, "run " + run_id + " is " + std::string(name(run_row.state)) +
                                         ": it spends nothing more; `pawl retry` a phase first");
  PAWL_OK(check_tables(run_id));
  {
    PAWL_TRY(auto query, database_->query("set_cap"));
    PAWL_OK(query.bind(run_id).bind(unit).bind(cap).run());
    memory_.budgets.erase(run_id);
  }
  trusted_.at(run_id).own_caps[std::string(unit)] = cap;
  const std::string action = "budget " + std::string(unit) + " " + std::to_string(cap);
  PAWL_OK(append_row(run_id, "", run_operator_row(action, who, run_row.state), now));
  PAWL_OK(sign_head(run_id, now));
  return transaction.commit();
}

}  // namespace pawl::store::verbs
