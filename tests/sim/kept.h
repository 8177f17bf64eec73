// The work that executions of agents leave, and that the next ones must go on from (`resume: continue`,
// `on_retry: continue`).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/spec.h"
#include "store/rows.h"
#include "supervisor/step_runner.h"

namespace pawl::sim {

class KeptWorks {
 public:
  // Whether the plan of the run says so.
  void let_agents_continue(bool continues) { continues_ = continues; }
  // The newest answer counts: a crash may lose what followed from an earlier one.
  void note(const std::string& sandbox_run_id, supervisor::KeptWork kept) {
    kept_[sandbox_run_id] = std::move(kept);
  }
  void note_result(const std::string& sandbox_run_id, const std::string& layer) {
    note(sandbox_run_id, {.layer = layer, .missing = {}});
  }
  using Layer = std::optional<std::string>;
  // An agent starts under `marker`. `steps`: all of its phase. `first`: the work that the first execution of its attempt had to
  // go on from.
  void check_start(const std::vector<store::StepRow>& steps, const store::StepRow& marker,
                   const sandbox::SandboxSpec& spec, const Layer& first) const;

 private:
  // The work that an execution may go on from. More than one: only the executor knows whether the machine went down since the
  // marker of the one before, which never began.
  std::vector<Layer> left_before(const std::vector<store::StepRow>& steps, const store::StepRow& marker,
                                 const Layer& first) const;

  bool continues_ = false;
  std::map<std::string, supervisor::KeptWork> kept_;
};

}  // namespace pawl::sim
