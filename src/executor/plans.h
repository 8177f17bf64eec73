// Plans as an executor uses them: the common part of a run's plan, shared by the executors of a process, and
// one phase at a time. An executor never holds all phases of a run, and does not parse the plan's text: rows
// are made from it once.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "store/store.h"

namespace pawl::executor {

using CommonPlan = std::shared_ptr<const plan::Common>;

// The part of a plan that an attempt needs.
struct Planned {
  CommonPlan common;
  plan::Phase phase;  // its gates are in `common`
  // Names of its gates that belong to phases beside it (joint.h). They judge the phase, but their path rules
  // apply only to the agents of the phases that own them.
  std::set<std::string> gates_of_others;
};
// The phase with its own gates alone.
plan::Phase own_phase(const Planned& plan);

class Plans {  // thread-safe
 public:
  // nullptr when the plan is not cached.
  CommonPlan kept(std::string_view run_id);
  // Reads the plan from the claim's row when it is not cached. kCorrupt: see plan/rows.h.
  Result<CommonPlan> of(const store::Claim& claim);

 private:
  using Entry = std::pair<std::string, CommonPlan>;  // by run_id; a run never changes its plan
  CommonPlan find(std::string_view run_id);

  std::mutex mutex_;
  std::vector<Entry> entries_;  // the most recently used comes last; guarded by mutex_
};

// The plan of a claim, from its rows. kCorrupt: the rows are not those of its phase.
Result<Planned> planned_of(CommonPlan common, plan::Phase phase, const store::Claim& claim);

// The rows that the store has for a plan: the common part, and one row for each phase.
store::PlanRows rows_of(const plan::Plan& plan);

// The whole plan of a run, parsed from its text. kCorrupt: it does not parse any more.
Result<plan::Plan> plan_of(store::Store& store, const store::RunRow& run);
// The rows of a run or of one of its phases. For a run without rows, which an older version made, the rows
// are made first.
Result<plan::Common> common_of(store::Store& store, const store::RunRow& run);
Result<plan::Phase> phase_of(store::Store& store, const store::RunRow& run, const std::string& phase_id);
Result<Planned> planned_of(store::Store& store, const store::RunRow& run, const std::string& phase_id);

// Store::claim(). Makes missing rows first, as above.
Result<store::ClaimResult> claim_planned(store::Store& store, const store::ClaimRequest& request);

}  // namespace pawl::executor
