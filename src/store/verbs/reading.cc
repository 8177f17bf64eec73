#include <algorithm>

#include "base/hash.h"
#include "store/cost_row.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

constexpr std::size_t kInventoriesKnownMax = 1024;

// Reads every row of `query` with `read`.
template <typename T, typename Read>
Result<std::vector<T>> all_rows(Query& query, Read read) {
  std::vector<T> out;
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    PAWL_TRY(auto value, read(query));
    out.push_back(std::move(value));
  }
}

Result<TierRow> read_tier(const Query& query) {
  return TierRow{.tier_index = query.number(0),
                 .name = query.text(1),
                 .stop_on_failure = query.number(2) != 0,
                 .parallel = query.number(3) != 0};
}

Result<LayerRow> read_layer(const Query& query) {
  return LayerRow{.phase_id = query.text(0), .layer_id = query.text(1), .merge_seq = query.number(2)};
}

}  // namespace

Status ReadingStore::read_together(const std::function<Status()>& reads) {
  if (database_->in_transaction()) return reads();
  PAWL_OK(database_->begin_reading());
  auto done = reads();
  PAWL_OK(database_->end_reading());
  return done;
}

Result<RunRow> ReadingStore::run(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("select_run"));
  query.bind(run_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return fail(ErrorKind::kNotFound, "no run " + run_id + "; `pawl status` lists them");
  return read_run(query);
}

Result<std::vector<RunRow>> ReadingStore::runs(std::size_t most) {
  PAWL_TRY(auto query, database_->query("newest_runs"));
  query.bind(static_cast<std::int64_t>(most));
  return all_rows<RunRow>(query, read_run);
}

Result<std::vector<std::string>> ReadingStore::lost_runs() {
  PAWL_TRY(auto query, database_->query("lost_runs"));
  return all_rows<std::string>(query, [](const Query& row) -> Result<std::string> { return row.text(0); });
}

Result<std::string> ReadingStore::resolve_run(const std::string& text) {
  if (text == "last") {
    PAWL_TRY(const auto newest, runs(1));
    if (newest.empty()) return fail(ErrorKind::kNotFound, "no runs yet; start one with: pawl run plan.yaml");
    return newest.front().run_id;
  }
  constexpr std::size_t kShortest = 4;
  if (text.size() < kShortest)
    return fail(ErrorKind::kInvalid, "'" + text + "': give at least 4 characters of a run's id, or `last`");
  PAWL_TRY(auto query, database_->query("run_ids_like"));
  query.bind(text);
  PAWL_TRY(const auto found,
           all_rows<std::string>(query, [](const Query& row) -> Result<std::string> { return row.text(0); }));
  if (found.empty()) return fail(ErrorKind::kNotFound, "no run " + text + "; `pawl status` lists them");
  if (found.size() > 1)
    return fail(ErrorKind::kInvalid, "several runs match " + text + "; give more of the id");
  return found.front();
}

Result<std::vector<TierRow>> ReadingStore::tiers(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("tiers_of_run"));
  query.bind(run_id);
  return all_rows<TierRow>(query, read_tier);
}

Result<TierRow> ReadingStore::tier(const std::string& run_id, std::int64_t tier_index) {
  if (memory_.last_tier && memory_.last_tier->first == run_id &&
      memory_.last_tier->second.tier_index == tier_index)
    return memory_.last_tier->second;
  PAWL_TRY(auto query, database_->query("select_tier"));
  query.bind(run_id).bind(tier_index);
  PAWL_TRY(const bool row, query.next());
  if (!row) return fail(ErrorKind::kForged, "run " + run_id + " lacks a tier");
  PAWL_TRY(auto found, read_tier(query));
  memory_.last_tier.emplace(run_id, found);
  return found;
}

Result<std::vector<PhaseRow>> ReadingStore::phases(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("phases_of_run"));
  query.bind(run_id);
  return all_rows<PhaseRow>(query, read_phase);
}

Result<PhaseRow> ReadingStore::phase(const std::string& run_id, const std::string& phase_id) {
  PAWL_TRY(auto query, database_->query("select_phase"));
  query.bind(run_id).bind(phase_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return fail(ErrorKind::kNotFound, "run " + run_id + " has no phase " + phase_id);
  return read_phase(query);
}

Result<std::vector<AttemptRow>> ReadingStore::attempts(const std::string& run_id,
                                                       const std::string& phase_id) {
  PAWL_TRY(auto query, database_->query("attempts_of_phase"));
  query.bind(run_id).bind(phase_id);
  return all_rows<AttemptRow>(query, read_attempt);
}

Result<std::vector<StepRow>> ReadingStore::steps(const std::string& run_id, const std::string& phase_id) {
  PAWL_TRY(auto query, database_->query("steps_of_phase"));
  query.bind(run_id).bind(phase_id);
  PAWL_TRY(auto rows, all_rows<StepRow>(query, read_step));
  // Sorted here and not in SQL: SQLite's sorter copies whole rows twice.
  std::ranges::sort(rows, [](const StepRow& a, const StepRow& b) {
    return std::tie(a.started_at, a.sandbox_run_id) < std::tie(b.started_at, b.sandbox_run_id);
  });
  return rows;
}

Result<std::vector<PhaseRow>> ReadingStore::first_phases(const std::string& run_id, std::size_t most) {
  PAWL_TRY(auto query, database_->query("first_phases_of_run"));
  query.bind(run_id).bind(static_cast<std::int64_t>(most));
  return all_rows<PhaseRow>(query, read_phase);
}

Result<std::vector<AttemptRow>> ReadingStore::attempts_before(const std::string& run_id,
                                                              const std::string& phase_id,
                                                              std::int64_t before, std::size_t most) {
  PAWL_TRY(auto query, database_->query("attempts_of_phase_before"));
  query.bind(run_id).bind(phase_id).bind(before).bind(static_cast<std::int64_t>(most));
  return all_rows<AttemptRow>(query, read_attempt);
}

Result<std::vector<StepRow>> ReadingStore::steps_of_attempt(const std::string& run_id,
                                                            const std::string& attempt_id) {
  const std::string phase_id = attempt_id.substr(0, attempt_id.rfind('.'));
  PAWL_TRY(auto query, database_->query("steps_in_attempt"));
  query.bind(run_id).bind(attempt_id).bind(phase_id);
  return all_rows<StepRow>(query, read_step);
}

Result<std::vector<EpisodeRow>> ReadingStore::episodes(const std::string& run_id,
                                                       const std::string& phase_id) {
  PAWL_TRY(auto query, database_->query("episodes_of_phase"));
  query.bind(run_id).bind(phase_id);
  return all_rows<EpisodeRow>(query, [](const Query& row) -> Result<EpisodeRow> {
    EpisodeRow out{.attempt_id = row.text(0),
                   .episode = row.number(1),
                   .outcome = row.text(2),
                   .gates_passed = row.number(3),
                   .failing_signals = row.number(4),
                   .kept_by = row.text(6)};
    if (!row.is_null(5)) out.changed_lines = row.number(5);
    return out;
  });
}

Result<std::vector<StepRow>> ReadingStore::open_steps() {
  PAWL_TRY(auto query, database_->query("all_open_steps"));
  return all_rows<StepRow>(query, read_step);
}

Result<std::vector<RefusalRow>> ReadingStore::refusals(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("refusals_of_run"));
  query.bind(run_id);
  return all_rows<RefusalRow>(query, [](const Query& row) -> Result<RefusalRow> {
    return RefusalRow{.phase_id = row.text(0),
                      .at = row.text(1),
                      .verb = row.text(2),
                      .owner = row.text(3),
                      .fence = row.number(4)};
  });
}

Result<std::vector<LayerRow>> ReadingStore::accepted_layers(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("layers_of_run"));
  query.bind(run_id);
  return all_rows<LayerRow>(query, read_layer);
}

Result<std::vector<LayerRow>> ReadingStore::accepted_beside(const AttemptRow& attempt, std::int64_t after,
                                                            std::size_t most) {
  PAWL_TRY(auto query, database_->query("layers_beside_base"));
  query.bind(attempt.run_id).bind(attempt.phase_id).bind(attempt.base_merge_seq);
  query.bind(static_cast<std::int64_t>(most));
  query.bind(attempt.base_has_own_tier ? std::max(after, attempt.base_merge_seq) : after);
  return all_rows<LayerRow>(query, read_layer);
}

Result<std::vector<std::string>> ReadingStore::base_layers(const AttemptRow& attempt) {
  if (attempt.base_merge_seq == 0) return std::vector<std::string>();  // no work was accepted yet
  PAWL_TRY(auto query, database_->query("layers_of_base"));
  query.bind(attempt.run_id).bind(attempt.phase_id).bind(attempt.base_merge_seq);
  query.bind(attempt.base_has_own_tier ? std::int64_t{1} : std::int64_t{0});
  return all_rows<std::string>(query, [](const Query& row) -> Result<std::string> { return row.text(0); });
}

Result<std::vector<std::string>> ReadingStore::chains(const std::string& run_id) {
  std::vector<std::string> out = {""};
  PAWL_TRY(auto query, database_->query("phase_ids_of_run"));
  query.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back(query.text(0));
  }
}

Result<std::vector<LedgerRow>> ReadingStore::ledger(const std::string& run_id, const std::string& chain,
                                                    std::int64_t first_seq, std::size_t most) {
  PAWL_TRY(auto query, database_->query("ledger_rows"));
  query.bind(run_id).bind(chain).bind(first_seq).bind(static_cast<std::int64_t>(most));
  return all_rows<LedgerRow>(query, [](const Query& row) -> Result<LedgerRow> {
    return LedgerRow{.chain = row.text(0), .seq = row.number(1), .hash = row.text(2), .line = row.text(3)};
  });
}

Result<std::optional<Head>> ReadingStore::head(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("select_head"));
  query.bind(run_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return std::optional<Head>();
  return Head{.body = query.text(0), .public_key = query.text(1), .signature = query.text(2)};
}

Result<std::vector<std::string>> ReadingStore::cost_rows(const std::string& run_id, std::int64_t skip) {
  PAWL_TRY(auto query, database_->query(run_id.empty() ? "cost_of_all" : "cost_of_run"));
  if (!run_id.empty()) query.bind(run_id);
  query.bind(skip);
  return all_rows<std::string>(query, [](const Query& row) -> Result<std::string> { return row.text(0); });
}

Result<std::vector<std::string>> ReadingStore::usage_rows(const std::string& run_id, std::int64_t skip) {
  PAWL_TRY(auto query, database_->query(run_id.empty() ? "usage_of_all" : "usage_of_run"));
  if (!run_id.empty()) query.bind(run_id);
  query.bind(skip);
  return all_rows<std::string>(query, [](const Query& row) -> Result<std::string> { return row.text(0); });
}

Result<std::int64_t> ReadingStore::unknown_usages(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("unknown_usages"));
  query.bind(run_id).bind(kUnknownUsageMark);
  PAWL_TRY([[maybe_unused]] const bool row, query.next());
  return query.number(0);
}

namespace {

// A head is a JSON object, so this text cannot pass for one.
std::string inventory_body(const std::string& key, const std::string& text) {
  return "inventory " + key + "\n" + text;
}

}  // namespace

Result<std::optional<std::string>> ReadingStore::inventory(const std::string& key) {
  PAWL_TRY(auto query, database_->query("select_inventory"));
  query.bind(key);
  PAWL_TRY(const bool row, query.next());
  if (!row) return std::optional<std::string>();
  const std::string stored = query.text(0);
  const auto end = stored.rfind('\n');
  if (end == std::string::npos) return std::optional<std::string>();
  const std::string text = stored.substr(0, end);
  // Each attempt asks, and checking a signature costs more than all the rest here.
  const auto hash = blake3_hex(stored);
  if (const auto known = signed_inventories_.find(key);
      known != signed_inventories_.end() && known->second == hash)
    return text;
  const bool ours = sealer_->has_signed({.body = inventory_body(key, text),
                                         .public_key = sealer_->public_key(),
                                         .signature = stored.substr(end + 1)});
  if (!ours) return std::optional<std::string>();
  if (signed_inventories_.size() == kInventoriesKnownMax) signed_inventories_.clear();
  signed_inventories_[key] = hash;
  return text;
}

Status RunStore::put_inventory(const std::string& key, const std::string& text) {
  PAWL_TRY(auto transaction, begin("put_inventory", ""));
  {
    PAWL_TRY(auto query, database_->query("upsert_inventory"));
    PAWL_OK(query.bind(key).bind(text + "\n" + sealer_->sign(inventory_body(key, text)).signature).run());
  }
  return transaction.commit();
}

}  // namespace pawl::store::verbs
