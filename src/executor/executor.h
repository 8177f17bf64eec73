// Runs phases: claim, attempt, verdict, recovery. The room's door.
//
// run_one() runs at most ONE attempt of one phase and returns; nothing that limits or steers a later decision
// lives in memory between two calls, or in a call across a crash: it is all rows. docs/architecture.md draws
// the way. An Executor is for one thread; run several for parallel workers, each with a Store of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/episode.h"
#include "base/error.h"
#include "executor/plans.h"
#include "gates/base.h"
#include "os/clock.h"
#include "os/random.h"
#include "plan/plan.h"
#include "sandbox/client.h"
#include "secrets/redact.h"
#include "store/store.h"
#include "workspace/object_store.h"

namespace pawl::executor {

// What agents told over their sockets, by episode.
class Episodes {  // thread-safe
 public:
  virtual ~Episodes() = default;
  // Nothing when the episode told nothing.
  virtual Result<agent::Told> told_since(const agent::EpisodeKey& key, std::int64_t seq) = 0;
  virtual Result<agent::Spent> spent(const agent::EpisodeKey& key) = 0;
  // Whether another process of the agent would find something to go on from.
  virtual Result<bool> can_go_on(const agent::EpisodeKey& key) = 0;
  // Whether the disk has room for what an agent tells: so many bytes free, or what the smallest needs.
  virtual Result<bool> can_save(std::int64_t room) = 0;
  // Removes it. Not durable, idempotent.
  virtual void forget(const agent::EpisodeKey& key) = 0;
};

// The world, as interfaces. All must outlive the executor.
struct World {
  store::Store& store;
  sandbox::SandboxClient& sandboxes;
  workspace::ObjectStore& objects;
  os::Clock& clock;
  os::Random& random;
  const secrets::Redactor& redactor;  // of what is written down
  Episodes& episodes;
};

// Those under `folder`, .pawl.
std::unique_ptr<Episodes> open_episodes(std::string folder);

// Tells a person what goes on. Called from the executor's thread; must be quick and must not fail.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void claimed(const store::Claim&) {}
  virtual void resumed(const store::Claim&, const store::ResumeDecision&) {}
  virtual void step_started(const store::Claim&, const store::StepStart&) {}
  virtual void step_ended(const store::Claim&, const store::StepStart&, const sandbox::SandboxRun&) {}
  // What a gate found on base, in this attempt.
  virtual void base_ran(const store::Claim&, const std::string& /*gate_id*/, const gates::OnBase&) {}
  // What the run may spend is nearly spent.
  virtual void budget_nears_its_end(const store::Claim&, const store::BudgetRow&) {}
  // It passed, and its gates run again on top of what these phases changed meanwhile.
  virtual void judged_again(const store::Claim&, const std::vector<std::string>&) {}
  virtual void attempt_ended(const store::Claim&, const store::AttemptEnd&, const store::Finished&) {}
  // What an agent that an operator ended had used is not written down yet; it is tried again.
  virtual void stays_owed(const Error&) {}
};

// Whether the owner of a lease is known to be gone: it was on this host, and is no process any more.
bool owner_is_dead(std::string_view owner);

// What a claim, or who asks what one would find, knows of this moment and this host.
store::ClaimRequest request_now(const os::Clock& clock);

// How many steps the executors of a process may run at once. Each has one by its claim; more are for agents
// of the same attempt (best_of).
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
  std::string backend;  // for cost rows of steps that were lost
  std::function<bool(std::string_view)> owner_is_dead = executor::owner_is_dead;
  std::shared_ptr<Plans> plans = std::make_shared<Plans>();   // one for all executors of a process
  std::shared_ptr<Slots> slots = std::make_shared<Slots>(1);  // likewise
  std::function<bool()> stop;  // asked while waiting: true leaves the step to its supervisor and returns
};

struct Turn {
  enum class Kind {
    kAttempt,      // an attempt ended
    kNothing,      // nothing to claim: see `nothing` and `waits_for`
    kOutOfBudget,  // between two steps: what ended is recorded, the phase was given back; claim again
    kDetached,     // stop() said so: the step goes on, the phase was released
    kLeaseLost,    // somebody else has the phase now (an operator, or another executor): nothing was written
  };
  Kind kind = Kind::kNothing;
  store::Nothing nothing = store::Nothing::kAllTerminal;
  std::string waits_for;
  bool run_ended = false;
  std::string run_id, phase_id;  // of kAttempt
};

class Executor {
 public:
  Executor(World world, Options options, Observer& observer)
      : world_(world), options_(std::move(options)), observer_(observer) {}

  // Errors: what the store and the workspaces say (kUnavailable: somebody holds the database, kExhausted:
  // disk full, ...). Whatever was committed stays; the attempt goes on at the next claim, which may be ours.
  Result<Turn> run_one();

 private:
  store::ClaimRequest claim_request();
  // Keeps it from being thrown away; false when it must be read first.
  bool keep_plan(const std::string& run_id);
  Result<CommonPlan> plan_for(const store::Claim& claim);
  // The lease of a turn that failed, when there is one: the phase is free for whoever goes on.
  Status give_back();

  World world_;
  Options options_;
  Observer& observer_;
  std::optional<store::Lease> failed_;  // of a turn, and not given back yet
  bool owes_ = true;         // whether somebody may have died between an operator's word and what follows it
  std::string plan_run_id_;  // whose plan plan_ is
  CommonPlan plan_;
};

}  // namespace pawl::executor
