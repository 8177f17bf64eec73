// HOME of agents: .pawl/homes/<run_id>.<attempt_id>/<episode_id>. A detail of this room.
//
// The folder of an attempt is for Pawl alone; a sandbox sees one folder in it. It also has seals of the credentials
// that its agents had, because HOME may contain their values.
#pragma once

#include <string>

#include "base/error.h"
#include "secrets/redact.h"

namespace pawl::supervisor {

class Homes {  // thread-safe
 public:
  // `key`: as RunnerOptions::key.
  Homes(std::string pawl_folder, std::string key)
      : pawl_folder_(std::move(pawl_folder)), key_(std::move(key)) {}

  // Adds to the seals of the attempt. No file has a value.
  Status note(const std::string& run_id, const std::string& attempt_id,
              const secrets::Redactor::Values& credentials) const;
  // StepEnder::hand_home_on().
  Result<std::string> hand_on(const std::string& run_id, const std::string& from_attempt_id,
                              const std::string& to_attempt_id,
                              const secrets::Redactor::Values& credentials) const;
  void forget(const std::string& run_id, const std::string& attempt_id) const;

 private:
  std::string folder_of(const std::string& run_id, const std::string& attempt_id) const;
  std::string seal_of(const std::string& name, const std::string& value) const;

  std::string pawl_folder_, key_;
};

}  // namespace pawl::supervisor
