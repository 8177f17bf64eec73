// Runs one gate of an attempt again, on the work of the attempt's agent. The result shows whether the work or
// the gate itself changes.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "executor/episode.h"
#include "executor/executor.h"
#include "plan/plan.h"
#include "store/store.h"

namespace pawl::executor {

struct GateAgain {
  store::RunRow run;
  store::PhaseRow phase;
  store::AttemptRow attempt;
  store::StepRow agent;  // the step of the attempt's agent, which is done
  std::string gate_id;   // a gate of the phase
};

// Called when a step ended.
using StepEnded = std::function<void(const std::string& label, const sandbox::SandboxRun& run)>;

// Runs the gate's steps with the specs that the attempt gave them. A baseline runs first when the store has
// no inventory. Changes no row: no phase is claimed, no call is counted, no result is stored. `stop` is
// polled a few times a second; true ends the running step (kCancelled). REQUIRES: the objects are held, because no
// row names the objects that the steps make.
Result<Episode::GateEnd> run_gate_again(const World& world, const Planned& plan, const GateAgain& what,
                                        const std::function<bool()>& stop, const StepEnded& ended);

}  // namespace pawl::executor
