#include "executor/gate_again.h"

namespace pawl::executor {
namespace {

// This run has no row in the store. No other process knows its id, so it is always cleaned up here.
Result<sandbox::SandboxRun> run_alone(const World& world, const std::string& backend,
                                      const sandbox::SandboxSpec& spec, const Context& context,
                                      const std::function<bool()>& stop) {
  auto& steps = static_cast<supervisor::StepRunner&>(world.starter);
  const std::string id = os::uuid7(world.clock.wall(), world.random);
  auto run = [&]() -> Result<sandbox::SandboxRun> {
    PAWL_OK(steps.start(id, backend, spec, context, {}));
    PAWL_OK(steps.wait(id, stop));
    return steps.collect(id, sandbox::spec_hash(spec));
  }();
  if (!run) static_cast<void>(steps.abandon(id));
  steps.forget(id);
  return run;
}

}  // namespace

Result<Episode::GateEnd> run_gate_again(const World& world, const Planned& plan, const GateAgain& what,
                                        const std::function<bool()>& stop, const StepEnded& ended) {
  Planned narrow = plan;  // as if the phase had no other gate
  narrow.phase.gates = {what.gate_id};
  narrow.phase.best_of = 1;
  store::Claim claim;
  claim.run = what.run;
  claim.phase = what.phase;
  claim.attempt = store::judged_on(what.attempt);
  PAWL_TRY(claim.layers, world.store.base_layers(claim.attempt));
  claim.steps = {what.agent};
  claim.steps.front().step_index = 0;  // the agent's step of any episode becomes the first step
  PAWL_TRY(auto episode, Episode::load(world, claim, narrow, 0));
  for (;;) {
    PAWL_TRY(const PlannedStep* step, episode.next_of_gates());
    if (step == nullptr) return episode.gate_end(what.gate_id);
    if (stop()) return fail(ErrorKind::kCancelled, "interrupted");
    PAWL_TRY(const auto context, episode.context_of(*step));
    PAWL_TRY(const auto spec, episode.spec_of(*step, context));
    PAWL_OK(episode.objects_fit());
    PAWL_TRY(auto run, run_alone(world, what.run.backend, spec, context, stop));
    ended(spec.label, run);
    episode.record(step->index, std::move(run));
  }
}

}  // namespace pawl::executor
