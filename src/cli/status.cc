#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/context.h"
#include "cli/run_loop.h"

namespace pawl::cli {
namespace {

constexpr std::size_t kRunsShown = 50;

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
          {"lease_owner", phase.lease_owner},
          {"lease_expires_at", phase.lease_expires_at},
          {"revision", phase.revision}};
}

Json run_json(const store::RunRow& run) {
  return {{"run_id", run.run_id},         {"workflow", run.workflow_id}, {"state", name(run.state)},
          {"created_at", run.created_at}, {"ended_at", run.ended_at},    {"plan", run.plan_file}};
}

Status list_runs(store::Store& store, bool json) {
  PAWL_TRY(const auto runs, store.runs(kRunsShown));
  Json list = Json::array();
  for (const auto& run : runs) list.push_back(run_json(run));
  if (json) {
    print_json({{"runs", std::move(list)}});
    return {};
  }
  if (runs.empty()) fmt::print("no runs yet; start one with: pawl run plan.yaml\n");
  for (const auto& run : runs)
    fmt::print("{}  {:<9}  {:.19}Z  {}\n", run.run_id, name(run.state), run.created_at, run.workflow_id);
  return {};
}

Status show_run(store::Store& store, const std::string& text, bool json) {
  PAWL_TRY(const std::string run_id, store.resolve_run(text));
  PAWL_TRY(const auto run, store.run(run_id));
  PAWL_TRY(const auto tiers, store.tiers(run_id));
  PAWL_TRY(const auto phases, store.phases(run_id));
  PAWL_TRY(const auto budgets, store.budgets(run_id));
  if (json) {
    Json out = run_json(run);
    out["budget"] = budget_json(budgets);
    out["phases"] = Json::array();
    for (const auto& phase : phases) out["phases"].push_back(phase_json(phase));
    print_json(out);
    return {};
  }
  fmt::print("run {} is {}  ({})\n", run.run_id, name(run.state), run.workflow_id);
  for (const auto& row : budgets)
    if (row.cap) fmt::print("budget: {}\n", budget_text(row));
  std::size_t width = 5;
  for (const auto& phase : phases) width = std::max(width, phase.phase_id.size());
  for (const auto& tier : tiers) {
    fmt::print("{}{}\n", tier.name, tier.parallel ? " (parallel)" : "");
    for (const auto& phase : phases) {
      if (phase.tier_index != tier.tier_index) continue;
      fmt::print("  {:<{}}  {:<9}  {:<20}  attempts {}/{}  {}\n", phase.phase_id, width, name(phase.state),
                 name(phase.outcome), phase.attempts_used, phase.max_attempts,
                 phase.lease_owner.empty() ? phase.last_failure_reason : "held by " + phase.lease_owner);
    }
  }
  return {};
}

}  // namespace

void add_status(const Command& program) {
  const Command command = program.add("status", "List the runs, or the phases of one");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  command.option("RUN", *run, kRunHelp);
  add_state_options(command, *options);
  command.footer("Example:\n  pawl status last");
  command.on_run([=] {
    const auto state = open_state(*options);
    if (!state) return report(state.error());
    const auto status =
        run->empty() ? list_runs(*state->store, options->json) : show_run(*state->store, *run, options->json);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
