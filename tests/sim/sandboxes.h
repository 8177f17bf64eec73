// Steps without processes: each runs for a while of simulated time and ends as the dice decide. The
// supervisors belong to the world and not to an executor: they survive its crash, and only the dice kill
// them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/episodes.h"
#include "sim/homes.h"
#include "sim/kept.h"
#include "sim/world.h"
#include "store/store.h"
#include "supervisor/step_runner.h"

namespace pawl::sim {

constexpr std::int64_t kTokensOfCallMax = 50, kMicrosOfCallMax = 50;
constexpr std::int64_t kMayFailMost = 125;  // docs/plan-format.md: codes above it are the shell's own

struct GateStep {
  std::string gate_id, name;
  bool may_fail = false;
  bool known_failing = false;     // it writes a report, and its gate says `known_failing: base`
  std::int64_t flaky_reruns = 0;  // reruns of its gate
  bool flaky_passes = false;      // its gate says `flaky: pass`
};
using TestNames = std::set<std::string>;
// The failed tests in a report, by the id of what its step left.
TestNames failed_in(const std::string& copy_out);
using GatesOfPhases = std::map<std::string, std::vector<GateStep>>;  // by phase: its gates' steps

// The plan's caps for the agents of an attempt together.
struct AgentCaps {
  std::optional<std::int64_t> tokens, usd_micros;
  bool leave_some(const agent::Spent& spent) const {
    return (!tokens || spent.tokens < *tokens) && (!usd_micros || spent.usd_micros < *usd_micros);
  }
};
using CapsOfPhases = std::map<std::string, AgentCaps>;  // by phase; phases without caps have none

class SimSandboxes final : public supervisor::StepRunner {
 public:
  SimSandboxes(World& world, store::Store& store, SimEpisodes& episodes)
      : world_(world), store_(store), episodes_(episodes), homes_(world, store) {}

  Status start(const std::string& sandbox_run_id, const std::string& backend,
               const sandbox::SandboxSpec& spec, const std::vector<supervisor::ContextFile>& context,
               const std::optional<supervisor::AgentStep>& agent) override;
  Result<supervisor::Found> find(const std::string& sandbox_run_id) override;
  Status wait(const std::string& sandbox_run_id, const std::function<bool()>& stop) override;
  Result<sandbox::SandboxRun> collect(const std::string& sandbox_run_id,
                                      const std::string& spec_hash) override;
  Status abandon(const std::string& sandbox_run_id) override;
  Result<supervisor::Salvage> salvage(const std::string& sandbox_run_id,
                                      const std::vector<std::string>& probe,
                                      const secrets::Redactor::Values& credentials) override;
  Result<supervisor::KeptWork> keep_work(const std::string& sandbox_run_id,
                                         const secrets::Redactor::Values& credentials) override;
  Status report_usage(const supervisor::PrintedUsage& of) override;
  void forget(const std::string& sandbox_run_id) override;
  void forget_lost(const std::string& sandbox_run_id) override { forget(sandbox_run_id); }
  // No agent of the simulator has credentials. It says elsewhere whether HOME is there.
  Result<std::string> home_lacks(const agent::EpisodeKey&, const std::string&,
                                 const secrets::Redactor::Values&) override {
    return std::string();
  }
  Result<std::string> hand_home_on(const std::string&, const std::string& from, const std::string& to,
                                   const secrets::Redactor::Values&) override {
    return homes_.hand_on(from, to) ? std::string() : "home";
  }
  void forget_homes(const std::string&, const std::string& attempt_id) override { homes_.forget(attempt_id); }

  // Running steps are lost. Spooled results stay, because they were synced.
  void lose_power();
  // kill -9 of a running supervisor; false when none runs.
  bool kill_one();
  // Replaces the result in a spool by that of another spec.
  void damage_one();
  std::int64_t started() const { return started_; }
  // Labels of steps that still run although their watching executor lives and does not wait any more.
  std::vector<std::string> unwatched();
  // Ids of steps that ended by themselves, except agents that may continue.
  std::vector<std::string> ended() const;
  // Ids of executions of agents that print their use, and that were lost before they printed it.
  std::vector<std::string> unheard() const {
    std::vector<std::string> out;
    for (const auto& [id, step] : steps_)
      if (step.prints_usage && !step.ended) out.push_back(id);
    return out;
  }
  // Switches to a run; steps of other runs are over. Results on base stay known, by content.
  void of_run(std::string run_id, GatesOfPhases gates, CapsOfPhases agent_caps);
  void be_hopeless() { hopeless_ = true; }  // from now on no step of an agent or a gate succeeds
  // The tests that failed in any run of the gate on base with these layers.
  TestNames failing_on_base(std::vector<std::string> layers, const std::string& gate) const;
  // The layers that a step of this run saw, the topmost first; empty for a step that never started.
  std::vector<std::string> layers_of(const std::string& sandbox_run_id) const;
  // The provider refuses so many of the agents whose usage is read, from now on.
  void let_providers_refuse(std::int64_t percent) { refused_percent_ = percent; }
  // After a lost execution, and in the phases after a failed attempt, too.
  void let_agents_continue(bool continues, std::set<std::string> after_failures) {
    kept_.let_agents_continue(continues);
    homes_.of_run(run_id_, std::move(after_failures));
  }
  bool was_refused(const std::string& sandbox_run_id) const { return refused_.contains(sandbox_run_id); }
  // The output of a step, by its object; "" for another object.
  std::string output_in(const std::string& blob) const;
  // The response of a hook or the report of a step, by the layer that holds it.
  std::string answer_in(const std::string& layer) const;

 private:
  // A gate on base and the layers above it, in one attempt; and one of its steps.
  struct OnBase {
    std::pair<std::vector<std::string>, std::string> gate;  // layers, gate
    std::string attempt, step;
  };
  using Runs = std::map<std::string, sandbox::SandboxRun>;  // by step
  enum class State { kRunning, kSpooled, kGone };
  struct Step {
    State state = State::kRunning;
    std::int64_t ends_at_micros = 0;
    std::string spec_hash, label;
    std::string boot;                 // the boot of its start
    std::vector<std::string> layers;  // its workspace's, without an earlier execution's own layer
    sandbox::SandboxRun run;
    std::optional<OnBase> on_base;
    std::string watcher;  // the executor that started it, or that waits for it since
    bool prints_usage = false;
    bool abandoned = false;
    bool may_go_on = false;  // an agent that was ended in the middle of its work
    bool ended = false;      // by itself: its result could be collected
    bool forgotten = false;
  };
  std::optional<OnBase> base_step(const sandbox::SandboxSpec& spec) const;
  // Whether all steps of the gate ran, and their results show that it can judge work.
  bool is_usable(const std::string& phase, const std::string& gate, const Runs& runs) const;
  void check_base(const std::string& phase, const std::vector<std::string>& layers) const;
  // Null: a step of an agent, of a hook, or of a gate that the phase does not have.
  const GateStep* planned_step(const std::string& label) const;
  // The step ran some tests: sets its exit code and its report.
  void run_tests(sandbox::SandboxRun& run, bool on_base);
  sandbox::SandboxRun outcome_of(const std::string& id, const sandbox::SandboxSpec& spec);
  // Plays all of the agent's actions at once, before any caller sees the step: it loads and saves
  // checkpoints, and calls models until its cap is reached.
  void call_models(const agent::Context& reported, Step& step);
  void perhaps_refuse(const agent::Context& reported, Step& step);
  void settle(Step& step) const;
  // A step of a round must see all accepted layers.
  void check_together(const store::StepRow& marker, const sandbox::SandboxSpec& spec) const;
  // Whether an earlier episode of the attempt has passed, or waits for a person: then this one may be ended.
  bool is_decided_before(const store::StepRow& marker) const;
  std::optional<store::StepRow> marker_of(const std::string& id, const std::string& label) const;

  World& world_;
  store::Store& store_;
  SimEpisodes& episodes_;
  std::string run_id_;
  GatesOfPhases gates_;
  CapsOfPhases agent_caps_;
  using GateOnBase = std::pair<std::vector<std::string>, std::string>;  // layers, gate
  std::map<GateOnBase, std::map<std::string, Runs>> ran_on_base_;       // by attempt
  std::set<GateOnBase> usable_on_base_;
  std::map<std::string, Step> steps_;
  std::map<std::string, std::string> answers_;
  std::map<std::string, std::string> label_of_episode_, episode_of_label_;  // only agents
  KeptWorks kept_;
  SimHomes homes_;
  std::set<std::string> refused_;  // sandbox_run_ids of agents
  std::int64_t refused_percent_ = 0;
  std::int64_t started_ = 0;
  bool hopeless_ = false;
};

}  // namespace pawl::sim
