// What agents keep and are told, by the real API on a real episode, whose file lies on the simulated disk. A
// witness knows what was saved.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/api.h"
#include "sim/world.h"

namespace pawl::sim {

class Journal {
 public:
  // `path`: of a file that is there, since others than SQLite ask the real disk for it.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // One process of an agent looks for what it kept and saves, under an id that is the same in every process
  // or, as some programs have it, is not. It may be killed in between. Returns what its rows are to say.
  std::vector<agent::Event> work(const agent::Context& context, const std::string& process, Dice& dice,
                                 WallTime now);

 private:
  // What `process` gets when it loads `id`, and what is told of it.
  void load(agent::Api& api, const std::string& process, const std::string& id, WallTime now);
  void save(agent::Api& api, const std::string& process, const std::string& id, WallTime now);

  const std::string path_;
  std::map<std::string, std::string> saved_;  // payload by id
  std::int64_t told_seq_ = 0;
  std::vector<std::string> expected_;  // events of this process
  bool goes_on_ = false;               // from what another process saved
};

}  // namespace pawl::sim
