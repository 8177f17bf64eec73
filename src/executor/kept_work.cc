#include "executor/kept_work.h"

#include <utility>

#include "base/json.h"
#include "base/mutant.h"

namespace pawl::executor {

std::optional<supervisor::KeptWork> kept_with_result(const sandbox::SandboxRun& run,
                                                     const plan::Phase& phase) {
  if (phase.resume.policy != plan::ResumePolicy::kContinue) return std::nullopt;
  return supervisor::KeptWork{.layer = run.layer, .missing = {}};
}

Result<Recovery> keep_work(const World& world, const store::Claim& claim, ActiveEpisode& one,
                           const store::StepStart& start, const secrets::Redactor::Values& credentials) {
  if (!one.kept) {
    PAWL_TRY(auto found, world.sandboxes.keep_work(start.sandbox_run_id, credentials));
    // Markers of an attempt that was reserved in this boot are of this boot; others may be, too.
    const bool same_boot = of_one_boot(claim.attempt.executor, claim.lease.owner);
    one.kept = kept_by(std::move(found), one.episode.goes_on_from(), same_boot);
  }
  return after_keeping(*one.kept);
}

namespace {

// Mutants (base/mutant.h).
bool ignores_accepted_work() { return mutant("retry_on_another_state"); }

// The result of the agent of an ended attempt; no value: it has none.
Result<std::optional<sandbox::SandboxRun>> agent_run_of(const World& world,
                                                        const store::AttemptRow& attempt) {
  PAWL_TRY(const auto steps, world.store.steps(attempt.run_id, attempt.phase_id));
  std::optional<sandbox::SandboxRun> out;
  for (const auto& step : steps) {
    const bool is_it = step.attempt_id == attempt.attempt_id && step.gate_id == store::kAgentGate;
    if (!is_it || step.state != store::StepState::kDone) continue;
    PAWL_TRY(const Json json, parse_json(step.run));
    PAWL_TRY(out, sandbox::run_from_json(json));
  }
  return out;
}

}  // namespace

Result<supervisor::KeptWork> take_previous_work(const World& world, const store::Claim& claim) {
  const auto& before = *claim.previous;
  const auto without = [&](std::string what) {
    world.sandboxes.forget_homes(before.run_id, before.attempt_id);
    return supervisor::KeptWork{.layer = {}, .missing = std::move(what)};
  };
  // The first attempt of a fork has its feedback from another run, whose HOME may still be needed there.
  if (before.run_id != claim.run.run_id) return supervisor::KeptWork{.layer = {}, .missing = "revision"};
  if (before.revision != claim.attempt.revision) return without("revision");
  PAWL_TRY(const auto layers, world.store.base_layers(before));
  if (layers != claim.layers && !ignores_accepted_work()) return without("accepted");
  PAWL_TRY(auto run, agent_run_of(world, before));
  if (!run) return without("workspace");
  PAWL_TRY(const bool has_home,
           world.sandboxes.hand_home_on(claim.run.run_id, before.attempt_id, claim.attempt.attempt_id));
  if (!has_home) return without("home");
  return supervisor::KeptWork{.layer = std::move(run->layer), .missing = {}};
}

}  // namespace pawl::executor
