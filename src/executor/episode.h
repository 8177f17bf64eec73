// One episode of an attempt, as the executor sees it: its results, its next step, its verdict. An attempt has
// one episode, or several with best_of (attempt.h). A detail of this room.
//
// Everything is derived from rows and objects. An episode that is loaded after a crash therefore makes the same
// decisions as before the crash.
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
#include "executor/from_host.h"
#include "executor/hooks.h"
#include "executor/looks.h"
#include "executor/recovery.h"
#include "executor/steps.h"
#include "gates/flaky.h"
#include "gates/gates.h"
#include "gates/policy/shadowing.h"
#include "gates/reading/missing_program.h"
#include "plan/plan.h"
#include "sandbox/spec.h"
#include "store/store.h"

namespace pawl::executor {

// The round in which an attempt that passed is judged again with other phases (joint.h).
struct Round {
  std::int64_t number = 0;          // from 1; 0: the attempt is not judged again
  std::vector<std::string> beside;  // the phases whose work its gates did not see before
};

// The reason that a person sees. Another attempt may need less memory.
inline constexpr const char* kNoMemory =
    "no memory is left to judge it: the work, or a report of it, is too large";

class Episode {
 public:
  // REQUIRES: claim and its plan outlive it; the objects are held.
  // `number`: from 1 with several episodes (best_of); 0 for an only episode.
  static Result<Episode> load(World world, const store::Claim& claim, const Planned& plan,
                              std::int64_t number, Round round = {});

  // Creates again the layers that gc removed because no row names them: layers that were merged or filtered
  // from others. REQUIRES, like all functions below: the objects are held, until a step is started or the attempt's
  // end is recorded.
  Status renew_layers();

  // The next step of the agent or the gates, or nullptr when the episode can be judged.
  Result<const PlannedStep*> next();
  // The next hook after the steps; nullptr: the attempt can be ended.
  Result<const PlannedStep*> next_hook() const;
  // The next step of the gates alone, whatever the result of the agent; nullptr when all gates are over.
  Result<const PlannedStep*> next_of_gates();
  const PlannedStep* step_at(std::int64_t index) const;

  const plan::Phase& phase() const { return *phase_; }
  std::int64_t number() const { return number_; }
  // The layer from which the agent's next execution continues; "" when no file was changed. No value: the execution
  // begins anew.
  const std::optional<std::string>& goes_on_from() const { return goes_on_from_; }
  void go_on_from(std::optional<std::string> layer) {
    goes_on_from_ = std::move(layer);
    goes_on_after_failure_ = false;
  }
  // The same for the work of the attempt before, which did not pass.
  void go_on_from_failed(std::optional<std::string> layer) {
    goes_on_from_ = std::move(layer);
    goes_on_after_failure_ = true;
  }

  const PlannedStep& agent() const { return steps_.front(); }
  const sandbox::SandboxRun& result(const PlannedStep& step) const { return results_.at(step.index); }
  bool has_result(const PlannedStep& step) const { return results_.contains(step.index); }

  // The specification of the step's sandbox. From now on the objects that the step sees are needed: see
  // objects_fit().
  Result<sandbox::SandboxSpec> spec_of(const PlannedStep& step, const Context& context);
  // The context and the specification of a step that begins now. No value: no memory is left to prepare it, and
  // the attempt has no next step. An agent's step has no work to judge yet: std::bad_alloc goes through then,
  // and a later process prepares the step again.
  struct Prepared {
    Context context;
    sandbox::SandboxSpec spec;
  };
  Result<std::optional<Prepared>> prepare(const PlannedStep& step);
  void look_beside() { looks_.begin(); }
  // Needs the objects of a step that another process started, and starts the look at them on another thread.
  // Where no memory is left for it, the attempt has no next step, as in prepare().
  Status look_at_objects_of(const PlannedStep& step);
  // All objects from which the attempt was loaded and that its steps see are on disk as they were stored.
  // REQUIRED before a result that follows from them is recorded, and before an agent or a hook is paid.
  // kForged: an object differs.
  Status objects_fit() { return looks_.end(); }
  // The files that `step` finds in /pawl. An agent gets the feedback and the evidence of the previous
  // attempt. A hook gets its question and the evidence of this attempt. A gate gets no files.
  Result<Context> context_of(const PlannedStep& step) const;

  // The results of gates on base since the last call, each with the key of all inputs that decide it. Key "": an
  // input changed while the result was made.
  struct FoundOnBase {
    std::string gate_id, key;
    gates::OnBase found;
  };
  std::vector<FoundOnBase> take_found_on_base() { return std::exchange(found_on_base_, {}); }

  void record(std::int64_t step_index, sandbox::SandboxRun run) { results_[step_index] = std::move(run); }
  // A hook's step that was lost for good: it counts as a response that is not understood.
  void give_up(const PlannedStep& hook) { given_up_.insert(hook.index); }

  // The recorded result of a gate that is over.
  struct GateEnd {
    bool passed = false;
    std::vector<gates::Signal> signals;
  };
  GateEnd gate_end(const std::string& gate_id) const;

  // The rank of this episode among the others, without its changed lines. REQUIRES: there is no next step, or
  // a step was lost.
  Result<EpisodeResult> worth(const std::optional<LostStep>& lost);
  // The lines that a diff of the agent's work adds or removes. No value: the work is too large to be
  // compared, and counts as the largest.
  Result<std::optional<std::int64_t>> changed_lines() const;
  // The layer with the work of its agent, without files that are not work; "" when the agent changed no file.
  const std::string& agent_layer() const { return agent_layer_; }
  // A signal for judge(): another phase changed the same paths meanwhile in another way.
  gates::Signal overlap_signal(const store::LayerRow& other) const;

  // `extra`: signals from outside the gates (a merge that overlaps). `lost`: the attempt ended without a
  // result.
  Result<store::AttemptEnd> judge(const std::vector<gates::Signal>& extra,
                                  const std::optional<LostStep>& lost);

 private:
  Episode(World world, const store::Claim& claim, const Planned& plan, std::int64_t number, Round round);
  Status stack_base();
  void need_results();             // the objects that the steps left
  std::string layer_left() const;  // the agent's layer, with files that the source ignores; "": none
  bool wrote_files() const;  // its agent wrote a file, even without a change; ignored files do not count
  bool takes_back() const;   // its agent wrote files as they were, after an attempt that changed some
  Status filter_agent_layer();
  Status after_agent();   // look_at_work() once the agent is over; without memory evidence is missing
  Status look_at_work();  // sets the agent's layer without protected paths, and the policy's signal
  Result<gates::Signal> policy_signal(const std::string& layer);
  gates::Shadows shadows(const std::string& layer, const std::vector<std::string>& below) const;
  // The folders to which the layer adds tests of Python; with "" when that cannot be read.
  std::set<std::string> folders_of_new_tests(const std::string& layer,
                                             const std::vector<std::string>& below) const;
  Status load_on_base();
  Status look();  // evaluates the results so far
  // Called in a handler of std::bad_alloc. The attempt then has no next step, and a person decides. It
  // rethrows where a test turns the isolation mechanism `memory` off.
  void end_without_memory();
  Status need_objects_of(const PlannedStep& step);
  std::optional<gates::OnBase> from_baseline(const plan::Gate& gate, bool again) const;
  // A second run of a gate on base shows which names move. kKnown: on_base_ has the results of both runs.
  enum class SecondRun { kNotNeeded, kAwaited, kKnown };
  Result<SecondRun> second_run(const plan::Gate& gate, const gates::GateFacts& facts);
  std::string base_key(const plan::Gate& gate, const FromHost& host) const;
  // As base_key(). "": the steps of the baseline saw other mounts than `host` has, so its result has no key.
  std::string key_of_baseline(const plan::Gate& gate, const FromHost& host, bool again) const;
  Status add_mounts(gates::AttemptFacts& to) const;  // the signal that they changed, if they did
  void add_base(gates::AttemptFacts& to) const;
  // Why no attempt can pass a step of a gate (gates::absent_still); "" otherwise.
  std::string absent_still(const PlannedStep& step, const gates::StepFacts& facts) const;
  // Why another attempt would end in the same way: the program of the agent is not in the sandbox, or does not take its
  // command line. "": neither shows.
  std::string refused_by_agent(const gates::StepFacts& facts) const;
  std::string inventories_hash() const;  // over all known results on base, by gate; "" without a result
  bool is_left_out(const PlannedStep& step, const gates::MissingProgram& program,
                   const std::string& path) const;
  void add_program(const PlannedStep& step, gates::StepFacts& to) const;  // for a step of a gate
  void add_searched(const PlannedStep& step, const gates::MissingProgram& program,
                    gates::StepFacts& to) const;
  bool agent_decides() const;  // by its work or its outcome: the gates are not run
  void add_withheld(const sandbox::SandboxRun& run, gates::StepFacts& facts) const;
  void add_refused(const PlannedStep& step, const sandbox::SandboxRun& run, gates::StepFacts& facts) const;
  gates::StepFacts facts_of(const PlannedStep& step, const sandbox::SandboxRun& run) const;
  // Adds output, reports and records to the facts of the outcome.
  void add_changed(const PlannedStep& step, const sandbox::SandboxRun& run, gates::StepFacts& to) const;
  void add_records(const PlannedStep& step, const sandbox::SandboxRun& run, gates::StepFacts& to) const;
  std::string said_error_of(const sandbox::SandboxRun& run) const;  // for StepFacts::said_error
  void add_stop_option(const PlannedStep& step, gates::StepFacts& to) const;
  std::string last_test_of(const PlannedStep& step, const sandbox::SandboxRun& run,
                           const std::string& output) const;
  std::vector<gates::ReportFacts> reports_of(const PlannedStep& step, const sandbox::SandboxRun& run) const;
  std::string failure_lines_of(const std::string& layer, const std::string& path) const;
  void add_refused_hosts(const sandbox::SandboxRun& run, gates::StepFacts& to) const;
  void add_trace(const sandbox::SandboxRun& run, gates::StepFacts& to) const;
  // No value: the run is not over. `rerun`: 0 for the gate's first run.
  std::optional<gates::GateFacts> gate_facts(const std::string& gate_id, std::int64_t rerun);
  // The gate's result. No value: a rerun follows.
  std::optional<gates::GateRun> after_reruns(const std::string& gate_id, const gates::GateFacts& first);
  // The run of a gate by which the attempt is judged: 0 for the first, otherwise the number of the rerun.
  std::int64_t run_that_counts(const std::string& gate_id) const;
  Status evaluate_gates();
  Result<bool> evaluate_gate(const std::string& gate_id);  // true when the gate is over
  std::vector<std::string> agent_environment(bool with_feedback) const;
  void add_agent(bool with_feedback, sandbox::SandboxSpec& to) const;
  // The work that an earlier execution of this step left. "": there is none, or the step begins anew.
  std::string own_layer_of(const PlannedStep& step) const;
  // The layers that the earlier steps of the same gate (or baseline) left, the newest on top.
  std::vector<std::string> left_before(const PlannedStep& step) const;
  void find_kept_work();
  std::string work_for(const PlannedStep& step) const;  // the agent's layer as the step sees it; "": none
  Result<std::vector<std::string>> layers_of(const PlannedStep& step) const;
  Result<std::vector<std::string>> layers_without_reports(const PlannedStep& step) const;
  // The repository has the state with which the agent began, or that a gate judges. The changes of the gate's earlier
  // steps are not in it: git shows them as changes.
  Status add_repository(const PlannedStep& step, sandbox::WorkspaceSpec& to);
  Json key_of_repository() const;
  const std::string& plan_folder_of(const PlannedStep& step) const;  // the id of its base
  sandbox::CopyIn plan_of(const PlannedStep& step) const;
  workspace::Workspaces::Sight sight_of(const std::string& gate_id) const;
  // The same, for a step after other steps of its gate. Those left the first `left` of `layers`.
  Result<workspace::Workspaces::Sight> sight_between(const std::string& gate_id,
                                                     const std::vector<std::string>& layers,
                                                     std::size_t left) const;
  // The paths of a step's layer that stand in for a part of a runner, where `below` is below the layer.
  Result<std::vector<std::string>> shadows_left(const std::string& layer,
                                                const std::vector<std::string>& below) const;
  // A decided attempt with the responses of its hooks so far.
  struct Judged {
    gates::AttemptFacts facts;
    gates::Verdict verdict;
    std::optional<store::Advice> doctor, replan;
  };
  Result<Judged> judged(const std::vector<gates::Signal>& extra, const std::optional<LostStep>& lost) const;
  HookFacts hook_facts(const Judged& judged) const;
  std::optional<store::Advice> advice_of(StepRole role) const;
  Evidence evidence() const;  // evidence of this attempt so far
  Result<Context> hook_context() const;
  std::string not_before(gates::Verdict::Kind kind, store::Action action) const;
  Result<gates::AttemptFacts> attempt_facts(const std::vector<gates::Signal>& extra,
                                            const std::optional<LostStep>& lost) const;
  Result<store::AttemptEnd> judged_end(const std::vector<gates::Signal>& extra,
                                       const std::optional<LostStep>& lost);

  World world_;
  const store::Claim* claim_;
  const plan::Common* plan_;
  const plan::Phase* phase_;
  std::int64_t number_;
  Round round_;
  PathRules sight_rules_;                     // for paths that gates see
  PathRules rules_;                           // for paths that the agent changes
  std::vector<std::string> protected_names_;  // names of files, protected in every folder; sorted
  std::vector<PlannedStep> steps_;
  Results results_;
  Looks looks_;
  std::vector<std::string> base_stack_;  // the accepted layers, merged to a few; topmost first
  std::optional<std::string> goes_on_from_;
  bool goes_on_after_failure_ = false;
  bool agent_seen_ = false;  // whether agent_layer_ to policy_signal_ are known
  std::string agent_layer_;
  std::optional<workspace::Workspaces::Work> ignored_;  // set when the agent left ignored files
  std::string gate_layer_;                              // the agent's layer without protected paths
  std::map<std::string, std::string> taken_layers_;     // gate_layer_ cut to a gate's take_only, by gate
  mutable std::map<std::string, std::vector<std::string>> shadows_left_;  // known results, by layer
  bool changed_nothing_ = false;                                          // no file, whatever its agent wrote
  workspace::Workspaces::Filtered filtered_;                              // how gate_layer_ was filtered
  std::optional<gates::Signal> policy_signal_;    // set with a policy, or when there is something to report
  Policy policy_;                                 // the policy of the plan, or the default
  std::map<std::string, gates::OnBase> on_base_;  // by gate, as far as it is known
  std::vector<FoundOnBase> found_on_base_;
  std::set<std::string> base_again_;            // gates whose verdict waits for a second run on base
  std::map<std::string, std::int64_t> reruns_;  // gates whose verdict waits for this rerun
  gates::UnloadedNames removed_;          // names that base could not load; the agent removed their files
  std::set<std::int64_t> known_failing_;  // steps that pass: their failing tests fail on base
  std::map<std::string, std::vector<gates::Signal>> gate_signals_;  // by gate, for gates that are over
  std::map<std::string, bool> gate_passed_;
  std::set<std::int64_t> given_up_;  // hooks without a response
  bool no_memory_ = false;           // no memory was left to judge it
};

// Episode::next(). Reports the results of gates on base. A usable result is stored for attempts that start from the
// same content. An unusable result is not stored: its cause may be fixed on this host, so the next attempt runs the
// gate again.
Result<const PlannedStep*> next_step_of(Episode& episode, const World& world, Observer& observer,
                                        const store::Claim& claim);

}  // namespace pawl::executor
