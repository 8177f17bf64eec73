// What agents told, into the ledger and the usage rows.
#include "base/hash.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::store::sqlite {

Status SqliteStore::record_told(const StepRow& ended, const Told& told, WallTime now) {
  if (told.last_seq > 0 && ended.episode == 0) {
    PAWL_TRY(auto query, connection_->query("set_told"));
    query.bind(ended.run_id).bind(ended.phase_id).bind(ended.attempt_id).bind(told.last_seq);
    PAWL_OK(query.run());
    memory_.unfinished.erase(key_of(ended.run_id, ended.phase_id));
    // The caller read what is there since the attempt's told_seq, under its lease.
    if (connection_->changes() == 0)
      return fail(ErrorKind::kConflict,
                  "what the agent of " + ended.attempt_id + " told is recorded already");
  }
  for (const auto& event : told.events)
    PAWL_OK(append_row(ended.run_id, ended.phase_id, agent_row(ended.attempt_id, event), now));
  if (told.usage.empty()) return {};
  for (const auto& usage : told.usage) {
    PAWL_TRY(auto query, connection_->query("insert_usage"));
    query.bind(ended.run_id).bind(ended.phase_id).bind(ended.attempt_id).bind(usage.told_seq);
    PAWL_OK(query.bind(usage.line).bind(ended.episode).run());
  }
  return append_row(ended.run_id, ended.phase_id, usage_row(ended, told.usage), now);
}

}  // namespace pawl::store::sqlite
