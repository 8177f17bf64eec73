#include "views/status.h"

#include <algorithm>
#include <utility>

#include "views/accepted.h"
#include "views/budget.h"

namespace pawl::views {
namespace {

Json phase_json(const store::PhaseRow& phase) {
  return {{"phase_id", phase.phase_id},
          {"tier_index", phase.tier_index},
          {"phase_index", phase.phase_index},
          {"state", name(phase.state)},
          {"outcome", name(phase.outcome)},
          {"attempts_used", phase.attempts_used},
          {"max_attempts", phase.max_attempts},
          {"attempts_total", phase.attempts_total},
          {"last_attempt_timestamp", phase.last_attempt_timestamp},
          {"last_failure_reason", phase.last_failure_reason},
          {"not_before", phase.not_before},
          {"lease_owner", phase.lease_owner},
          {"lease_expires_at", phase.lease_expires_at},
          {"revision", phase.revision}};
}

Json run_json(const store::RunRow& run) {
  return {{"run_id", run.run_id},         {"workflow", run.workflow_id}, {"state", name(run.state)},
          {"created_at", run.created_at}, {"ended_at", run.ended_at},    {"plan", run.plan_file}};
}

Json fork_json(const store::ForkPoint& from) {
  return {{"run_id", from.run_id}, {"phase_id", from.phase_id}, {"attempt", from.attempt}};
}

// One failed phase is enough to go on with.
void add_waits(store::Reader& store, RunStatus& to) {
  to.waits = provider_waits(store, to.phases);
  to.spent = spent_budget(store, to.run);
  if (to.spent) {
    to.waits_for = WaitsFor::kBudget;
    return;
  }
  const auto failed = std::ranges::find(to.phases, store::PhaseState::kFailed, &store::PhaseRow::state);
  if (failed != to.phases.end()) {
    to.failed_phase = failed->phase_id;
    to.has_work = work_to_approve(store, to.run.run_id, failed->phase_id).has_value();
  }
  if (failed != to.phases.end() || !to.questions.empty() || any_is_for_a_person(to.waits))
    to.waits_for = WaitsFor::kPerson;
}

}  // namespace

Result<RunStatus> status_of(const State& state, const std::string& run_id) {
  auto& store = *state.store;
  RunStatus out;
  PAWL_TRY(out.run, store.run(run_id));
  PAWL_TRY(out.tiers, store.tiers(run_id));
  PAWL_TRY(out.phases, store.phases(run_id));
  PAWL_TRY(out.budgets, budgets_of(store, run_id));
  PAWL_TRY(out.forked_from, store.fork_of(run_id));
  PAWL_TRY(out.questions, open_questions(state, run_id));
  add_waits(store, out);
  out.seen_in_part = seen_in_part(state, out.run);
  out.not_judged_with = not_judged_with(store, out.run);
  return out;
}

Json to_json(const RunStatus& status) {
  Json out = run_json(status.run);
  out["budget"] = to_json(status.budgets);
  out["forked_from"] = status.forked_from ? fork_json(*status.forked_from) : Json();
  out["phases"] = Json::array();
  for (const auto& phase : status.phases) {
    Json shown = phase_json(phase);
    if (const auto& unseen = status.not_judged_with; unseen && unseen->phase_id == phase.phase_id)
      shown["not_judged_with"] = unseen->phases;
    out["phases"].push_back(std::move(shown));
  }
  out["questions"] = to_json(status.questions);
  out["waits"] = to_json(status.waits);
  out["waits_for"] = name(status.waits_for);
  if (status.seen_in_part) out["seen_in_part"] = to_json(*status.seen_in_part);
  return out;
}

Json to_json(const std::vector<store::RunRow>& runs) {
  Json list = Json::array();
  for (const auto& run : runs) list.push_back(run_json(run));
  return {{"runs", std::move(list)}};
}

Json summary_json(store::Reader& store, const store::RunRow& run, const std::optional<SeenInPart>& seen) {
  Json phases = Json::array();
  if (const auto rows = store.phases(run.run_id)) {
    for (const auto& phase : *rows) {
      phases.push_back({{"phase_id", phase.phase_id},
                        {"state", name(phase.state)},
                        {"outcome", name(phase.outcome)},
                        {"attempts_used", phase.attempts_used},
                        {"attempts_total", phase.attempts_total},
                        {"last_failure_reason", phase.last_failure_reason}});
    }
  }
  Json out = {{"run_id", run.run_id},
              {"state", name(run.state)},
              {"phases", std::move(phases)},
              {"ledger_head", ledger_head(store, run.run_id)}};
  if (seen) out["seen_in_part"] = to_json(*seen);
  return out;
}

std::string ledger_head(store::EvidenceReader& store, const std::string& run_id) {
  const auto row = store.head(run_id);
  if (!row || !*row) return "";
  const auto body = parse_json((*row)->body);
  return body ? text_in(object_in(object_in(*body, "chains"), ""), "head") : "";
}

}  // namespace pawl::views
