// Puts an agent's requests for permissions to a person, by the API for agents (docs/agents.md). It runs in the sandbox.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/acp/client.h"
#include "agent/client.h"
#include "os/clock.h"

namespace pawl::agent::acp {

class People {
 public:
  // Asks the client's new questions, and looks for answers twice a second. A request of the API waits as long as
  // the supervisor takes for it.
  void attend(Client& client);

 private:
  // Asks, or looks for the answer: "" until there is one.
  Result<std::string> answer_to(std::string_view method, const std::string& key,
                                const std::string& body = {});
  // Tells the client of the answer, or of the error. False: there is no answer yet.
  static bool tell(Client& client, const std::string& key, const Result<std::string>& answer);

  std::unique_ptr<agent::Client> api_;
  std::vector<std::string> open_;  // keys of questions without an answer
  const os::SystemClock clock_;
  MonoTime looked_at_ = clock_.mono();
};

}  // namespace pawl::agent::acp
