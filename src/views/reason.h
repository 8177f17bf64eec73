// Why a run does not go on now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/credentials.h"
#include "os/locks.h"
#include "supervisor/step_runner.h"
#include "views/questions.h"
#include "views/views.h"
#include "views/waits.h"

namespace pawl::views {

// The open step of a phase that an executor works on.
struct OpenStep {
  std::string label, started_at;
  // kNothing: it has not begun yet, or it is lost. kSpooled: its result is not recorded yet.
  supervisor::Found found = supervisor::Found::kNothing;
};

// A lock that all work needs, with a holder that does not let go.
struct HeldLock {
  enum class What { kObjects, kDatabase };
  What what = What::kObjects;
  std::string path;  // with kObjects
  os::LockHolder holder;
};

struct Reason {
  enum class Kind {
    kOver,          // every phase is terminal, and none failed
    kFailed,        // every phase is terminal; `phase` failed, and only a person moves it
    kNoSandbox,     // `phase` can go on as soon as a sandbox can be made: `detail`
    kNoCredential,  // no executor works on the run before this host has a credential of `phase`: `credential`
    kFree,          // `phase` can go on, and no process works on it
    kLeased,        // an executor works on `phase`: `step`
    kAsked,         // likewise, and its agent asks a person
    kBudgetSpent,   // `spent`, and `detail`
    kReserved,      // open steps reserve the rest of the budget: `detail`
    kNotBefore,     // the next attempt of `phase` may not start yet: `detail`; `wait` when its agent waits
    kRefused,       // a provider refused the credential of its agent: `wait`, and `detail`
    kStalled,       // an older version left `phase` so that no event can move it: `detail`
  };
  Kind kind = Kind::kOver;
  std::string phase_id;                   // "" with kOver
  std::optional<store::PhaseRow> phase;   // not with kOver and kAsked
  std::string detail;                     // one sentence of the store, or of the sandbox's backend
  bool has_work = false;                  // with kFailed: work that a person can approve
  std::optional<OpenStep> step;           // with kLeased; no value: between two steps
  std::optional<store::BudgetRow> spent;  // with kBudgetSpent
  std::optional<store::Wait> wait;        // with kNotBefore and kRefused
  std::optional<executor::UnseenCredential> credential;  // with kNoCredential
  std::optional<HeldLock> lock;                          // beside any kind, while the run is not over
  std::int64_t later_phases = 0;  // QUEUED phases of later tiers, which wait for the tier of `phase_id`
};

// A lock counts before all else.
WaitsFor waits_for(const Reason& reason);

// A remark about an agent that ended by itself: that it ran past its budget, for example. No step fails by it,
// but the failure of a gate may come from it.
struct AgentRemark {
  std::string phase_id, reason;
};

struct RunReason {
  store::RunRow run;
  Reason reason;
  std::vector<OpenQuestion> questions;
  // Remarks in the newest attempt of `reason.phase_id`, or, with kOver, of each phase.
  std::vector<AgentRemark> agents;
};
// Takes half a second when a lock is held, to see whether its holder lets go. kNotFound: there is no such
// run.
Result<RunReason> reason_of(const State& state, const std::string& run_id);

}  // namespace pawl::views
