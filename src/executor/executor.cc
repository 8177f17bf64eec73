#include "executor/executor.h"

#include <utility>

#include "executor/reported.h"
#include "executor/session.h"
#include "executor/start_run.h"
#include "plan/rows.h"

namespace pawl::executor {

bool Executor::keep_plan(const std::string& run_id) {
  if (plan_run_id_ != run_id) {
    plan_ = options_.plans->kept(run_id);
    plan_run_id_ = plan_ ? run_id : "";
  }
  return plan_ != nullptr;
}

Result<CommonPlan> Executor::plan_for(const store::Claim& claim) {
  if (!keep_plan(claim.run.run_id)) {
    PAWL_TRY(plan_, options_.plans->of(claim));
    plan_run_id_ = claim.run.run_id;
  }
  return plan_;
}

Result<const plan::Phase*> Executor::phase_for(const store::Claim& claim) {
  if (phase_row_ != claim.planned || claim.planned.empty()) {
    phase_row_.clear();
    PAWL_TRY(phase_, plan::phase_of_row(claim.planned));
    phase_row_ = claim.planned;
  }
  return &phase_;
}

store::ClaimRequest Executor::claim_request() {
  auto request = request_now(world_.clock);
  request.run_ids = options_.run_ids;
  request.owner = options_.owner;
  request.lease_ms = options_.lease_ms;
  request.owner_is_dead = options_.owner_is_dead;
  request.model_of_attempt = [this](const store::Claim& claim, std::int64_t number) {
    const auto phase = phase_for(claim);
    if (phase && !(*phase)->agent_model.empty()) return (*phase)->agent_model;
    const auto plan = plan_for(claim);
    return plan ? (*plan)->model_of_attempt(number) : std::string();
  };
  request.has_common = [this](const std::string& run_id) { return keep_plan(run_id); };
  return request;
}

Status Executor::give_back() {
  if (failed_) PAWL_OK(world_.store.release(*failed_));
  failed_.reset();
  return {};
}

Result<Turn> Executor::run_one() {
  PAWL_OK(give_back());
  if (may_be_unsettled_) settle_or_report(world_, observer_);
  may_be_unsettled_ = false;
  PAWL_TRY(const auto found, claim_planned(world_.store, claim_request()));
  may_be_unsettled_ =
      found.not_claimable == store::NotClaimable::kReserved;  // perhaps unsettled usage of a killed command
  if (!found.claim)
    return Turn{
        .kind = Turn::Kind::kNothing, .not_claimable = found.not_claimable, .waits_for = found.waits_for};

  const store::Claim& claim = *found.claim;
  observer_.claimed(claim);
  auto turn = [&]() -> Result<Turn> {
    PAWL_TRY(auto common, plan_for(claim));
    PAWL_TRY(const auto* phase, phase_for(claim));
    PAWL_TRY(const auto plan, planned_of(std::move(common), *phase, claim));
    return work_on(world_, options_, observer_, claim, plan);
  }();
  if (turn) return turn;
  // After any error another executor may claim the phase. A lease that was lost cannot be released. The fault
  // of this turn may also make the release fail; then the next turn releases it.
  failed_ = claim.lease;
  static_cast<void>(give_back());
  if (turn.error().kind == ErrorKind::kConflict) return Turn{.kind = Turn::Kind::kLeaseLost};
  if (turn.error().kind == ErrorKind::kCancelled)
    return Turn{.kind = options_.stop && options_.stop() ? Turn::Kind::kDetached : Turn::Kind::kLeaseLost};
  return turn;
}

}  // namespace pawl::executor
