// Puts an agent's requests for permissions to a person, by the API for agents (docs/agents.md). It runs in the sandbox.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/acp/client.h"
#include "agent/client.h"
#include "os/clock.h"

namespace pawl::agent::acp {

class People {
 public:
  // Asks the client's new questions at once, and looks for answers twice a second. A request of the API waits as long
  // as the supervisor takes for it, or until a signal is caught.
  void attend(Client& client);

 private:
  struct Open {
    Question question;
    bool is_asked = false;
    std::optional<MonoTime> fails_since = {};  // the API refuses for now, or cannot be reached
  };
  // Whether the client has its response.
  bool is_over(Client& client, Open& open);
  // "" until there is an answer.
  Result<std::string> answer_to(const Open& open);

  std::unique_ptr<agent::Client> api_;
  std::vector<Open> open_;
  const os::SystemClock clock_;
  MonoTime looked_at_ = clock_.mono();
};

}  // namespace pawl::agent::acp
