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

struct Work {
  store::Approved what;
  std::vector<std::string> protected_paths, of_submodules;  // left out of the work
  std::vector<std::string> failing_signals;                 // signals that the person overrules
  std::vector<std::string> not_judged;  // gates that did not run, and phases not judged together with it
};

// Returns the gates of the phase that gave no signal for the attempt, and the phases accepted beside it.
Result<std::vector<std::string>> not_judged(store::Store& store, const store::RunRow& run,
                                            const store::AttemptRow& attempt) {
  constexpr std::size_t kPhasesMost = 1000;
  PAWL_TRY(const auto phase, executor::phase_of(store, run, attempt.phase_id));
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

// Returns the work as the gates saw it: the agent's changes, without paths that the source ignores or the
// plan protects.
Result<Work> newest_work(const State& state, workspace::ObjectStore& objects, const store::RunRow& run,
                         const std::string& phase_id) {
  PAWL_TRY(const auto newest, views::work_to_approve(*state.store, run.run_id, phase_id));
  Work work{.what = {.phase_id = phase_id, .attempt_id = newest.attempt_id, .layer = newest.agent_layer},
            .protected_paths = {},
            .of_submodules = {},
            .failing_signals = newest.failing_signals};
  PAWL_TRY(work.not_judged, not_judged(*state.store, run, newest));
  if (!work.what.layer.empty()) {
    // gc may have removed the layer of a run that was over.
    if (!state.workspaces->has_layer(work.what.layer))
      return fail(ErrorKind::kNotFound,
                  "the work of " + newest.attempt_id + " is gone; `pawl retry` the phase");
    PAWL_OK(state.workspaces->check_before_use(run.base_id, {work.what.layer}));
  }
  PAWL_TRY(const auto plan, executor::common_of(*state.store, run));
  if (work.what.layer.empty()) return work;
  PAWL_TRY(const auto accepted, state.store->base_layers(newest));
  PAWL_TRY(const auto below, objects.stack(run.base_id, accepted));
  if (plan.ignored == plan::Ignored::kLeaveOut) {  // not done yet for an attempt that never ended
    PAWL_TRY(auto kept, objects.without_ignored(work.what.layer, executor::source_of(run), below));
    work.what.layer = std::move(kept.layer_id);
  } else {
    PAWL_TRY(auto kept, objects.without_caches(work.what.layer, executor::source_of(run), below));
    work.what.layer = std::move(kept.layer_id);
  }
  if (work.what.layer.empty()) return work;
  PAWL_TRY(const auto phase, executor::phase_of(*state.store, run, phase_id));
  PAWL_TRY(auto filtered,
           objects.without_protected(work.what.layer, run.base_id, below, plan::rules_on_agent(plan, phase)));
  work.what.layer = filtered.layer_id;
  work.protected_paths = std::move(filtered.protected_changes);
  work.of_submodules = std::move(filtered.submodule_changes);
  return work;
}

Status approve(const ApproveOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  const auto objects = workspace::object_store(*state.workspaces);
  PAWL_TRY(const auto hold, state.workspaces->hold());
  Work work;
  views::make_readable(state, run_id);
  PAWL_OK(state.store->read_together([&]() -> Status {
    PAWL_TRY(const auto run, state.store->run(run_id));
    PAWL_TRY(work, newest_work(state, *objects, run, options.phase));
    return views::check_evidence(state, run);
  }));
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
                {"failing_signals", work.failing_signals},
                {"not_judged", work.not_judged}});
    return {};
  }
  say("{} is COMPLETE (approved, not passed) with the work of {}\n", changed.front(), work.what.attempt_id);
  for (const auto& key : work.failing_signals) say("failed, and overruled: {}\n", visible(key));
  for (const auto& what : work.not_judged) say("not judged: {}\n", visible(what));
  for (const auto& path : work.protected_paths)
    say("left out, because the plan protects it: {}\n", visible(path));
  for (const auto& path : work.of_submodules)
    say("left out, because it belongs to a submodule: {}\n", visible(path));
  for (const auto& phase : changed | std::views::drop(1)) say("{} is QUEUED again\n", phase);
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
