// One attempt as the executor sees it, or one of its episodes: which results it has, what comes next, what it
// is worth. A detail of this room.
//
// Everything is derived from rows and objects, so that an attempt loaded after a crash decides what the one
// before would have decided.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "executor/context.h"
#include "executor/episode_choice.h"
#include "executor/executor.h"
#include "executor/hooks.h"
#include "executor/looks.h"
#include "executor/steps.h"
#include "gates/gates.h"
#include "gates/policy/shadowing.h"
#include "gates/reading/missing_program.h"
#include "plan/plan.h"
#include "sandbox/spec.h"
#include "store/store.h"

namespace pawl::executor {

// How an attempt ended early, without results: a signal of the kind of the step that was lost.
struct LostStep {
  std::string gate_id;
  std::string outcome;  // lost | crash_loop | escalated
  bool escalate = false;
};

// Of an attempt that passed and is judged again with others (joint.h).
struct Round {
  std::int64_t number = 0;          // from 1; 0: it is not
  std::vector<std::string> beside;  // the phases whose work its gates did not see before
};

// Another attempt may need less, and a person sees why.
inline constexpr const char* kNoMemory =
    "no memory is left to judge it: the work, or a report of it, is too large";

class Attempt {
 public:
  // REQUIRES: claim and its plan outlive it; the objects are held.
  // `episode`: of several (best_of), from 1; 0 for the only one.
  static Result<Attempt> load(World world, const store::Claim& claim, const Planned& plan,
                              std::int64_t episode, Round round = {});

  // Makes again what gc took of what no row names: layers that others are merged or filtered to. REQUIRES,
  // like all that follows until a step is started or the attempt's end is recorded: the objects are held.
  Status renew_layers();

  // The next step of the agent or the gates, or nullptr when it can be judged.
  Result<const PlannedStep*> next();
  // Then the next hook, or nullptr when the attempt can be ended.
  Result<const PlannedStep*> next_hook() const;
  // The next step of its gates alone, whatever became of the agent; nullptr when they are over.
  Result<const PlannedStep*> next_of_gates();
  const PlannedStep* step_at(std::int64_t index) const;

  const plan::Phase& phase() const { return *phase_; }
  std::int64_t episode() const { return episode_; }
  const PlannedStep& agent() const { return steps_.front(); }
  const sandbox::SandboxRun& result(const PlannedStep& step) const { return results_.at(step.index); }
  bool has_result(const PlannedStep& step) const { return results_.contains(step.index); }

  // The objects that the step is to see are needed from now on: see objects_fit().
  Result<sandbox::SandboxSpec> spec_of(const PlannedStep& step, const Context& context);
  void look_beside() { looks_.begin(); }
  // Needs those of a step that another process started, and looks at them beside the caller.
  Status look_at_objects_of(const PlannedStep& step);
  // All that it was loaded from and that its steps see is on disk as it was kept. REQUIRED before anything
  // that follows from it is recorded, and before an agent or a hook is paid. kForged: something is not.
  Status objects_fit() { return looks_.end(); }
  // What `step` finds in /pawl: an agent the feedback and evidence of the previous attempt, a hook its
  // question and the evidence of this one, a gate nothing.
  Result<Context> context_of(const PlannedStep& step) const;

  // What gates found on base since the last call, and the key of what decides it.
  struct FoundOnBase {
    std::string gate_id, key;
    gates::OnBase found;
  };
  std::vector<FoundOnBase> take_found_on_base() { return std::exchange(found_on_base_, {}); }

  void record(std::int64_t step_index, sandbox::SandboxRun run) { results_[step_index] = std::move(run); }
  // A hook's step that was lost for good: an answer that is none.
  void give_up(const PlannedStep& hook) { given_up_.insert(hook.index); }

  // What a gate says that is over, as it is written down.
  struct GateEnd {
    bool passed = false;
    std::vector<gates::Signal> signals;
  };
  GateEnd gate_end(const std::string& gate_id) const;

  // What it is worth beside the other episodes, without its changed lines. REQUIRES: there is no next step,
  // or it was lost.
  Result<EpisodeResult> worth(const std::optional<LostStep>& lost);
  // By its agent: lines that a diff adds or removes. Nothing: it is too large to be compared, and counts as
  // the largest.
  Result<std::optional<std::int64_t>> changed_lines() const;
  // The work of its agent, without files that are no work; "" when it changed nothing.
  const std::string& agent_layer() const { return agent_layer_; }
  // What it changed was changed meanwhile in another way: for judge().
  gates::Signal overlap_signal(const store::LayerRow& other) const;

  // `extra`: signals from outside the gates (a merge that overlaps). `lost`: the attempt ended without a
  // result.
  Result<store::AttemptEnd> judge(const std::vector<gates::Signal>& extra,
                                  const std::optional<LostStep>& lost);

 private:
  Attempt(World world, const store::Claim& claim, const Planned& plan, std::int64_t episode, Round round);
  Status stack_base();
  void need_results();             // what the steps left
  std::string layer_left() const;  // by the agent, with all that the source ignores; "" for nothing
  bool wrote_files() const;        // its agent: files that it left as they were count, ignored ones do not
  Status filter_agent_layer();
  Status after_agent();   // look_at_work(), once there is some; without memory for it evidence is missing
  Status look_at_work();  // the agent's layer, without protected paths, and what the policy says to it
  Result<gates::Signal> policy_signal(const std::string& layer);
  gates::Shadows shadows() const;
  Status load_on_base();
  Status look();  // at what the results so far say
  // Called where std::bad_alloc is caught, which is thrown again in a test that wants it: the attempt has no
  // next step, and a person decides.
  void end_without_memory();
  std::optional<gates::OnBase> from_baseline(const plan::Gate& gate, bool again) const;
  // A second run of a gate on base, to see which names move. kKnown: on_base_ has what both runs found.
  enum class SecondRun { kNotNeeded, kAwaited, kKnown };
  Result<SecondRun> second_run(const plan::Gate& gate, const gates::GateFacts& facts);
  std::string base_key(const plan::Gate& gate) const;
  void add_base(gates::AttemptFacts& to) const;
  std::string inventories_hash() const;  // of all that is known of base, by gate; "" when nothing is
  bool is_left_out(const PlannedStep& step, const gates::MissingProgram& program,
                   const std::string& path) const;
  void add_program(const PlannedStep& step, gates::StepFacts& to) const;  // of a baseline's
  bool agent_decides() const;  // what the agent left or how it ended: the gates are not run
  void add_refused(const PlannedStep& step, const sandbox::SandboxRun& run, gates::StepFacts& facts) const;
  gates::StepFacts facts_of(const PlannedStep& step, const sandbox::SandboxRun& run) const;
  // Beside how it ended: its output, reports and records.
  void add_records(const PlannedStep& step, const sandbox::SandboxRun& run, gates::StepFacts& to) const;
  std::string last_test_of(const PlannedStep& step, const sandbox::SandboxRun& run,
                           const std::string& output) const;
  std::vector<gates::ReportFacts> reports_of(const PlannedStep& step, const sandbox::SandboxRun& run) const;
  std::string told_by(const std::string& layer, const std::string& path) const;
  void add_refused_hosts(const sandbox::SandboxRun& run, gates::StepFacts& to) const;
  void add_trace(const sandbox::SandboxRun& run, gates::StepFacts& to) const;
  std::optional<gates::GateFacts> gate_facts(const std::string& gate_id);
  Status evaluate_gates();
  Result<bool> evaluate_gate(const std::string& gate_id);  // whether it is over
  std::vector<std::string> agent_environment(bool with_feedback) const;
  // What the earlier steps of the same gate (or baseline) left, the newest on top.
  std::vector<std::string> left_before(const PlannedStep& step) const;
  Result<std::vector<std::string>> layers_of(const PlannedStep& step) const;
  const std::string& plan_folder_of(const PlannedStep& step) const;  // its id
  sandbox::CopyIn plan_of(const PlannedStep& step) const;
  workspace::Workspaces::Sight sight_of(const std::string& gate_id) const;
  // A decided attempt with the answers of its hooks so far.
  struct Judged {
    gates::AttemptFacts facts;
    gates::Verdict verdict;
    std::optional<store::Advice> doctor, replan;
  };
  Result<Judged> judged(const std::vector<gates::Signal>& extra, const std::optional<LostStep>& lost) const;
  HookFacts hook_facts(const Judged& judged) const;
  std::optional<store::Advice> advice_of(StepRole role) const;
  Evidence evidence() const;  // of this attempt, so far
  Result<Context> hook_context() const;
  std::string not_before(const store::AttemptEnd& end) const;
  Result<gates::AttemptFacts> attempt_facts(const std::vector<gates::Signal>& extra,
                                            const std::optional<LostStep>& lost) const;
  Result<store::AttemptEnd> judged_end(const std::vector<gates::Signal>& extra,
                                       const std::optional<LostStep>& lost);

  World world_;
  const store::Claim* claim_;
  const plan::Common* plan_;
  const plan::Phase* phase_;
  std::int64_t episode_;
  Round round_;
  PathRules sight_rules_;  // on what gates see of it
  PathRules rules_;        // on what the agent changes
  std::vector<PlannedStep> steps_;
  Results results_;
  Looks looks_;
  std::vector<std::string> base_stack_;  // the accepted layers, merged to a few; topmost first
  bool agent_seen_ = false;              // whether those below, to policy_signal_, are known
  std::string agent_layer_;
  std::optional<workspace::Workspaces::Work> ignored_;  // when a part of what the agent left is no work
  std::string gate_layer_;                              // the agent's layer without protected paths
  std::map<std::string, std::string> taken_layers_;     // of it, by gate, where one takes a part only
  bool changed_nothing_ = false;                        // no file, whatever its agent wrote
  workspace::Workspaces::Filtered filtered_;            // to gate_layer_
  std::optional<gates::Signal> policy_signal_;  // of a plan with a policy, or when there is something to tell
  Policy policy_;                               // of the plan, else the default one
  std::map<std::string, gates::OnBase> on_base_;  // by gate, as far as it is known
  std::vector<FoundOnBase> found_on_base_;
  std::set<std::string> base_again_;  // gates whose verdict waits for a second run on base
  gates::UnloadedNames removed_;  // of what base could not load: those of which the agent took a file away
  std::set<std::int64_t> known_failing_;  // steps that hold although tests failed, which fail on base, too
  std::map<std::string, std::vector<gates::Signal>> gate_signals_;  // of gates that are over
  std::map<std::string, bool> gate_passed_;
  std::set<std::int64_t> given_up_;  // hooks without an answer
  bool no_memory_ = false;           // to judge it
};

// Attempt::next(). What gates found on base is told, and kept for whoever starts from the same content, when
// it is of use: what is not may be mended on this host, and is looked for again.
Result<const PlannedStep*> next_step_of(Attempt& attempt, const World& world, Observer& observer,
                                        const store::Claim& claim);

}  // namespace pawl::executor
