#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

// A run and its plan are made in one transaction.
std::unexpected<Error> no_plan_of(const std::string& run_id) {
  return fail(ErrorKind::kCorrupt, "table plans: it has no row of run " + run_id);
}

}  // namespace

Status RunStore::insert_plan(const NewRun& new_run) {
  {
    PAWL_TRY(auto query, database_->query("insert_plan"));
    PAWL_OK(query.bind(new_run.run.run_id).bind(new_run.plan.common).bind(new_run.plan_text).run());
  }
  return insert_planned_phases(new_run.run.run_id, new_run.plan);
}

Status RunStore::insert_planned_phases(const std::string& run_id, const PlanRows& plan) {
  for (const auto& phase : plan.phases) {
    PAWL_TRY(auto query, database_->query("insert_planned_phase"));
    PAWL_OK(query.bind(run_id).bind(phase.tier_index).bind(phase.phase_index).bind(phase.row).run());
  }
  return {};
}

Status RunStore::put_plan(const std::string& run_id, const PlanRows& plan) {
  PAWL_TRY(auto transaction, begin("put_plan", run_id));
  {
    PAWL_TRY(auto query, database_->query("set_common"));
    PAWL_OK(query.bind(run_id).bind(plan.common).run());
  }
  PAWL_OK(insert_planned_phases(run_id, plan));
  return transaction.commit();
}

Result<std::string> ReadingStore::plan_text(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("plan_text"));
  query.bind(run_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return no_plan_of(run_id);
  return query.text(0);
}

Result<std::string> ReadingStore::planned_common(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("planned_common"));
  query.bind(run_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return no_plan_of(run_id);
  return query.text(0);
}

Result<std::optional<std::string>> ReadingStore::planned_row(const PhaseRow& phase) {
  PAWL_TRY(auto query, database_->query("planned_row"));
  query.bind(phase.run_id).bind(phase.tier_index).bind(phase.phase_index);
  PAWL_TRY(const bool row, query.next());
  if (!row) return std::optional<std::string>();
  return query.text(0);
}

Result<std::string> ReadingStore::planned_phase(const std::string& run_id, const std::string& phase_id) {
  PAWL_TRY(const auto of, phase(run_id, phase_id));
  PAWL_TRY(auto row, planned_row(of));
  return row.value_or("");
}

}  // namespace pawl::store::verbs
