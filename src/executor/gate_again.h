// One gate of an attempt once more, on what the attempt's agent left: to see whether it is the work or the
// gate that changes.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "executor/attempt.h"
#include "executor/executor.h"
#include "plan/plan.h"
#include "store/store.h"

namespace pawl::executor {

struct GateAgain {
  store::RunRow run;
  store::PhaseRow phase;
  store::AttemptRow attempt;
  store::StepRow agent;  // the attempt's, done
  std::string gate_id;   // one of the phase's
};

// Called when a step ended.
using StepEnded = std::function<void(const std::string& label, const sandbox::SandboxRun& run)>;

// Runs the steps with the specs that the attempt gave them, a baseline first where the store has no
// inventory, and changes no row: nothing is claimed, counted or kept of it. `stop` is asked a few times a
// second; true ends what runs (kCancelled). REQUIRES: the objects are held: no row names what the steps make.
Result<Attempt::GateEnd> run_gate_again(const World& world, const Planned& plan, const GateAgain& what,
                                        const std::function<bool()>& stop, const StepEnded& ended);

}  // namespace pawl::executor
