// The seam for steps: executes under a supervisor that outlives the caller. Only the executor's attempt code
// uses it; the simulator and tests of the executor replace it.
//
// A step is named by its sandbox_run_id, which the marker holds. At most one supervisor ever runs a given id:
// start() after abandon() of the same id does nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "sandbox/backend.h"
#include "sandbox/spec.h"

namespace pawl::sandbox {

enum class Found {
  kRunning,  // its supervisor lives: wait() for it
  kSpooled,  // it ended and its result is on disk: collect() it
  kNothing,  // neither: the result is lost (or it never began)
};

class SandboxClient {  // thread-safe
 public:
  virtual ~SandboxClient() = default;

  // Starts the supervisor and returns. REQUIRES: the marker of `sandbox_run_id` is durable.
  virtual Status start(const std::string& sandbox_run_id, const SandboxSpec& spec) = 0;
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
  // Forgets the spool of a step whose result is recorded. Not durable, idempotent.
  virtual void forget(const std::string& sandbox_run_id) = 0;

  virtual Result<Health> health() = 0;
};

}  // namespace pawl::sandbox
