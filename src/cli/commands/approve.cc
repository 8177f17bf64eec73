// Takes the work of a phase that ended without being accepted, because a person decides so.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "executor/start_run.h"
#include "views/accepted.h"
#include "workspace/object_store.h"

namespace pawl::cli {
namespace {

struct ApproveOptions {
  StateOptions state;
  std::string run, phase, reason;
};

// The phase, as one state of the database has it.
struct Newest {
  store::AttemptRow attempt;
  plan::Phase phase;
  std::vector<std::string> accepted;    // the layers below its work
  std::vector<std::string> not_judged;  // gates that did not run, and phases not judged together with it
};

struct Work {
  store::Approved what;
  std::vector<std::string> protected_paths, of_submodules;  // left out of the work
};

// Returns the gates of the phase that gave no signal for the attempt, and the phases accepted beside it.
Result<std::vector<std::string>> not_judged(store::Reader& store, const plan::Phase& phase,
                                            const store::AttemptRow& attempt) {
  constexpr std::size_t kPhasesMost = 1000;
  PAWL_TRY(const Json signals, parse_json(attempt.signals));
  std::vector<std::string> out;
  for (const auto& gate : phase.gates)
    if (std::ranges::none_of(signals, [&](const Json& signal) { return text_in(signal, "gate_id") == gate; }))
      out.push_back("gate " + gate);
  PAWL_TRY(const auto beside, store.accepted_beside(attempt, 0, kPhasesMost));
  for (const auto& layer : beside)
    if (layer.merge_seq > attempt.joined_merge_seq) out.push_back("together with phase " + layer.phase_id);
  return out;
}

Status copy_rows(store::Store& store, const std::string& run_id, const std::string& phase_id, Newest& out) {
  PAWL_TRY(const auto run, store.run(run_id));
  PAWL_TRY(out.attempt, views::work_to_approve(store, run_id, phase_id));
  PAWL_TRY(out.phase, executor::phase_of(store, run, phase_id));
  PAWL_TRY(out.accepted, store.base_layers(out.attempt));
  PAWL_TRY(out.not_judged, not_judged(store, out.phase, out.attempt));
  return {};
}

// kNotFound: gc removed the layer of a run that was over.
Status check_layer(const workspace::Workspaces& workspaces, const store::AttemptRow& attempt) {
  if (attempt.agent_layer.empty()) return {};
  if (!workspaces.has_layer(attempt.agent_layer))
    return fail(ErrorKind::kNotFound,
                "the work of " + attempt.attempt_id + " is gone; `pawl retry` the phase");
  return workspaces.check_before_use("", {attempt.agent_layer});
}

// Returns the work as the gates saw it: the agent's changes, without paths that the source ignores or the
// plan protects.
Result<Work> work_of(workspace::ObjectStore& objects, const views::Evidence& evidence, const Newest& newest) {
  const auto& run = evidence.run;
  const auto& plan = evidence.plan;
  const auto& attempt = newest.attempt;
  Work work{
      .what = {.phase_id = attempt.phase_id, .attempt_id = attempt.attempt_id, .layer = attempt.agent_layer},
      .protected_paths = {},
      .of_submodules = {}};
  if (work.what.layer.empty()) return work;
  PAWL_TRY(const auto below, objects.stack(run.base_id, newest.accepted));
  if (plan.ignored == plan::Ignored::kLeaveOut) {  // not done yet for an attempt that never ended
    PAWL_TRY(auto kept, objects.without_ignored(work.what.layer, executor::source_of(run), below));
    work.what.layer = std::move(kept.layer_id);
  } else {
    PAWL_TRY(auto kept, objects.without_caches(work.what.layer, executor::source_of(run), below));
    work.what.layer = std::move(kept.layer_id);
  }
  if (work.what.layer.empty()) return work;
  PAWL_TRY(auto filtered, objects.without_protected(work.what.layer, run.base_id, below,
                                                    plan::rules_on_agent(plan, newest.phase)));
  work.what.layer = filtered.layer_id;
  work.protected_paths = std::move(filtered.protected_changes);
  work.of_submodules = std::move(filtered.submodule_changes);
  return work;
}

void print_approved(const Work& work, const Newest& newest, const std::vector<std::string>& changed) {
  say("{} is COMPLETE (approved, not passed) with the work of {}\n", changed.front(), work.what.attempt_id);
  for (const auto& key : newest.attempt.failing_signals) say("failed, and overruled: {}\n", visible(key));
  for (const auto& what : newest.not_judged) say("not judged: {}\n", visible(what));
  for (const auto& path : work.protected_paths)
    say("left out, because the plan protects it: {}\n", visible(path));
  for (const auto& path : work.of_submodules)
    say("left out, because it belongs to a submodule: {}\n", visible(path));
  for (const auto& phase : changed | std::views::drop(1)) say("{} is QUEUED again\n", phase);
}

Status approve(const ApproveOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  const auto objects = workspace::object_store(*state.workspaces);
  PAWL_TRY(const auto hold, state.workspaces->hold());
  Newest newest;
  PAWL_TRY(const auto evidence, views::evidence_of(state, run_id, [&] {
             return copy_rows(*state.store, run_id, options.phase, newest);
           }));
  PAWL_OK(check_layer(*state.workspaces, newest.attempt));
  PAWL_OK(views::check_content(*state.workspaces, evidence));
  PAWL_TRY(const auto work, work_of(*objects, evidence, newest));
  const auto overlaps = [&](const std::string& a, const std::string& b) {
    return may_overlap(*objects, a, b);
  };
  PAWL_TRY(const auto who, this_operator(state, options.reason));
  PAWL_TRY(const auto changed,
           state.store->operator_approve(run_id, work.what, overlaps, who, os::SystemClock().wall()));
  PAWL_OK(ledger::project_run(*state.store, state.folder, run_id));
  if (options.state.json) {
    std::vector<std::string> left_out = work.protected_paths;
    left_out.insert(left_out.end(), work.of_submodules.begin(), work.of_submodules.end());
    print_json({{"run_id", run_id},
                {"phases", changed},
                {"attempt_id", work.what.attempt_id},
                {"left_out", left_out},
                {"failing_signals", newest.attempt.failing_signals},
                {"not_judged", newest.not_judged}});
    return {};
  }
  print_approved(work, newest, changed);
  if (changed.size() > 1) say("Next: pawl resume {}\n", run_id);
  return {};
}

}  // namespace

void add_approve(const Command& program) {
  const Command command =
      program.add("approve", "Accept the work of a phase that ended without passing its gates");
  auto options = std::make_shared<ApproveOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.required("PHASE", options->phase, "The phase");
  command.option("--reason", options->reason, "The reason, for the ledger");
  add_state_options(command, options->state);
  command.footer(
      "The changes of the newest attempt's agent become part of the run, without protected paths, "
      "although a gate\nfailed or did not run. Look at `pawl inspect RUN PHASE` and the logs first. "
      "Phases that were stopped because this\nphase failed are queued again.\n\nExample:\n  pawl "
      "approve last fix --reason \"the test that fails is wrong\"");
  command.on_run([=] {
    const auto status = approve(*options);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
