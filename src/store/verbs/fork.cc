// Forks: a run that continues from a point of another run. The other run is never written.
#include <algorithm>

#include "base/mutant.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

// A mutant (base/mutant.h).
bool shares_no_layers() { return mutant("fork_without_layers"); }

// Returns the phases before `phase_id`, in the plan's order. `whose` names the list, for people.
Result<std::vector<PhaseRow>> phases_before(const std::vector<PhaseRow>& phases, const std::string& phase_id,
                                            const std::string& whose) {
  const auto point = std::ranges::find(phases, phase_id, &PhaseRow::phase_id);
  if (point == phases.end()) return fail(ErrorKind::kNotFound, whose + " has no phase " + phase_id);
  return std::vector<PhaseRow>(phases.begin(), point);
}

Status check_same(const std::vector<PhaseRow>& there, const std::vector<PhaseRow>& here,
                  const std::string& phase_id) {
  const auto [a, b] = std::ranges::mismatch(there, here, {}, &PhaseRow::phase_id, &PhaseRow::phase_id);
  if (a == there.end() && b == here.end()) return {};
  const std::string before = " before " + phase_id + ": what comes before it can't be changed by a fork";
  if (a == there.end()) return fail(ErrorKind::kInvalid, "the plan has a new phase " + b->phase_id + before);
  if (b == here.end()) return fail(ErrorKind::kInvalid, "the plan has no phase " + a->phase_id + before);
  return fail(ErrorKind::kInvalid,
              "the plan has phase " + b->phase_id + " where the run has " + a->phase_id + "," + before);
}

Status check_over(const PhaseRow& phase, const TierRow& tier) {
  const bool goes_on = phase.state == PhaseState::kComplete || phase.state == PhaseState::kSkipped ||
                       (phase.state == PhaseState::kFailed && !tier.stop_on_failure);
  if (goes_on) return {};
  return fail(ErrorKind::kInvalid, "phase " + phase.phase_id + " comes before it and is " +
                                       std::string(name(phase.state)) + ": fork from " + phase.phase_id +
                                       " instead");
}

}  // namespace

Result<Json> RunStore::share_phase(const PhaseRow& from, const std::string& run_id,
                                   const std::vector<LayerRow>& layers) {
  PAWL_TRY(auto row, phase(run_id, from.phase_id));
  row.state = from.state;
  row.outcome = from.outcome;
  row.last_failure_reason = from.last_failure_reason;
  PAWL_OK(write_phase(row));
  PAWL_TRY(const auto head, chain_head(from.run_id, from.phase_id));
  Json entry{{"phase_id", from.phase_id},     {"layer", ""},       {"state", name(from.state)},
             {"outcome", name(from.outcome)}, {"rows", head.rows}, {"head", head.head}};
  if (const auto layer = std::ranges::find(layers, from.phase_id, &LayerRow::phase_id);
      layer != layers.end()) {
    entry["layer"] = layer->layer_id;
    entry["merge_seq"] = layer->merge_seq;
  }
  return entry;
}

// Returns the layers of the phases `shared`, numbered from 1 for the run that takes them over.
Result<std::vector<LayerRow>> RunStore::layers_to_share(const std::string& from_run,
                                                        const std::vector<PhaseRow>& shared) {
  PAWL_TRY(auto layers, accepted_layers(from_run));
  std::erase_if(layers, [&](const LayerRow& layer) {
    return std::ranges::find(shared, layer.phase_id, &PhaseRow::phase_id) == shared.end();
  });
  std::int64_t merge_seq = 0;
  for (auto& layer : layers) layer.merge_seq = ++merge_seq;
  return layers;
}

Status RunStore::share_layers(const std::vector<LayerRow>& layers, const std::string& run_id) {
  if (shares_no_layers()) return {};
  for (const auto& layer : layers) {
    PAWL_TRY(const auto row, phase(run_id, layer.phase_id));
    PAWL_OK(accept_layer(row, layer.layer_id));
  }
  return {};
}

Status RunStore::check_attempt(const ForkPoint& from) {
  if (from.attempt == 1) return {};
  PAWL_TRY(const auto all, attempts(from.run_id, from.phase_id));
  const auto before = std::ranges::find(all, from.attempt - 1, &AttemptRow::number);
  if (before != all.end() && before->finished) return {};
  const auto finished = std::ranges::count(all, true, &AttemptRow::finished);
  return fail(ErrorKind::kNotFound, "phase " + from.phase_id + " has " + std::to_string(finished) +
                                        " finished attempt(s): attempt " + std::to_string(from.attempt) +
                                        " is not a point to fork from");
}

// Takes over the newest goal that a replanner had set before that attempt.
Status RunStore::inherit_goal(const ForkPoint& from, const std::string& run_id) {
  PAWL_TRY(const auto old, phase(from.run_id, from.phase_id));
  PAWL_TRY(const auto all, attempts(from.run_id, from.phase_id));
  const auto at = std::ranges::find(all, from.attempt, &AttemptRow::number);
  const std::int64_t revision = at == all.end() ? old.revision : at->revision;
  std::string goal, attempt_id, reason;
  {
    PAWL_TRY(auto query, database_->query("newest_goal"));
    query.bind(from.run_id).bind(from.phase_id).bind(revision);
    PAWL_TRY(const bool row, query.next());
    if (!row) return {};
    goal = query.text(0);
    attempt_id = query.text(1);
    reason = query.text(2);
  }
  PAWL_TRY(auto row, phase(run_id, from.phase_id));
  row.revision = 1;
  PAWL_OK(write_phase(row));
  PAWL_TRY(auto query, database_->query("insert_revision"));
  query.bind(run_id).bind(from.phase_id).bind(row.revision).bind(attempt_id);
  return query.bind(goal).bind(reason).run();
}

// Without a retry, the level of an attempt is one below its number. It is never above the level that the
// phase reached.
Status RunStore::inherit_level(const ForkPoint& from, const std::string& run_id) {
  PAWL_TRY(const auto old, phase(from.run_id, from.phase_id));
  PAWL_TRY(auto row, phase(run_id, from.phase_id));
  row.escalation_level = std::min(old.escalation_level, from.attempt - 1);
  return write_phase(row);
}

Status RunStore::share_history(const NewRun& new_run, WallTime now) {
  const Fork& fork = *new_run.fork;
  const std::string& run_id = new_run.run.run_id;
  PAWL_OK(check_tables(fork.from.run_id));
  PAWL_TRY(const auto all, phases(fork.from.run_id));
  PAWL_TRY(const auto shared, phases_before(all, fork.from.phase_id, "run " + fork.from.run_id));
  PAWL_TRY(const auto planned, phases_before(new_run.phases, fork.from.phase_id, "the plan"));
  PAWL_OK(check_same(shared, planned, fork.from.phase_id));
  PAWL_OK(check_attempt(fork.from));
  PAWL_TRY(const auto layers, layers_to_share(fork.from.run_id, shared));
  Json list = Json::array();
  for (const auto& old : shared) {
    PAWL_TRY(const TierRow tier_row, tier(old.run_id, old.tier_index));
    PAWL_OK(check_over(old, tier_row));
    PAWL_TRY(auto entry, share_phase(old, run_id, layers));
    list.push_back(std::move(entry));
  }
  PAWL_OK(share_layers(layers, run_id));
  if (fork.same_plan) {
    PAWL_OK(inherit_level(fork.from, run_id));
    PAWL_OK(inherit_goal(fork.from, run_id));
  }
  {
    PAWL_TRY(auto query, database_->query("insert_fork"));
    query.bind(run_id).bind(fork.from.run_id).bind(fork.from.phase_id);
    PAWL_OK(query.bind(fork.from.attempt).run());
  }
  PAWL_TRY(const auto head, chain_head(fork.from.run_id, ""));
  auto row = forked_row(fork, head.head, list);
  PAWL_OK(trust_fork(run_id, row));
  return append_row(run_id, "", std::move(row), now);
}

Result<std::optional<ForkPoint>> ReadingStore::fork_of(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("fork_of_run"));
  query.bind(run_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return std::optional<ForkPoint>();
  return ForkPoint{.run_id = query.text(0), .phase_id = query.text(1), .attempt = query.number(2)};
}

}  // namespace pawl::store::verbs
