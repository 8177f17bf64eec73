// Plans as an executor has them: of a run what is of no phase, shared by the executors of a process, and one
// phase at a time. Nobody who works on a run holds all its phases, or parses its text: rows are made of it
// once.
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

// What an attempt is of.
struct Planned {
  CommonPlan common;
  plan::Phase phase;  // its gates are common's
  // The names of its gates that are of phases beside it (joint.h): they judge it, and their rules on paths
  // are for the agents of the phases that have them.
  std::set<std::string> gates_of_others;
};
// The phase with its own gates alone.
plan::Phase own_phase(const Planned& plan);

class Plans {  // thread-safe
 public:
  // nullptr when it is not kept.
  CommonPlan kept(std::string_view run_id);
  // Reads it from a claim's row when it is not kept. kCorrupt: see plan/rows.h.
  Result<CommonPlan> of(const store::Claim& claim);

 private:
  using Entry = std::pair<std::string, CommonPlan>;  // by run_id; a run never changes its plan
  CommonPlan find(std::string_view run_id);

  std::mutex mutex_;
  std::vector<Entry> entries_;  // the one that was asked for last comes last; guarded by mutex_
};

// Of a claim, whose rows they are. kCorrupt: the rows are not those of its phase.
Result<Planned> planned_of(CommonPlan common, const store::Claim& claim);

store::PlanRows rows_of(const plan::Plan& plan);

// The plan of a run, whole, from its text. kCorrupt when it does not parse any more.
Result<plan::Plan> plan_of(store::Store& store, const store::RunRow& run);
// What the rows say of a run or one of its phases. A run without rows, which an older version made, gets them
// first.
Result<plan::Common> common_of(store::Store& store, const store::RunRow& run);
Result<plan::Phase> phase_of(store::Store& store, const store::RunRow& run, const std::string& phase_id);
Result<Planned> planned_of(store::Store& store, const store::RunRow& run, const std::string& phase_id);

// Store::claim(), with the rows as above.
Result<store::ClaimResult> claim_planned(store::Store& store, const store::ClaimRequest& request);

}  // namespace pawl::executor
