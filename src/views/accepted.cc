#include "views/accepted.h"

#include <fmt/format.h>

#include <algorithm>

#include "executor/start_run.h"
#include "workspace/no_commit.h"

namespace pawl::views {

Status check_evidence(const State& state, const store::RunRow& run) {
  const auto found = ledger::verify_run(*state.store, run.run_id, {.public_key = state.sealer->public_key()});
  PAWL_OK(found);
  if (!found->ok) return ledger::not_whole(run.run_id, *found);
  return check_content_of(state, run);
}

void make_readable(const State& state, const std::string& run_id) {
  // A run that can't be read or written is told by who reads it.
  if (const auto run = state.store->run(run_id)) static_cast<void>(executor::common_of(*state.store, *run));
}

Status with_evidence(const State& state, const std::string& run_id,
                     const std::function<Status(const store::RunRow&)>& use) {
  make_readable(state, run_id);
  return state.store->read_together([&]() -> Status {
    PAWL_TRY(const auto run, state.store->run(run_id));
    PAWL_OK(check_evidence(state, run));
    return use(run);
  });
}

Status check_content_of(const State& state, const store::RunRow& run) {
  const auto& objects = *state.workspaces;
  PAWL_OK(objects.check_before_use(run.base_id, {}));
  PAWL_OK(objects.check_before_use(run.plan_content, {}));
  PAWL_TRY(const auto plan, executor::common_of(*state.store, run));
  PAWL_OK(objects.check_before_use(plan.plan_for_agents, {}));
  PAWL_TRY(const auto layers, state.store->accepted_layers(run.run_id));
  for (const auto& layer : layers)
    if (!layer.layer_id.empty()) PAWL_OK(objects.check_before_use("", {layer.layer_id}));
  return {};
}

Result<std::vector<workspace::AppliedPhase>> accepted_phases(store::Store& store, const store::RunRow& run) {
  PAWL_TRY(const auto layers, store.accepted_layers(run.run_id));
  std::vector<workspace::AppliedPhase> out;
  for (const auto& layer : layers) {
    PAWL_TRY(auto phase, executor::phase_of(store, run, layer.phase_id));
    out.push_back({.phase_id = layer.phase_id, .goal = std::move(phase.goal), .layer_id = layer.layer_id});
  }
  return out;
}

std::vector<std::string> layers_topmost_first(const std::vector<workspace::AppliedPhase>& phases) {
  std::vector<std::string> out;
  for (auto phase = phases.rbegin(); phase != phases.rend(); ++phase)
    if (!phase->layer_id.empty()) out.push_back(phase->layer_id);
  return out;
}

Result<workspace::Patch> patch_of(const State& state, const store::RunRow& run,
                                  const std::vector<workspace::AppliedPhase>& accepted, Purpose purpose) {
  PAWL_TRY(const auto plan, executor::common_of(*state.store, run));
  auto target = workspace::Workspaces::patch_target(run.source_path);
  if (!plan.source_ref)
    target.filters = {
        .source = run.source_path, .git_commit = run.base_commit, .keeps_lfs = purpose == Purpose::kGiven};
  return state.workspaces->diff(run.base_id, {}, layers_topmost_first(accepted), target);
}

Result<workspace::Commits> commits_of(store::Store& store, const store::RunRow& run,
                                      std::vector<workspace::AppliedPhase> accepted) {
  if (accepted.empty())
    return fail(
        ErrorKind::kInvalid,
        "run " + run.run_id + " has no accepted phase to apply; see `pawl status " + run.run_id + "`");
  if (run.state == store::RunState::kExecuting)
    return fail(ErrorKind::kInvalid,
                "run " + run.run_id + " is not over; finish it with `pawl resume " + run.run_id + "`");
  if (run.base_commit.empty())
    return fail(ErrorKind::kInvalid,
                workspace::why_no_commit(run.source_path) + "; use `pawl diff " + run.run_id + "`");
  PAWL_TRY(const auto rows, store.ledger(run.run_id, "", 1, 1'000'000));
  PAWL_TRY(const auto plan, executor::common_of(store, run));
  PAWL_TRY(const WallTime when, parse_rfc3339(run.ended_at));
  return workspace::Commits{
      .source = run.source_path,
      .base = {.base_id = run.base_id, .git_commit = run.base_commit},
      .phases = std::move(accepted),
      .message =
          [run_id = run.run_id, head = rows.empty() ? "" : rows.back().hash](const auto& phase) {
            return fmt::format("{}: {}\n\nPawl-Run: {}\nPawl-Ledger-Head: {}\n", phase.phase_id, phase.goal,
                               run_id, head);
          },
      .when_seconds = when.micros / 1'000'000,
      .left_out = plan.source_exclude,
      .of_work_tree = !plan.source_ref};
}

bool is_missing(const store::PhaseRow& phase) { return phase.state != store::PhaseState::kComplete; }

Json missing_json(const std::vector<store::PhaseRow>& phases) {
  Json out = Json::array();
  for (const auto& phase : phases)
    if (is_missing(phase)) out.push_back({{"phase_id", phase.phase_id}, {"state", name(phase.state)}});
  return out;
}

Status check_judged(store::Store& store, const store::RunRow& run, const ledger::Files& files) {
  const std::string& run_id = run.run_id;
  PAWL_TRY(const auto layers, store.accepted_layers(run_id));
  if (layers.empty()) return {};
  const auto& last = layers.back();
  PAWL_TRY(const auto phase, store.phase(run_id, last.phase_id));
  PAWL_TRY(const auto attempts, store.attempts(run_id, last.phase_id));
  if (phase.outcome == store::PhaseOutcome::kApproved || attempts.empty()) return {};  // a fork shares it
  PAWL_TRY(const auto base, store.base_layers(store::judged_on(attempts.back())));
  for (const auto& layer : layers) {
    if (layer.merge_seq == last.merge_seq || layer.layer_id.empty()) continue;
    if (std::ranges::find(base, layer.layer_id) != base.end()) continue;
    return fail(
        ErrorKind::kInvalid,
        fmt::format("no gate has seen the work of phase {} together with that of phase {}: run the plan "
                    "again",
                    last.phase_id, layer.phase_id));
  }
  const std::string stack = ledger::stack_of(files, last.phase_id, attempts.back().attempt_id);
  if (stack.empty() || stack == store::stack_hash(run.base_id, base)) return {};
  return fail(ErrorKind::kForged, "the gates of " + attempts.back().attempt_id +
                                      " saw another stack of layers than the database names; restore the "
                                      "state folder from a backup");
}

Result<store::AttemptRow> work_to_approve(store::Store& store, const std::string& run_id,
                                          const std::string& phase_id) {
  PAWL_TRY([[maybe_unused]] const auto phase, store.phase(run_id, phase_id));
  PAWL_TRY(auto attempts, store.attempts(run_id, phase_id));
  const auto newest =
      std::ranges::find(attempts.rbegin(), attempts.rend(), true, &store::AttemptRow::finished);
  if (newest == attempts.rend())
    return fail(ErrorKind::kInvalid, "phase " + phase_id + " of run " + run_id + " has no finished attempt");
  PAWL_TRY(const auto steps, store.steps_of_attempt(run_id, newest->attempt_id));
  const auto is_agent = [](const store::StepRow& step) { return step.gate_id == store::kAgentGate; };
  const bool there = std::ranges::any_of(steps, [&](const store::StepRow& step) {
    return is_agent(step) && step.state == store::StepState::kDone;
  });
  if (!there)
    return fail(ErrorKind::kInvalid, (std::ranges::any_of(steps, is_agent)
                                          ? "what the agent of " + newest->attempt_id + " did was lost"
                                          : "no agent was started in " + newest->attempt_id) +
                                         ": there is no work to take; `pawl retry` or `pawl skip` the phase");
  return std::move(*newest);
}

}  // namespace pawl::views
