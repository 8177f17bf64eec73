// Records the reports of agents as ledger rows and usage rows.
#include "base/hash.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {

Status RunStore::record_reported(const StepRow& ended, const Reported& reported, WallTime now) {
  if (reported.last_seq > 0 && ended.episode == 0) {
    PAWL_TRY(auto query, database_->query("set_told"));
    query.bind(ended.run_id).bind(ended.phase_id).bind(ended.attempt_id).bind(reported.last_seq);
    PAWL_OK(query.run());
    memory_.unfinished.erase(key_of(ended.run_id, ended.phase_id));
    // The caller read the reports after the attempt's told_seq under its lease. A row that is there already
    // means another caller recorded them.
    if (database_->changes() == 0)
      return fail(ErrorKind::kConflict,
                  "the reports of the agent of " + ended.attempt_id + " are recorded already");
  }
  for (const auto& event : reported.events)
    PAWL_OK(append_row(ended.run_id, ended.phase_id, agent_row(ended.attempt_id, event), now));
  if (reported.usage.empty()) return {};
  for (const auto& usage : reported.usage) {
    PAWL_TRY(auto query, database_->query("insert_usage"));
    query.bind(ended.run_id).bind(ended.phase_id).bind(ended.attempt_id).bind(usage.told_seq);
    PAWL_OK(query.bind(usage.line).bind(ended.episode).run());
  }
  return append_row(ended.run_id, ended.phase_id, usage_row(ended, reported.usage), now);
}

Result<std::vector<Unsettled>> ReadingStore::unsettled(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("unsettled"));
  query.bind(run_id);
  const int told_seq = columns_of_step();
  std::vector<Unsettled> out;
  for (;;) {
    PAWL_TRY(const bool more, query.next());
    if (!more) return out;
    PAWL_TRY(auto step_row, read_step(query));
    out.push_back({.step = std::move(step_row), .told_seq = query.number(told_seq)});
  }
}

Status RunStore::settle_usage(const Unsettled& unsettled, const Reported& reported, WallTime now) {
  StepRow ended = unsettled.step;
  PAWL_TRY(auto transaction, begin("settle_usage", ended.run_id));
  // Compared with the steps as they are before the change.
  PAWL_TRY(auto budgets, known_budgets(ended.run_id));
  {
    PAWL_TRY(auto query, database_->query("settle_usage"));
    PAWL_OK(query.bind(ended.sandbox_run_id).run());
    if (database_->changes() == 0) return transaction.commit();  // settled already, from the same reports
  }
  ended.reserved_ms = 0;  // settled when the step ended
  settle(budgets, ended, 0, reported);
  PAWL_OK(write_budgets(ended.run_id, budgets));
  if (reported.last_seq > 0) {
    PAWL_TRY(const auto phase_row, phase(ended.run_id, ended.phase_id));
    PAWL_TRY(const auto run_row, run(ended.run_id));
    const bool sealed = is_terminal(phase_row.state);
    if (sealed) PAWL_OK(open_chain(ended.run_id, ended.phase_id));
    PAWL_OK(end_step_of_episode(ended, reported, ended.decision));
    PAWL_OK(record_reported(ended, reported, now));
    if (sealed) PAWL_OK(seal_phase(phase_row, now));
    if (run_row.state != RunState::kExecuting) {
      PAWL_TRY([[maybe_unused]] const bool over, seal_run_if_over(ended.run_id, now));
      // The run keeps its state and its end time.
      PAWL_OK(set_run_state(ended.run_id, run_row.state, run_row.ended_at));
    }
    PAWL_OK(sign_head(ended.run_id, now));
  }
  return transaction.commit();
}

}  // namespace pawl::store::verbs
