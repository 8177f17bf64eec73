#include "executor/ends.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "executor/reported.h"
#include "sandbox/backend.h"
#include "store/cost_row.h"

namespace pawl::executor {
namespace {

// Mutants (base/mutant.h).
bool forgets_spool_too_soon() { return mutant("spool_forgotten_too_soon"); }
bool drops_usage_of_lost_steps() { return mutant("usage_of_lost_steps_dropped"); }
bool reports_usage_again() { return mutant("usage_told_again"); }

store::ResumeDecision decision(const store::StepStart& start, Recovery recovery, store::RecoveryFound found) {
  return {.sandbox_run_id = start.sandbox_run_id,
          .label = start.label,
          .found = found,
          .decision = decision_of(recovery)};
}

}  // namespace

Status Ends::take(ActiveEpisode& one, const store::StepStart& start, sandbox::SandboxRun run) {
  PAWL_OK(unless_forged(one, start));
  if (endings_.result) PAWL_OK(record());
  store::StepEnd end{.sandbox_run_id = start.sandbox_run_id,
                     .run = json_text(run),
                     .outcome = std::string(sandbox::name(run.outcome)),
                     .layer = run.layer,
                     .exit_code = run.exit_code,
                     .duration_ms = run.duration_ms};
  PAWL_TRY(end.reported, reported_of(one, start));
  if (auto event = unsaved_event(run, one.episode.phase())) end.reported.events.push_back(*std::move(event));
  end.cost_row = store::cost_row({.workflow_id = claim_.run.workflow_id,
                                  .run_id = claim_.run.run_id,
                                  .gate_id = start.gate_id,
                                  .sandbox_run_id = start.sandbox_run_id,
                                  .backend = run.backend,
                                  .gate_isolation_class = run.gate_isolation_class,
                                  .microvm_milliseconds = run.microvm_milliseconds,
                                  .image_pull_bytes = run.image_pull_bytes,
                                  .build_cache_hit = run.build_cache_hit,
                                  .emitted_at = now()});
  // With several episodes the layer is recorded at the end of the attempt, when the chosen episode is known.
  if (start.gate_id == kAgentGate && start.episode == 0) end.agent_layer = run.layer;
  observer_.step_ended(claim_, start, run);
  endings_.result = std::move(end);
  unforgotten_.push_back(start.sandbox_run_id);
  if (forgets_spool_too_soon()) world_.sandboxes.forget(start.sandbox_run_id);
  one.episode.record(start.step_index, std::move(run));
  return {};
}

// A step that saw a changed object has no result, even when the change is undone later. The result of an
// agent waits until the objects fit again: its objects were checked before the agent was paid.
Status Ends::unless_forged(ActiveEpisode& one, const store::StepStart& start) {
  auto fit = one.episode.objects_fit();
  if (fit || fit.error().kind != ErrorKind::kForged || start.gate_id == kAgentGate) return fit;
  PAWL_OK(world_.sandboxes.abandon(start.sandbox_run_id));
  PAWL_OK(lose(one, start, {.recovery = Recovery::kReExecute}));
  PAWL_OK(record());
  return fit;
}

Status Ends::lose(ActiveEpisode& one, const store::StepStart& start, Loss loss) {
  if (endings_.resume) PAWL_OK(record());
  auto resume = decision(start, loss.recovery, loss.found);
  resume.wait = std::move(loss.wait);
  if (loss.kept) {
    resume.kept_layer = loss.kept->layer;
    resume.not_continued = std::move(loss.kept->missing);
    one.episode.go_on_from(std::move(loss.kept->layer));
  } else if (start.gate_id == kAgentGate) {
    // Nor does it continue from the attempt before: the lost step may have changed that attempt's HOME.
    one.episode.go_on_from(std::nullopt);
  }
  if (!drops_usage_of_lost_steps()) {
    PAWL_TRY(resume.reported, reported_of(one, start));
    if (loss.unsaved) resume.reported.events.push_back(*std::move(loss.unsaved));
  }
  resume.lost_cost_row =
      store::cost_row({.workflow_id = claim_.run.workflow_id,
                       .run_id = claim_.run.run_id,
                       .gate_id = start.gate_id,
                       .sandbox_run_id = start.sandbox_run_id,
                       .backend = claim_.run.backend,
                       .gate_isolation_class = sandbox::isolation_class_of(claim_.run.backend),
                       .emitted_at = now()});
  lost_.push_back(start.sandbox_run_id);
  endings_.resume = std::move(resume);
  return {};
}

Status Ends::note(const store::StepStart& start, Recovery recovery, store::RecoveryFound found) {
  const auto made = decision(start, recovery, found);
  PAWL_OK(world_.store.note_resume(claim_.lease, made, now()));
  observer_.resumed(claim_, made);
  return {};
}

void Ends::recorded() {
  // Report the decision only after it is recorded: an operator may have ended the phase meanwhile. The store
  // then refuses the decision, and no step is resumed.
  if (endings_.resume) observer_.resumed(claim_, *endings_.resume);
  endings_ = {};
  for (const auto& id : unforgotten_) world_.sandboxes.forget(id);
  for (const auto& id : lost_) world_.sandboxes.forget_lost(id);
  unforgotten_.clear();
  lost_.clear();
}

Status Ends::record() {
  if (!endings_.result && !endings_.resume) return {};
  PAWL_TRY(const auto warnings, world_.store.end_step(claim_.lease, endings_, now()));
  recorded();
  for (const auto& row : warnings) observer_.budget_nears_its_end(claim_, row);
  return {};
}

Result<store::Reported> Ends::reported_of(ActiveEpisode& one, const store::StepStart& start) const {
  if (start.gate_id != kAgentGate) return store::Reported();
  const std::int64_t known = reports_usage_again() ? 0 : one.told_seq;
  PAWL_TRY(auto reported, reported_since(world_, reporter_of(claim_, start), known));
  one.told_seq = std::max(one.told_seq, reported.last_seq);
  return reported;
}

}  // namespace pawl::executor
