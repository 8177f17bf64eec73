// The events and usage that agents report. They are synced before the agent continues, and survive every
// crash.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/server.h"
#include "executor/executor.h"
#include "sim/journal.h"
#include "support/temp_folder.h"

namespace pawl::sim {

class SimEpisodes final : public executor::Journals {
 public:
  explicit SimEpisodes(std::uint64_t seed)
      : dice_(seed ^ 0x6a6f75726e616c), has_journals_(dice_.percent(10)) {}

  Result<agent::Reported> reported_since(const agent::EpisodeKey& key, std::int64_t seq) override;
  Result<agent::Spent> spent(const agent::EpisodeKey& key) override;
  Result<bool> can_go_on(const agent::EpisodeKey& key) override { return of(key).kept; }
  Result<bool> can_save(std::int64_t) override { return true; }
  void forget(const agent::EpisodeKey& key) override {
    of(key).forgotten = true;
    forgotten_[key.run_id].insert(key.episode_id);
  }

  // Lets one process of the agent load and save checkpoints; in most histories no journal exists.
  void work(const agent::Context& context, const std::string& process, WallTime now);
  // The recorded form of an event, as one text.
  static std::string words_of(const std::string& event, const std::string& at, const Json& details) {
    return event + " " + at + " " + canonical(details);
  }
  // All events that agents reported in a run.
  std::multiset<std::string> events(const std::string& run_id) const {
    const auto found = events_.find(run_id);
    return found == events_.end() ? std::multiset<std::string>() : found->second;
  }
  // Reports a call of a model. Returns what the episode has spent so far.
  agent::Spent tell(const agent::EpisodeKey& key, const agent::Usage& usage, WallTime now);
  // The same, of a report that is made again after a crash.
  void tell_once(const agent::EpisodeKey& key, const agent::Usage& usage, WallTime now) {
    if (!told_[key.run_id].contains(usage.id)) tell(key, usage, now);
  }
  // The agent has stored state from which it can continue.
  void keep(const agent::EpisodeKey& key) { of(key).kept = true; }
  // Every call that was reported in a run, by its id.
  const std::map<std::string, agent::Usage>& reported(const std::string& run_id) const {
    return told_.at(run_id);
  }
  // Ids of the episodes of a run whose data was forgotten.
  std::set<std::string> forgotten(const std::string& run_id) const {
    const auto found = forgotten_.find(run_id);
    return found == forgotten_.end() ? std::set<std::string>() : found->second;
  }
  void of_run(const std::string& run_id) { told_[run_id]; }

 private:
  struct Episode {
    std::vector<agent::UsageRow> usage;  // seq counts usage and events together, from 1
    std::vector<agent::Event> events;
    std::optional<Journal> journal;
    std::int64_t last_seq() const { return static_cast<std::int64_t>(usage.size() + events.size()); }
    bool kept = false, forgotten = false;
  };
  Episode& of(const agent::EpisodeKey& key) {
    return episodes_[key.run_id + "/" + key.goal_id + "/" + key.episode_id];
  }

  Dice dice_;  // separate, so that journals do not change the rest of the history
  const bool has_journals_;
  std::optional<testing::TempFolder> folder_;
  int journals_ = 0;  // number of files in it
  std::map<std::string, Episode> episodes_;
  std::map<std::string, std::map<std::string, agent::Usage>> told_;
  std::map<std::string, std::set<std::string>> forgotten_;
  std::map<std::string, std::multiset<std::string>> events_;
};

}  // namespace pawl::sim
