#include "executor/plans.h"

#include <algorithm>

#include "base/hash.h"
#include "plan/parse.h"
#include "plan/rows.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kKeptMax =
    16;  // more runs than one process works on at a time, and few enough to search

// Whether `planned`, of the row that starts a run, names exactly these rows.
bool are_named(const Json& planned, const plan::Plan& plan, const store::PlanRows& rows) {
  const auto is_named = [&](const std::string& name, const std::string& row) {
    return text_in(planned, name.c_str()) == blake3_hex(row);
  };
  return is_named("", rows.common) && std::ranges::all_of(rows.phases, [&](const auto& row) {
           const auto& tier = plan.tiers[static_cast<std::size_t>(row.tier_index)];
           return is_named(tier.phases[static_cast<std::size_t>(row.phase_index)].id, row.row);
         });
}

// Makes the planned rows of a run from the text of its plan. A run of an older version has none, and its
// ledger names none. Other runs have them from their start, which knows more than the text: which files of
// the plan's folder agents see, where protected links lead, and which keys programs get. When such rows are
// gone, only those that the ledger names are taken.
Status make_rows(store::Store& store, const std::string& run_id) {
  PAWL_TRY(const auto run, store.run(run_id));
  PAWL_TRY(auto plan, plan_of(store, run));
  PAWL_TRY(const auto first, store.ledger(run_id, "", 1, 1));
  PAWL_TRY(const auto started, first.empty() ? Result<Json>(Json::object()) : parse_json(first.front().line));
  const auto planned = started.find("planned");
  if (planned == started.end()) return store.put_plan(run_id, rows_of(plan));
  // Rows of older versions do not say the folder.
  for (const auto& folder : {run.source_path, std::string()}) {
    plan.source_folder = folder;
    const auto rows = rows_of(plan);
    if (are_named(*planned, plan, rows)) return store.put_plan(run_id, rows);
  }
  return fail(ErrorKind::kForged, "run " + run_id + ": " + std::string(store::kPlannedRowsGone));
}

std::unexpected<Error> not_in_plan(const std::string& phase_id) {
  return fail(ErrorKind::kCorrupt, "phase " + phase_id + " is not in the plan of its run");
}

Result<Planned> checked(CommonPlan common, plan::Phase phase, const std::string& phase_id) {
  const bool fits = phase.id == phase_id && std::ranges::all_of(phase.gates, [&](const auto& gate) {
                      return common->gates.contains(gate);
                    });
  if (!fits) return not_in_plan(phase_id);
  return Planned{.common = std::move(common), .phase = std::move(phase)};
}

}  // namespace

plan::Phase own_phase(const Planned& plan) {
  plan::Phase out = plan.phase;
  std::erase_if(out.gates, [&](const auto& gate) { return plan.gates_of_others.contains(gate); });
  return out;
}

CommonPlan Plans::find(std::string_view run_id) {
  const auto found = std::ranges::find(entries_, run_id, &Entry::first);
  if (found == entries_.end()) return nullptr;
  std::rotate(found, found + 1, entries_.end());
  return entries_.back().second;
}

CommonPlan Plans::kept(std::string_view run_id) {
  const std::lock_guard guard(mutex_);
  return find(run_id);
}

Result<CommonPlan> Plans::of(const store::Claim& claim) {
  const std::lock_guard guard(mutex_);
  if (auto plan = find(claim.run.run_id)) return plan;
  PAWL_TRY(auto common, plan::common_of_row(claim.common));
  if (entries_.size() == kKeptMax) entries_.erase(entries_.begin());
  entries_.emplace_back(claim.run.run_id, std::make_shared<const plan::Common>(std::move(common)));
  return entries_.back().second;
}

Result<Planned> planned_of(CommonPlan common, plan::Phase phase, const store::Claim& claim) {
  return checked(std::move(common), std::move(phase), claim.phase.phase_id);
}

store::PlanRows rows_of(const plan::Plan& plan) {
  store::PlanRows out{.common = plan::common_row(plan), .phases = {}};
  for (std::size_t tier = 0; tier < plan.tiers.size(); ++tier) {
    const auto& phases = plan.tiers[tier].phases;
    for (std::size_t phase = 0; phase < phases.size(); ++phase)
      out.phases.push_back({.tier_index = static_cast<std::int64_t>(tier),
                            .phase_index = static_cast<std::int64_t>(phase),
                            .row = plan::phase_row(phases[phase])});
  }
  return out;
}

Result<plan::Plan> plan_of(store::Store& store, const store::RunRow& run) {
  PAWL_TRY(const auto text, store.plan_text(run.run_id));
  // The profiles of the run's start. Another version, or the file of a user, may say something else today.
  PAWL_TRY(const auto row, store.planned_common(run.run_id));
  plan::Common common;
  if (!row.empty()) {
    PAWL_TRY(common, plan::common_of_row(row));
  }
  const auto profile = [&](const std::string& name) -> Result<std::optional<plan::ProfileText>> {
    const auto found = common.profiles.find(name);
    if (found == common.profiles.end()) return std::nullopt;
    return plan::ProfileText{.file = "profile " + name, .text = found->second};
  };
  auto parsed = plan::parse(text, run.plan_file, {.own_profile = profile});
  if (parsed.plan) return *std::move(parsed.plan);
  return fail(ErrorKind::kCorrupt, "the plan of run " + run.run_id + " does not parse: " +
                                       (parsed.problems.empty() ? "" : to_text(parsed.problems.front())));
}

Result<plan::Common> common_of(store::Store& store, const store::RunRow& run) {
  PAWL_TRY(auto row, store.planned_common(run.run_id));
  if (row.empty()) {
    PAWL_OK(make_rows(store, run.run_id));
    PAWL_TRY(row, store.planned_common(run.run_id));
  }
  return plan::common_of_row(row);
}

Result<plan::Phase> phase_of(store::Store& store, const store::RunRow& run, const std::string& phase_id) {
  PAWL_TRY(auto row, store.planned_phase(run.run_id, phase_id));
  if (row.empty()) {
    PAWL_OK(make_rows(store, run.run_id));
    PAWL_TRY(row, store.planned_phase(run.run_id, phase_id));
  }
  if (row.empty()) return not_in_plan(phase_id);
  return plan::phase_of_row(row);
}

Result<Planned> planned_of(store::Store& store, const store::RunRow& run, const std::string& phase_id) {
  PAWL_TRY(auto common, common_of(store, run));
  PAWL_TRY(auto phase, phase_of(store, run, phase_id));
  return checked(std::make_shared<const plan::Common>(std::move(common)), std::move(phase), phase_id);
}

Result<store::ClaimResult> claim_planned(store::Store& store, const store::ClaimRequest& request) {
  for (std::string before;;) {
    PAWL_TRY(auto found, store.claim(request));
    if (found.unplanned.empty()) return found;
    if (found.unplanned == before)
      return fail(ErrorKind::kCorrupt, "a phase of run " + before + " is not in its plan");
    before = std::move(found.unplanned);
    PAWL_OK(make_rows(store, before));
  }
}

}  // namespace pawl::executor
