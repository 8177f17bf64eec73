// Which steps an attempt has, in which order, and which comes next: pure functions of the plan and of the
// results so far. A crash changes nothing here: the same rows give the same next step.
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
inline constexpr std::string_view kDoctorGate = "doctor", kReplanGate = "replan";

enum class StepRole {
  kAgent,
  kBaseline,  // a gate's step on base and what was accepted since, before the agent is paid
  kGate,
  kDoctor,  // after the verdict, when hooks.h says so
  kReplan,
};
inline bool is_hook(StepRole role) { return role == StepRole::kDoctor || role == StepRole::kReplan; }
// Whether a step of this role that is lost may have done what can't be done once more.
inline bool loses_work(StepRole role) { return role == StepRole::kAgent || role == StepRole::kGate; }

struct PlannedStep {
  std::int64_t index = 0;  // step_index of the marker: its place in planned_steps()
  StepRole role = StepRole::kAgent;
  std::string gate_id;               // "agent" for the agent
  const plan::Step* step = nullptr;  // into the plan, which must outlive this
  bool last_of_gate = false;
  bool compared = false;     // of kBaseline: signals of the gate are compared with what it finds
  bool again = false;        // of kBaseline: the second run, which shows the names that move
  std::int64_t episode = 0;  // of several (best_of), from 1; 0: the only one, or a hook
  std::int64_t round = 0;    // from 1: the attempt passed, and is judged again on what others changed
};

// What stands between the indices of two rounds: more than an attempt has steps.
constexpr std::int64_t kRoundStride = 1'000'000;

// The episodes of an attempt, by number: {0} for the only one.
std::vector<std::int64_t> episodes_of(const plan::Phase& phase);

// All steps that an episode of the attempt could need: the agent, then for each gate its baseline (when it
// compares something with base) and its steps; then the plan's hooks, which the episodes share; then the
// baselines of the gates that compare nothing; then the second run of those that compare something. The steps
// of one episode come after those of the one before: each has an index of its own, and an attempt that an
// older version began keeps those it has.
std::vector<PlannedStep> planned_steps(const plan::Common& plan, const plan::Phase& phase,
                                       std::int64_t attempt, std::int64_t episode);
bool needs_inventory(const plan::Gate& gate);
// What a step gives signals: families of its reports, "trace".
std::set<std::string, std::less<>> evidence_of(const plan::Step& step);

// <phase>.<gate>.<step>.attempt<N>, and .episode<M> of several, .together<R> of a round; a baseline's step is
// "<step>@base", that of the second run "<step>@base2".
std::string step_name(const PlannedStep& step);
std::string label_of(const std::string& phase_id, const PlannedStep& step, std::int64_t attempt);

// Whether entries that it left and that can't be kept may fail it.
bool minds_refused_entries(const PlannedStep& step);
// Whether a gate's step ended as its gate needs it (gates::step_held): a step after it may run.
bool held(const PlannedStep& step, const sandbox::SandboxRun& run);

using Results = std::map<std::int64_t, sandbox::SandboxRun>;  // by step_index

struct Progress {
  const Results& results;
  // Of the gates (by name) that are known on base: their baseline is not run (again). With one that is of no
  // use there, no agent is started.
  const std::map<std::string, gates::OnBase>& on_base;
  // Steps (by index) that hold although tests failed: those of `known_failing`.
  const std::set<std::int64_t>& known_failing;
  bool agent_decides = false;  // what the agent left or how it ended: the gates are not run
  // Whether a gate all of whose steps ran passed.
  const std::map<std::string, bool>& gate_passed;
  std::set<std::string> base_again = {};  // gates whose verdict waits for a second run on base
};

// The next step of the agent or a gate, or nothing: the attempt can be judged. Base comes first: each gate
// has run there, or is known, before the agent starts. After the agent only what is compared is asked of
// base.
const PlannedStep* next_step(std::span<const PlannedStep> steps, const Progress& progress);

}  // namespace pawl::executor
