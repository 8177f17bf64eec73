#include "views/accepted.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "executor/start_run.h"
#include "workspace/no_commit.h"

namespace pawl::views {
namespace {

Status check_objects(const workspace::Workspaces& objects, const store::RunRow& run, const plan::Common& plan,
                     const std::vector<store::LayerRow>& layers) {
  PAWL_OK(objects.check_before_use(run.base_id, {}));
  PAWL_OK(objects.check_before_use(run.plan_content, {}));
  PAWL_OK(objects.check_before_use(plan.plan_for_agents, {}));
  for (const auto& layer : layers)
    if (!layer.layer_id.empty()) PAWL_OK(objects.check_before_use("", {layer.layer_id}));
  return {};
}

// Takes the State, because common_of() may write the plan rows of an older run.
Status copy_rows(const State& state, const std::string& run_id, Evidence& out) {
  auto& store = *state.store;
  PAWL_TRY(out.run, store.run(run_id));
  PAWL_TRY(out.plan, executor::common_of(store, out.run));
  PAWL_TRY(out.plan_text, store.plan_text(run_id));
  PAWL_TRY(out.phases, store.phases(run_id));
  PAWL_TRY(out.layers, store.accepted_layers(run_id));
  for (const auto& layer : out.layers) {
    PAWL_TRY(auto phase, executor::phase_of(store, out.run, layer.phase_id));
    out.accepted.push_back(
        {.phase_id = layer.phase_id, .goal = std::move(phase.goal), .layer_id = layer.layer_id});
  }
  if (out.layers.empty()) return {};
  const std::string& phase_id = out.layers.back().phase_id;
  auto& last = out.last.emplace();
  PAWL_TRY(last.row, store.phase(run_id, phase_id));
  PAWL_TRY(last.planned, executor::phase_of(store, out.run, phase_id));
  PAWL_TRY(auto attempts, store.attempts(run_id, phase_id));
  if (attempts.empty()) return {};
  last.attempt = std::move(attempts.back());
  PAWL_TRY(last.base, store.base_layers(store::judged_on(*last.attempt)));
  return {};
}

// Phases that changed no file have no layer.
std::vector<std::string> layers_topmost_first(const std::vector<store::LayerRow>& layers) {
  std::vector<std::string> out;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
    if (!layer->layer_id.empty()) out.push_back(layer->layer_id);
  return out;
}

std::set<std::string> approved_of(const Evidence& evidence) {
  std::set<std::string> out;
  for (const auto& phase : evidence.phases)
    if (phase.outcome == store::PhaseOutcome::kApproved) out.insert(phase.phase_id);
  return out;
}

// The phases whose work is accepted, and is not among the layers on which the last one was judged.
std::vector<std::string> unseen_by_last(const std::vector<store::LayerRow>& layers,
                                        const std::vector<std::string>& base) {
  std::vector<std::string> out;
  for (const auto& layer : layers)
    if (layer.merge_seq != layers.back().merge_seq && !layer.layer_id.empty() &&
        std::ranges::find(base, layer.layer_id) == base.end())
      out.push_back(layer.phase_id);
  return out;
}

}  // namespace

Status check_evidence(const State& state, const store::RunRow& run) {
  const auto found = ledger::verify_run(*state.store, run.run_id, {.public_key = state.sealer->public_key()});
  PAWL_OK(found);
  if (!found->ok) return ledger::not_whole(run.run_id, *found);
  return check_content_of(state, run);
}

void make_readable(const State& state, const std::string& run_id) {
  // The caller reads the run next, and reports an error of it then.
  if (const auto run = state.store->run(run_id)) static_cast<void>(executor::common_of(*state.store, *run));
}

Status check_content_of(const State& state, const store::RunRow& run) {
  PAWL_TRY(const auto plan, executor::common_of(*state.store, run));
  PAWL_TRY(const auto layers, state.store->accepted_layers(run.run_id));
  return check_objects(*state.workspaces, run, plan, layers);
}

Result<Evidence> evidence_of(const State& state, const std::string& run_id,
                             const std::function<Status()>& also) {
  make_readable(state, run_id);
  Evidence out;
  const ledger::Trust trust{.public_key = state.sealer->public_key()};
  PAWL_TRY(auto checked, ledger::check_run(*state.store, run_id, trust, [&]() -> Status {
             PAWL_OK(copy_rows(state, run_id, out));
             return also ? also() : Status();
           }));
  if (!checked.report.ok) return ledger::not_whole(run_id, checked.report);
  out.head = std::move(checked.report.head);
  out.files = std::move(checked.files);
  return out;
}

Status check_content(const workspace::Workspaces& objects, const Evidence& evidence) {
  return check_objects(objects, evidence.run, evidence.plan, evidence.layers);
}

Result<workspace::Patch> patch_of(const workspace::Workspaces& objects, const Evidence& evidence,
                                  Purpose purpose) {
  const auto& run = evidence.run;
  auto target = workspace::Workspaces::patch_target(run.source_path);
  if (!evidence.plan.source_ref)
    target.filters = {
        .source = run.source_path, .git_commit = run.base_commit, .keeps_lfs = purpose == Purpose::kGiven};
  return objects.diff(run.base_id, {}, layers_topmost_first(evidence.layers), target);
}

Result<workspace::Commits> commits_of(const Evidence& evidence) {
  const auto& run = evidence.run;
  if (evidence.accepted.empty())
    return fail(
        ErrorKind::kInvalid,
        "run " + run.run_id + " has no accepted phase to apply; see `pawl status " + run.run_id + "`");
  if (run.state == store::RunState::kExecuting)
    return fail(ErrorKind::kInvalid,
                "run " + run.run_id + " is not over; finish it with `pawl resume " + run.run_id + "`");
  if (run.base_commit.empty())
    return fail(ErrorKind::kInvalid,
                workspace::why_no_commit(run.source_path) + "; use `pawl diff " + run.run_id + "`");
  PAWL_TRY(const WallTime when, parse_rfc3339(run.ended_at));
  return workspace::Commits{
      .source = run.source_path,
      .base = {.base_id = run.base_id, .git_commit = run.base_commit},
      .phases = evidence.accepted,
      .message =
          [run_id = run.run_id, head = evidence.head, approved = approved_of(evidence)](const auto& phase) {
            return fmt::format("{}: {}\n\nPawl-Run: {}\nPawl-Ledger-Head: {}\n{}", phase.phase_id, phase.goal,
                               run_id, head,
                               approved.contains(phase.phase_id) ? "Pawl-Outcome: approved\n" : "");
          },
      .when_seconds = when.micros / 1'000'000,
      .left_out = evidence.plan.source_exclude,
      .of_work_tree = !evidence.plan.source_ref};
}

Result<std::string> commit_id_of(const workspace::Workspaces& objects, const Evidence& evidence) {
  PAWL_TRY(const auto commits, commits_of(evidence));
  return objects.commit_id(commits);
}

bool is_missing(const store::PhaseRow& phase) { return phase.state != store::PhaseState::kComplete; }

Json missing_json(const std::vector<store::PhaseRow>& phases) {
  Json out = Json::array();
  for (const auto& phase : phases)
    if (is_missing(phase)) out.push_back({{"phase_id", phase.phase_id}, {"state", name(phase.state)}});
  return out;
}

std::optional<NotJudgedWith> not_judged_with(store::Reader& store, const store::RunRow& run) {
  if (run.state == store::RunState::kExecuting) return std::nullopt;
  const auto layers = store.accepted_layers(run.run_id);
  if (!layers || layers->empty()) return std::nullopt;
  const auto& phase_id = layers->back().phase_id;
  const auto attempts = store.attempts(run.run_id, phase_id);
  if (!attempts || attempts->empty()) return std::nullopt;
  const auto base = store.base_layers(store::judged_on(attempts->back()));
  if (!base) return std::nullopt;
  auto unseen = unseen_by_last(*layers, *base);
  if (unseen.empty()) return std::nullopt;
  return NotJudgedWith{.phase_id = phase_id, .phases = std::move(unseen)};
}

Status check_judged(const Evidence& evidence) {
  const auto& last = evidence.last;
  if (!last || !last->attempt) return {};  // none was accepted, or a fork shares it
  const bool approved = last->row.outcome == store::PhaseOutcome::kApproved;
  if (const auto unseen = unseen_by_last(evidence.layers, last->base); !unseen.empty())
    return fail(
        ErrorKind::kInvalid,
        fmt::format("no gate has seen the work of phase {}{} together with that of phase {}: run the plan "
                    "again",
                    last->row.phase_id, approved ? ", which a person approved," : "", unseen.front()));
  if (approved) return {};
  const auto& attempt_id = last->attempt->attempt_id;
  const std::string stack = ledger::stack_of(evidence.files, last->row.phase_id, attempt_id);
  if (stack.empty() || stack == store::stack_hash(evidence.run.base_id, last->base)) return {};
  return fail(ErrorKind::kForged, "the gates of " + attempt_id +
                                      " saw another stack of layers than the database names; restore the "
                                      "state folder from a backup");
}

Result<store::AttemptRow> work_to_approve(store::Reader& store, const std::string& run_id,
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
