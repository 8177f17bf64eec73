// HOME of agents: .pawl/homes/<run_id>.<attempt_id>/<episode_id>. A detail of this room.
//
// The folder of an attempt is for Pawl alone; a sandbox sees one folder in it. Beside each HOME are seals of the
// credentials that its agent had, because HOME may contain their values. No file has a value. A second file names the boot
// of the machine in which an agent used HOME last.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agent/server.h"
#include "base/error.h"
#include "secrets/redact.h"

namespace pawl::supervisor {

class Homes {  // thread-safe
 public:
  // `key`: as RunnerOptions::key.
  Homes(std::string pawl_folder, std::string key)
      : pawl_folder_(std::move(pawl_folder)), key_(std::move(key)) {}

  std::vector<std::string> seals_of(const secrets::Redactor::Values& credentials) const;
  // StepEnder::home_lacks().
  Result<std::string> lacks(const agent::EpisodeKey& key, const std::string& attempt_id,
                            const secrets::Redactor::Values& credentials) const;
  // StepEnder::hand_home_on().
  Result<std::string> hand_on(const std::string& run_id, const std::string& from_attempt_id,
                              const std::string& to_attempt_id,
                              const secrets::Redactor::Values& credentials) const;
  void forget(const std::string& run_id, const std::string& attempt_id) const;

 private:
  std::string folder_of(const std::string& run_id, const std::string& attempt_id) const;
  // Whether a seal is of no value in `credentials`.
  bool has_other(std::set<std::string> seals, const secrets::Redactor::Values& credentials) const;

  std::string pawl_folder_, key_;
};

// HOME of an agent's step. An earlier execution of the episode may have made it, and left files there. `fresh`: they are
// removed. Adds `seals`, of Homes::seals_of(), to those of HOME, durably. Names this boot as the last one that used it.
// REQUIRES: the caller holds the step's lock.
Result<std::string> make_home(const std::string& pawl_folder, const agent::Context& of, bool fresh,
                              const std::vector<std::string>& seals);

}  // namespace pawl::supervisor
