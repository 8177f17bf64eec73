// The World of an executor for one state folder of this machine: sandboxes under supervisors, the system's clock and
// randomness. No other place makes a World of these.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/executor.h"
#include "executor/state.h"
#include "secrets/redact.h"
#include "supervisor/step_runner.h"
#include "workspace/object_store.h"

namespace pawl::executor {

// Owns the objects of a World. For one thread, like the state.
class OpenWorld {
 public:
  // Steps use the supervisor's program beside this one. `state` must outlive the result. `hidden`: folders that
  // no step sees. kNotFound: the program is not there.
  static Result<std::unique_ptr<OpenWorld>> open(const State& state, std::vector<std::string> hidden = {});
  // Valid as long as this object.
  World world() {
    return {*state_.store, *sandboxes_, *sandboxes_, *objects_, clock_, random_, *redactor_, *journals_};
  }

 private:
  explicit OpenWorld(const State& state) : state_(state) {}

  const State& state_;
  std::unique_ptr<supervisor::StepRunner> sandboxes_;
  std::unique_ptr<workspace::ObjectStore> objects_;
  std::unique_ptr<secrets::Redactor> redactor_;
  std::unique_ptr<Journals> journals_;
  os::SystemClock clock_;
  os::SystemRandom random_;
};

// Ends the agents of steps that operators ended, and records the reports until their end (reported.h).
Status settle_ended_steps(const State& state);
// The same, and removes HOME of all attempts of `phases`, which operators have ended.
Status end_work_of(const State& state, const std::string& run_id, const std::vector<std::string>& phases);

}  // namespace pawl::executor
