// Checkpoints and events of agents, by the real API on a real episode whose file is on the simulated disk. An
// independent record holds what was saved.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/api.h"
#include "sim/world.h"

namespace pawl::sim {

class Journal {
 public:
  // `path`: an existing file, because code other than SQLite looks for it on the real disk.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // One process of an agent loads its checkpoint and saves one. The id is the same in every process or, as
  // in some programs, differs. The process may be killed in between. Returns the events that the ledger must
  // have.
  std::vector<agent::Event> work(const agent::Context& context, const std::string& process, Dice& dice,
                                 WallTime now);

 private:
  // Loads `id` as `process`. Checks the response, and adds the event that must be reported.
  void load(agent::Api& api, const std::string& process, const std::string& id, WallTime now);
  void save(agent::Api& api, const std::string& process, const std::string& id, WallTime now);

  const std::string path_;
  std::map<std::string, std::string> saved_;  // payload by id
  std::int64_t told_seq_ = 0;
  std::vector<std::string> expected_;  // events of this process
  bool goes_on_ = false;               // from the save of another process
};

}  // namespace pawl::sim
