// The socket of an agent's step while the step runs. A detail of this room.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/server.h"
#include "base/error.h"
#include "sandbox/spec.h"
#include "supervisor/spool.h"

namespace pawl::supervisor {

class AgentSocket {
 public:
  // Opens the agent's socket. For a job without an agent the result serves no requests. `on_log` and `redact`
  // are called from another thread.
  static Result<AgentSocket> open(const Spool& spool, const Job& job,
                                  std::function<void(std::string_view)> on_log,
                                  std::function<std::string(std::string_view)> redact);

  // The step is to be ended: a cap on its spending is reached, or an event that must not be lost cannot be
  // saved.
  bool must_end() const {
    return heard_ && (heard_->cap_reached || (!context_.best_effort && heard_->unsaved > 0));
  }
  // Adds the outcome that a person and the ledger should know to a step that has ended. REQUIRES: closed.
  void report(sandbox::SandboxRun& run) const;
  // Takes the step's standard output, as it comes.
  void hear(std::string_view printed);
  // Responds to the requests that have arrived, then serves no more. Reports the usage that the agent
  // printed before it ended like `run`. REQUIRES: every process in the sandbox is dead.
  void close(const sandbox::SandboxRun& run);

 private:
  struct Heard {  // written by the server's thread
    std::atomic<bool> cap_reached = false, disk_failed = false;
    std::atomic<std::int64_t> unsaved = 0, room_needed = 0;
  };
  Status report_usage(const sandbox::SandboxRun& run);
  Status report_over_budget(agent::Reports& reports, WallTime now);

  agent::Context context_;
  std::string pawl_folder_, sandbox_run_id_;
  std::function<void(std::string_view)> on_log_;
  std::function<std::string(std::string_view)> redact_;
  std::string printed_;      // only its end is stored
  std::string over_budget_;  // by the printed usage; "": within its caps
  std::unique_ptr<Heard> heard_;
  std::unique_ptr<agent::Server> server_;  // last, because its thread uses the members above: destroyed first
};

}  // namespace pawl::supervisor
