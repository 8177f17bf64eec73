// What a run may spend: reserved with the marker of a step, settled with its end, in the same transactions.
#include <string>

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

Result<BudgetRow> SqliteStore::budget(const std::string& run_id, std::string_view unit) {
  PAWL_TRY(auto query, connection_->query("select_budget"));
  query.bind(run_id).bind(unit);
  PAWL_TRY(const bool row, query.next());
  if (!row) return fail(ErrorKind::kCorrupt, "run " + run_id + " has no row of its budget");
  return read_budget(query);
}

Status SqliteStore::create_budget(const NewRun& run) {
  PAWL_TRY(auto query, connection_->query("insert_budget"));
  query.bind(run.run.run_id).bind(kSandboxMs);
  if (run.sandbox_ms_cap)
    query.bind(*run.sandbox_ms_cap);
  else
    query.bind_null();
  return query.run();
}

Status SqliteStore::reserve_budget(const std::string& run_id, std::int64_t reserved_ms) {
  PAWL_TRY(auto query, connection_->query("reserve_budget"));
  return query.bind(run_id).bind(kSandboxMs).bind(reserved_ms).run();
}

Status SqliteStore::settle_budget(const StepRow& ended, std::int64_t spent_ms) {
  const std::int64_t kept = planted("reservations_kept") ? 0 : ended.reserved_ms;
  PAWL_TRY(auto query, connection_->query("settle_budget"));
  return query.bind(ended.run_id).bind(kSandboxMs).bind(spent_ms).bind(kept).run();
}

Result<std::optional<Nothing>> SqliteStore::held_by_budget(const PhaseRow& phase, BudgetRow& row) {
  PAWL_TRY(row, budget(phase.run_id, kSandboxMs));
  if (!row.is_used_up()) return std::optional<Nothing>();
  // A step that is open holds a reservation: whoever settles it gives some back, and loses no result.
  PAWL_TRY(auto query, connection_->query("open_step_of_phase"));
  query.bind(phase.run_id).bind(phase.phase_id);
  PAWL_TRY(const bool open, query.next());
  if (open) return std::optional<Nothing>();
  return std::optional(row.is_spent() ? Nothing::kBudget : Nothing::kReserved);
}

Status SqliteStore::operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                                    const Operator& who, WallTime now) {
  PAWL_TRY(auto transaction, Transaction::begin(*connection_, "budget"));
  PAWL_TRY(const auto run_row, run(run_id));
  if (run_row.state != RunState::kExecuting)
    return fail(ErrorKind::kInvalid, "run " + run_id + " is " + std::string(name(run_row.state)) +
                                         ": it spends nothing more; `pawl retry` a phase first");
  {
    PAWL_TRY(auto query, connection_->query("set_cap"));
    PAWL_OK(query.bind(run_id).bind(unit).bind(cap).run());
    if (connection_->changes() == 0)
      return fail(ErrorKind::kInvalid, "run " + run_id + " has no budget of " + std::string(unit));
  }
  const std::string action = "budget " + std::string(unit) + " " + std::to_string(cap);
  PAWL_OK(append_row(run_id, "", run_operator_row(action, who, run_row.state), now));
  PAWL_OK(sign_head(run_id, now));
  return transaction.commit();
}

}  // namespace pawl::store::sqlite
