// The steps of an attempt, their order, and the next step: pure functions of the plan and of the results so
// far. A crash has no effect here: the same rows give the same next step.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gates/gates.h"
#include "plan/plan.h"
#include "sandbox/spec.h"
#include "store/rows.h"

namespace pawl::executor {

using store::kAgentGate;
using store::kRoundStride;
inline constexpr std::string_view kDoctorGate = "doctor", kReplanGate = "replan";

enum class StepRole {
  kAgent,
  kBaseline,  // a gate's step on base and accepted work, before the agent is paid
  kGate,
  kDoctor,  // after the verdict, when hooks.h asks for it
  kReplan,
};
inline bool is_hook(StepRole role) { return role == StepRole::kDoctor || role == StepRole::kReplan; }

struct PlannedStep {
  std::int64_t index = 0;  // step_index of the marker: its place in planned_steps()
  StepRole role = StepRole::kAgent;
  std::string gate_id;               // "agent" for the agent
  const plan::Step* step = nullptr;  // into the plan, which must outlive this
  bool last_of_gate = false;
  bool compared = false;     // kBaseline: the gate's signals are compared with its result
  bool again = false;        // kBaseline: the second run, which shows the names that move
  std::int64_t episode = 0;  // from 1 with several episodes (best_of); 0: an only episode, or a hook
  std::int64_t rerun = 0;    // kGate: from 1, the gate failed and runs again on the same content
  std::int64_t round = 0;    // from 1: the attempt passed, and is judged again with others' work
};

// The episodes of an attempt, by number: {0} for an only episode.
std::vector<std::int64_t> episodes_of(const plan::Phase& phase);

// All steps that an episode of the attempt could need, in this order:
// - the agent,
// - for each gate its baseline (when it compares signals with base) and its steps,
// - the plan's hooks, which the episodes share,
// - the baselines of the gates that compare no signals,
// - the second run of the baselines that are compared,
// - the reruns of the gates that may be flaky (`flaky_reruns`).
// The steps of an episode come after the steps of the previous episode: each has an index of its own. The order is
// fixed, so the indices of an attempt that an older version began stay valid.
std::vector<PlannedStep> planned_steps(const plan::Common& plan, const plan::Phase& phase,
                                       std::int64_t attempt, std::int64_t episode);
// Whether a signal of the gate is compared with the gate's result on base.
bool needs_inventory(const plan::Gate& gate);
// The evidence that a step gives to signals: the families of its reports, and "trace".
std::set<std::string, std::less<>> evidence_of(const plan::Step& step);

// <phase>.<gate>.<step>.attempt<N>, then .together<R> in a round and .episode<M> with several episodes. The name of
// the step ends with "@base" in a baseline, with "@base2" in its second run, and with "@rerun<N>" in a rerun of a
// gate.
std::string step_name(const PlannedStep& step);
std::string label_of(const std::string& phase_id, const PlannedStep& step, std::int64_t attempt);

// Whether entries that the step left and that cannot be stored may fail it.
bool minds_refused_entries(const PlannedStep& step);
// Whether a gate's step ended as its gate needs it (gates::step_held), so that a later step may run.
bool held(const PlannedStep& step, const sandbox::SandboxRun& run);

// Whether the attempt can't be judged because the step had no sandbox. A rerun may lack a sandbox: the first run says
// enough.
bool leaves_no_verdict(const PlannedStep& step, const sandbox::SandboxRun& run);

using Results = std::map<std::int64_t, sandbox::SandboxRun>;  // by step_index

struct Progress {
  const Results& results;
  // The known results on base, by gate: the baselines of these gates do not run again. While a known result is
  // unusable, no agent is started.
  const std::map<std::string, gates::OnBase>& on_base;
  // Steps (by index) that pass although tests failed, because of `known_failing`.
  const std::set<std::int64_t>& known_failing;
  bool agent_decides = false;  // its work or its outcome decides: the gates are not run
  // Whether a gate passed, for each gate whose steps are over.
  const std::map<std::string, bool>& gate_passed;
  std::set<std::string> base_again = {};            // gates whose verdict waits for a second run on base
  std::map<std::string, std::int64_t> reruns = {};  // gates whose verdict waits for this rerun
};

// The next step of the agent or a gate; nullptr when the attempt can be judged. Base comes first: each gate
// has run there, or its result is known, before the agent starts. After the agent only baselines that are
// compared still run.
const PlannedStep* next_step(std::span<const PlannedStep> steps, const Progress& progress);

}  // namespace pawl::executor
