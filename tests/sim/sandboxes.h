// Steps without processes: each runs for a while of simulated time and ends as the dice say. The supervisors
// live in the world, not in an executor: they go on when it crashes, and are killed by nobody but the dice.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/client.h"
#include "sim/episodes.h"
#include "sim/world.h"
#include "store/store.h"

namespace pawl::sim {

constexpr std::int64_t kTokensOfCallMax = 50, kMicrosOfCallMax = 50;
constexpr std::int64_t kMayFailMost = 125;  // docs/plan-format.md: codes above it are the shell's own

struct GateStep {
  std::string gate_id, name;
  bool may_fail = false;
};
using GatesOfPhases = std::map<std::string, std::vector<GateStep>>;  // by phase: all that its gates need

// What the agents of an attempt may spend together, by the plan.
struct AgentCaps {
  std::optional<std::int64_t> tokens, usd_micros;
};
using CapsOfPhases = std::map<std::string, AgentCaps>;  // by phase, of those that have any

class SimSandboxes final : public sandbox::SandboxClient {
 public:
  SimSandboxes(World& world, store::Store& store, SimEpisodes& episodes)
      : world_(world), store_(store), episodes_(episodes) {}

  Status start(const std::string& sandbox_run_id, const sandbox::SandboxSpec& spec,
               const std::vector<sandbox::ContextFile>& context, const std::string& agent) override;
  Result<sandbox::Found> find(const std::string& sandbox_run_id) override;
  Status wait(const std::string& sandbox_run_id, const std::function<bool()>& stop) override;
  Result<sandbox::SandboxRun> collect(const std::string& sandbox_run_id,
                                      const std::string& spec_hash) override;
  Status abandon(const std::string& sandbox_run_id) override;
  Result<sandbox::Salvage> salvage(const std::string& sandbox_run_id,
                                   const std::vector<std::string>& probe) override;
  void forget(const std::string& sandbox_run_id) override;
  void forget_lost(const std::string& sandbox_run_id) override { forget(sandbox_run_id); }
  Result<sandbox::Health> health() override { return sandbox::Health{}; }

  // What runs is gone; a result that is spooled was synced first.
  void lose_power();
  // kill -9 of a supervisor that runs; false when none does.
  bool kill_one();
  // A spool that holds what was not asked for.
  void damage_one();
  std::int64_t started() const { return started_; }
  // Labels of steps that run although the executor that watched them lives and waits no more.
  std::vector<std::string> unwatched();
  // Ids of steps that ended by themselves, but for agents that may go on from where they were.
  std::vector<std::string> ended() const;
  // From now on; what was of another run is over. What ran on base is known on, by its content.
  void of_run(std::string run_id, GatesOfPhases gates, CapsOfPhases agent_caps);
  void be_hopeless() { hopeless_ = true; }  // from now on no step of an agent or a gate succeeds
  // The answer that a hook gave, by the layer that holds it.
  std::string answer_in(const std::string& layer) const;

 private:
  // A gate on base and the layers above it, in one attempt; and its step.
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
    sandbox::SandboxRun run;
    std::optional<OnBase> on_base;
    std::string watcher;  // the executor that started it, or waits for it since
    bool abandoned = false;
    bool may_go_on = false;  // an agent that was ended in the middle of its work
    bool ended = false;      // by itself: its result was there to be had
  };
  std::optional<OnBase> base_step(const sandbox::SandboxSpec& spec) const;
  // Whether the steps of the gate ran, and say that it can judge work.
  bool is_usable(const std::string& phase, const std::string& gate, const Runs& runs) const;
  void check_base(const std::string& phase, const std::vector<std::string>& layers) const;
  sandbox::SandboxRun outcome_of(const std::string& id, const sandbox::SandboxSpec& spec);
  // What the agent does all at once, before anybody can see it: what it looks for and saves, and calls of a
  // model until it may spend no more.
  void call_models(const std::string& context, Step& step);
  void settle(Step& step) const;
  // Whether another episode of the attempt has passed, or is a person's to look at: then this one may be
  // ended.
  // A step of a round works on all that is accepted.
  void check_together(const store::StepRow& marker, const sandbox::SandboxSpec& spec) const;
  bool is_decided_before(const store::StepRow& marker) const;
  std::optional<store::StepRow> marker_of(const std::string& id, const std::string& label) const;

  World& world_;
  store::Store& store_;
  SimEpisodes& episodes_;
  std::string run_id_;
  GatesOfPhases gates_;
  CapsOfPhases agent_caps_;
  std::map<std::pair<std::vector<std::string>, std::string>, std::map<std::string, Runs>> ran_on_base_;
  std::map<std::string, Step> steps_;
  std::map<std::string, std::string> answers_;
  std::map<std::string, std::string> label_of_episode_, episode_of_label_;  // of agents
  std::int64_t started_ = 0;
  bool hopeless_ = false;
};

}  // namespace pawl::sim
