// The socket of an agent's step, while it runs. A detail of this room.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/server.h"
#include "agent/usage_reader.h"
#include "base/error.h"
#include "sandbox/spec.h"
#include "supervisor/spool.h"

namespace pawl::supervisor {

class AgentSocket {
 public:
  // Of a job without an agent: one that serves nothing. `on_log` is called from another thread.
  static Result<AgentSocket> open(const Spool& spool, const Job& job,
                                  std::function<void(std::string_view)> on_log);

  // The step is to be ended: a cap of what it may spend is reached, or what it must not lose can't be saved.
  bool must_end() const {
    return heard_ && (heard_->cap_reached || (!context_.best_effort && heard_->unsaved > 0));
  }
  // What a person, and the ledger, should know of a step that has ended. REQUIRES: closed.
  void report(sandbox::SandboxRun& run) const;
  // What the step prints to its standard output, as it comes.
  void hear(std::string_view printed);
  // Answers what has arrived, then nothing more; what the agent printed of its use is told for it. REQUIRES:
  // everything in the sandbox is dead.
  void close();

 private:
  struct Heard {  // of the server's thread
    std::atomic<bool> cap_reached = false, disk_failed = false;
    std::atomic<std::int64_t> unsaved = 0, room_needed = 0;
  };
  Status tell_usage();
  Status tell_over_budget(agent::Episode& episode, WallTime now);

  agent::Context context_;
  std::string pawl_folder_, sandbox_run_id_;
  std::function<void(std::string_view)> on_log_;
  agent::ReadUsage* read_usage_ = nullptr;
  std::string printed_;      // of it the end
  std::string over_budget_;  // by what it printed; "": it kept to its caps
  std::unique_ptr<Heard> heard_;
  std::unique_ptr<agent::Server> server_;  // after what its thread uses: destroyed first
};

}  // namespace pawl::supervisor
