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
  kBaseline,  // a gate's step on base alone: what tests there are, by name
  kGate,
  kDoctor,  // after the verdict, when hooks.h says so
  kReplan,
};
inline bool is_hook(StepRole role) { return role == StepRole::kDoctor || role == StepRole::kReplan; }

struct PlannedStep {
  std::int64_t index = 0;  // step_index of the marker: its place in planned_steps()
  StepRole role = StepRole::kAgent;
  std::string gate_id;               // "agent" for the agent
  const plan::Step* step = nullptr;  // into the plan, which must outlive this
  bool last_of_gate = false;
  std::int64_t episode = 0;  // of several (best_of), from 1; 0: the only one, or a hook
  std::int64_t round = 0;    // from 1: the attempt passed, and is judged again on what others changed
};

// What stands between the indices of two rounds: more than an attempt has steps.
constexpr std::int64_t kRoundStride = 1'000'000;

// The episodes of an attempt, by number: {0} for the only one.
std::vector<std::int64_t> episodes_of(const plan::Phase& phase);

// All steps that an episode of the attempt could need: the agent, then for each gate its baseline (when it
// requires tests and compares something with base) and its steps; then the plan's hooks, which the episodes
// share. The steps of one episode come after those of the one before: each has an index of its own.
std::vector<PlannedStep> planned_steps(const plan::Common& plan, const plan::Phase& phase,
                                       std::int64_t attempt, std::int64_t episode);
bool needs_inventory(const plan::Gate& gate);
// What a step gives signals: families of its reports, "trace".
std::set<std::string, std::less<>> evidence_of(const plan::Step& step);

// <phase>.<gate>.<step>.attempt<N>, and .episode<M> of several, .together<R> of a round; a baseline's step is
// "<step>@base".
std::string step_name(const PlannedStep& step);
std::string label_of(const std::string& phase_id, const PlannedStep& step, std::int64_t attempt);

// Whether a gate's step ended as its gate needs it (gates::step_held): a step after it may run.
bool held(const PlannedStep& step, const sandbox::SandboxRun& run);

using Results = std::map<std::int64_t, sandbox::SandboxRun>;  // by step_index

struct Progress {
  const Results& results;
  // Gates (by name) whose inventory is known: their baseline is not run (again).
  const std::map<std::string, gates::Inventories>& inventories;
  bool agent_decides = false;  // what the agent left or how it ended: the gates are not run
  // Whether a gate all of whose steps ran passed.
  const std::map<std::string, bool>& gate_passed;
};

// The next step of the agent or a gate, or nothing: the attempt can be judged.
const PlannedStep* next_step(std::span<const PlannedStep> steps, const Progress& progress);

}  // namespace pawl::executor
