// The seam for steps: executes under a supervisor that outlives the caller. Only the executor's attempt code
// uses it; the simulator and tests of the executor replace it.
//
// A step is named by its sandbox_run_id, which the marker holds. At most one supervisor ever runs a given id:
// start() after abandon() of the same id does nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sandbox/backend.h"
#include "sandbox/spec.h"

namespace pawl::sandbox {

enum class Found {
  kRunning,  // its supervisor lives: wait() for it
  kSpooled,  // it ended and its result is on disk: collect() it
  kNothing,  // neither: the result is lost (or it never began)
};

struct ContextFile {
  std::string path;  // relative, safe
  std::string bytes;
};

struct Salvage {
  bool began = true;                      // false: there is no sign that it did, and no probe was asked
  std::optional<std::int64_t> exit_code;  // of the probe; nothing when it could not answer
  SandboxRun run;                         // with exit code 0
};

class SandboxClient {  // thread-safe
 public:
  virtual ~SandboxClient() = default;

  // Starts the supervisor and returns. `context`: files that the copy_in without a src shows, and that its
  // content binds. `agent`: the agent::Context (agent/server.h, canonical JSON) whose socket is beside them,
  // "" for none; not bound, because what a run may spend changes. REQUIRES: the marker of `sandbox_run_id` is
  // durable.
  virtual Status start(const std::string& sandbox_run_id, const SandboxSpec& spec,
                       const std::vector<ContextFile>& context, const std::string& agent) = 0;
  virtual Result<Found> find(const std::string& sandbox_run_id) = 0;
  // Blocks until the supervisor is gone, or `stop` (asked a few times a second) says true: then kCancelled,
  // and the step goes on. kExhausted, kIndeterminate: its supervisor failed by itself (a full disk); the
  // result is lost.
  virtual Status wait(const std::string& sandbox_run_id, const std::function<bool()>& stop) = 0;
  // The spooled result. kNotFound: there is none. kCorrupt: it does not parse, or its spec hash is another.
  virtual Result<SandboxRun> collect(const std::string& sandbox_run_id, const std::string& spec_hash) = 0;
  // Makes sure that this id never runs again: kills a living supervisor, forbids a late one, removes what is
  // left in the kernel. Durable when it returns.
  virtual Status abandon(const std::string& sandbox_run_id) = 0;
  // Asks `probe`, a command, whether the effect of an abandoned step happened: it sees what the step left of
  // its workspace (probe.h), the step's environment and what was copied in. Exit code 0: `run` stands for the
  // lost result, with the step's layer. REQUIRES: abandon() of the id.
  virtual Result<Salvage> salvage(const std::string& sandbox_run_id,
                                  const std::vector<std::string>& probe) = 0;
  // Forgets the spool and the work of a step whose end is recorded. Not durable, idempotent.
  virtual void forget(const std::string& sandbox_run_id) = 0;
  // The same of a step without a result, but for what it printed and tried: people look for why it was lost.
  virtual void forget_lost(const std::string& sandbox_run_id) = 0;

  virtual Result<Health> health() = 0;
};

}  // namespace pawl::sandbox
