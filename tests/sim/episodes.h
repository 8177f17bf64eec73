// What agents told, without files: it was synced before the agent went on, and outlives every crash.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "executor/executor.h"

namespace pawl::sim {

class SimEpisodes final : public executor::Episodes {
 public:
  Result<agent::Told> told_since(const agent::EpisodeKey& key, std::int64_t seq) override;
  Result<agent::Spent> spent(const agent::EpisodeKey& key) override;
  Result<bool> can_go_on(const agent::EpisodeKey& key) override { return of(key).kept; }
  Result<bool> can_save(std::int64_t) override { return true; }
  void forget(const agent::EpisodeKey& key) override {
    of(key).forgotten = true;
    forgotten_[key.run_id].insert(key.episode_id);
  }

  // A call of a model; returns what the episode has spent so far.
  agent::Spent tell(const agent::EpisodeKey& key, const agent::Usage& usage, WallTime now);
  // The agent has kept something to go on from.
  void keep(const agent::EpisodeKey& key) { of(key).kept = true; }
  // Every call that was told in a run, by its id.
  const std::map<std::string, agent::Usage>& told(const std::string& run_id) const {
    return told_.at(run_id);
  }
  // Ids of episodes of a run.
  std::set<std::string> forgotten(const std::string& run_id) const {
    const auto found = forgotten_.find(run_id);
    return found == forgotten_.end() ? std::set<std::string>() : found->second;
  }
  void of_run(const std::string& run_id) { told_[run_id]; }

 private:
  struct Episode {
    std::vector<agent::UsageRow> usage;  // seq counts them from 1
    bool kept = false, forgotten = false;
  };
  Episode& of(const agent::EpisodeKey& key) {
    return episodes_[key.run_id + "/" + key.goal_id + "/" + key.episode_id];
  }

  std::map<std::string, Episode> episodes_;
  std::map<std::string, std::map<std::string, agent::Usage>> told_;
  std::map<std::string, std::set<std::string>> forgotten_;
};

}  // namespace pawl::sim
