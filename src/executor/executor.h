// Runs phases: claim, attempt, verdict, recovery. This header is the public interface of the room.
//
// run_one() runs at most ONE attempt of one phase and returns. Every value that limits or steers a later
// decision is a row in the store. No such value is held in memory between two calls, or inside a call across
// a crash. docs/architecture.md draws the path of a phase. An Executor is used by one thread. Run several for
// parallel workers, each with a Store of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/reports.h"
#include "base/error.h"
#include "executor/plans.h"
#include "executor/step_starter.h"
#include "gates/base.h"
#include "os/clock.h"
#include "os/random.h"
#include "plan/plan.h"
#include "secrets/redact.h"
#include "store/store.h"
#include "supervisor/step_runner.h"
#include "workspace/object_store.h"

namespace pawl::executor {

// The journals of agents (agent/journal.h), by episode.
class Journals {  // thread-safe
 public:
  virtual ~Journals() = default;
  // Events with a sequence number after `seq`. The result is empty when the episode reported no events.
  virtual Result<agent::Reported> reported_since(const agent::EpisodeKey& key, std::int64_t seq) = 0;
  // The total usage that the episode has reported.
  virtual Result<agent::Spent> spent(const agent::EpisodeKey& key) = 0;
  // Whether another process of the agent would find state from which it can continue.
  virtual Result<bool> can_go_on(const agent::EpisodeKey& key) = 0;
  // Whether the disk has room for what an agent reports: `room` bytes are free, and never less than the
  // smallest report needs (agent::kFreeBytesMin).
  virtual Result<bool> can_save(std::int64_t room) = 0;
  // Removes the episode's journal. Not durable, idempotent.
  virtual void forget(const agent::EpisodeKey& key) = 0;
};

// The interfaces to the outside world. All must outlive the executor.
struct World {
  store::Store& store;
  supervisor::StepEnder& sandboxes;
  StepStarter starter;  // for the steps of `sandboxes`
  workspace::ObjectStore& objects;
  os::Clock& clock;
  os::Random& random;
  secrets::Redactor& redactor;  // redacts everything that is written to the store
  Journals& journals;
};

// The journals that are stored under `folder`, which is the .pawl folder.
std::unique_ptr<Journals> open_journals(std::string folder);

// Reports progress to a person. Called from the executor's thread; must be quick and must not fail.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void claimed(const store::Claim&) {}
  virtual void resumed(const store::Claim&, const store::ResumeDecision&) {}
  virtual void step_started(const store::Claim&, const store::StepStart&) {}
  virtual void step_ended(const store::Claim&, const store::StepStart&, const sandbox::SandboxRun&) {}
  // The result of a gate on base, in this attempt.
  virtual void base_ran(const store::Claim&, const std::string& /*gate_id*/, const gates::OnBase&) {}
  // The budget of the run is nearly spent.
  virtual void budget_nears_its_end(const store::Claim&, const store::BudgetRow&) {}
  // The attempt passed, and its gates run again on top of what these phases changed meanwhile.
  virtual void judged_again(const store::Claim&, const std::vector<std::string>&) {}
  // The attempt goes on at the time of this wait, or when a person says so.
  virtual void waits(const store::Claim&, const store::Wait&) {}
  virtual void attempt_ended(const store::Claim&, const store::AttemptEnd&, const store::Finished&) {}
  // The usage of an agent that an operator ended is not recorded yet. A later call tries again.
  virtual void stays_unsettled(const Error&) {}
};

// Whether the owner of a lease is known to be dead: it ran on this host, and its process has ended.
bool owner_is_dead(std::string_view owner);

// A claim request with the time and the owner check of this host. Also for a caller that only asks which
// phase a claim would find.
store::ClaimRequest request_now(const os::Clock& clock);

// How many steps the executors of a process may run at once. Each executor has one slot by its claim. More
// slots are for agents of the same attempt (best_of).
class Slots {  // thread-safe
 public:
  explicit Slots(std::int64_t most) : left_(most) {}
  void take() { --left_; }
  bool try_take() {
    auto left = left_.load();
    while (left > 0)
      if (left_.compare_exchange_weak(left, left - 1)) return true;
    return false;
  }
  void give_back(std::int64_t slots) { left_ += slots; }

 private:
  std::atomic<std::int64_t> left_;
};

struct Options {
  std::string folder;                // .pawl
  std::vector<std::string> run_ids;  // empty: any open run
  std::string owner;                 // os::to_text(this_process()) + "/<worker>"
  std::int64_t lease_ms = 30'000;
  std::function<bool(std::string_view)> owner_is_dead = executor::owner_is_dead;
  std::shared_ptr<Plans> plans = std::make_shared<Plans>();   // one for all executors of a process
  std::shared_ptr<Slots> slots = std::make_shared<Slots>(1);  // likewise
  std::function<bool()> stop;  // polled while waiting: true leaves the step to its supervisor and returns
};

struct Turn {
  enum class Kind {
    kAttempt,      // an attempt ended
    kNothing,      // no phase to claim: see `not_claimable` and `waits_for`
    kOutOfBudget,  // between two steps: results are recorded, the phase is released; claim again
    kWaits,        // the provider refused an agent: likewise, and no claim takes the phase before its time
    kDetached,     // stop() returned true: the step continues, the phase is released
    kLeaseLost,    // an operator or another executor has the phase now: no end was recorded
  };
  Kind kind = Kind::kNothing;
  store::NotClaimable not_claimable = store::NotClaimable::kAllTerminal;
  std::string waits_for;
  bool run_ended = false;
  std::string run_id, phase_id;  // set with kAttempt and kWaits
};

class Executor {
 public:
  Executor(World world, Options options, Observer& observer)
      : world_(world), options_(std::move(options)), observer_(observer) {}

  // Errors: those of the store and the workspaces (kUnavailable: another process holds the database,
  // kExhausted: disk full, ...). Everything that was committed stays. The attempt continues at the next
  // claim, by this executor or another.
  Result<Turn> run_one();

 private:
  store::ClaimRequest claim_request();
  // Holds the plan of the run in plan_, so that the cache cannot drop it. False when the plan must be read
  // first.
  bool keep_plan(const std::string& run_id);
  Result<CommonPlan> plan_for(const store::Claim& claim);
  // The planned phase of the claim, valid until the next call. A row is parsed once, although a claim needs
  // its model, and the turn needs all of it.
  Result<const plan::Phase*> phase_for(const store::Claim& claim);
  // Releases the lease of a turn that failed, if there is one: another executor can then claim the phase.
  Status give_back();

  World world_;
  Options options_;
  Observer& observer_;
  std::optional<store::Lease> failed_;  // lease of a failed turn, not released yet
  // Usage of ended steps may be unsettled: a process may have died after an operator's command.
  bool may_be_unsettled_ = true;
  std::string plan_run_id_;  // the run of plan_
  CommonPlan plan_;
  std::string phase_row_;  // the row of phase_; "": none is read
  plan::Phase phase_;
};

}  // namespace pawl::executor
