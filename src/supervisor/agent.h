// The socket of an agent's step, while it runs. A detail of this room.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include "agent/server.h"
#include "base/error.h"
#include "supervisor/spool.h"

namespace pawl::supervisor {

class AgentSocket {
 public:
  // Of a job without an agent: one that serves nothing. `on_log` is called from another thread.
  static Result<AgentSocket> open(const Spool& spool, const Job& job,
                                  std::function<void(std::string_view)> on_log);

  // A cap of what it may spend is reached: the step is to be ended.
  bool cap_reached() const { return cap_reached_ && *cap_reached_; }
  // Answers what has arrived, then nothing more. REQUIRES: everything in the sandbox is dead.
  void close() { server_.reset(); }

 private:
  std::unique_ptr<std::atomic<bool>> cap_reached_;
  std::unique_ptr<agent::Server> server_;  // after what its thread uses: destroyed first
};

}  // namespace pawl::supervisor
