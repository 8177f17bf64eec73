// The workers of a process: each takes turns with an executor of its own until its runs are over. `pawl run`
// and `pawl resume` call it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/executor.h"
#include "executor/state.h"
#include "sandbox/backend.h"

namespace pawl::executor {

// Checks the bases of these runs on disk before any claim (Workspaces::check_owner).
Status check_bases(const State& state, const std::vector<std::string>& run_ids);

// Checks before any claim whether this machine can run the steps of these runs. An unfit machine must cost no
// attempt. Removes what killed sandboxes left. kDenied: a plan has a traced step, and this machine can't trace.
// Otherwise the errors of Backend::check().
Status check_machine(const State& state, sandbox::Backend& backend, const std::vector<std::string>& run_ids);

struct WorkersOptions {
  std::vector<std::string> run_ids;  // at least one; the backend of the first is checked
  std::int64_t workers = 1;
  secrets::Redactor::Values credentials;  // credentials_of_runs(): redacted from the first step on
  std::function<bool()> stop;  // polled by each worker: true leaves steps to their supervisors and returns
};

// Reports to a person what the workers do. Thread-safe: the workers' threads call it.
class WorkersObserver {
 public:
  virtual ~WorkersObserver() = default;
  // The observer of one worker; workers count from 0. Called once for each worker, in its thread.
  virtual std::unique_ptr<Observer> of_worker(int worker) = 0;
  // The reason why there is no work now, as one sentence; "": there is work again. Not called twice with the
  // same reason.
  virtual void waits(const std::string& waits_for) = 0;
};

// Blocks until every run is over, no run can go on, or `stop` returns true. Each worker opens the state
// again; several workers share commits (store::StoreGroup). While no sandbox can be made, no phase is claimed
// and the workers wait. Returns the first error of a worker, after all have stopped. Everything that was
// committed stays. Another thread may use `state` only for
// open_again().
Status run_workers(const State& state, const WorkersOptions& options, WorkersObserver& observer);

}  // namespace pawl::executor
