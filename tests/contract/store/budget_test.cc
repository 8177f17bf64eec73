// Budgets: reserved and settled in the transactions of steps.
#include "contract/store/contract.h"

namespace pawl::store {
namespace {

using Budget = StoreContract;

TEST_P(Budget, ABudgetStopsBetweenTwoStepsAndLosesNothing) {
  const std::string run = create({{"a"}}, false, true, 10'000);
  const Claim held = claim();
  auto end = ended(step(held, 0, 60'000));
  EXPECT_EQ(store_->budgets(run)->front().reserved, 60'000);
  end.duration_ms = 12'000;
  const auto begun = store_->begin_step(held.lease, marker("gate", 1, 1000), {.result = end}, now_);
  ASSERT_TRUE(begun);
  EXPECT_FALSE(begun->started);
  ASSERT_EQ(begun->warnings.size(), 1U);
  EXPECT_EQ(begun->warnings[0].spent, 12'000);
  EXPECT_EQ(store_->steps(run, "a")->size(), 1U) << "the result is recorded, and nothing begun";
  EXPECT_EQ(store_->steps(run, "a")->front().state, StepState::kDone);
  EXPECT_EQ(store_->budgets(run)->front().reserved, 0);
  EXPECT_EQ(phase(run, "a").lease_owner, "");
  EXPECT_EQ(store_->claim(request("me"))->not_claimable, NotClaimable::kBudget);
  EXPECT_EQ(phase(run, "a").attempts_total, 1);

  ASSERT_TRUE(store_->operator_budget(run, kSandboxMs, 20'000, {.uid = 7, .reason = "more"}, now_));
  const auto rows = *store_->ledger(run, "", 1, 10);
  EXPECT_NE(rows.back().line.find("\"action\":\"budget sandbox_ms 20000\""), std::string::npos);
  const Claim again = claim();
  EXPECT_TRUE(again.continued) << "the attempt goes on";
  auto last = ended(step(again, 1, 1000));
  last.duration_ms = 4000;
  const auto finished = store_->finish(
      again.lease, {.result = last}, verdict("passed"), [](const auto&, const auto&) { return false; }, now_);
  ASSERT_TRUE(finished && finished->warnings.size() == 1) << "16 of 20 seconds are 80 percent";
  EXPECT_EQ(store_->budgets(run)->front().spent, 16'000);
  EXPECT_EQ(store_->operator_budget(run, kSandboxMs, 1, {}, now_).error().kind, ErrorKind::kInvalid)
      << "it is over";
}

TEST_P(Budget, StepsThatRunReserveTheirPartOfTheBudget) {
  const std::string run = create({{"a", "b"}}, true, true, 10'000);
  const Claim a = claim("one");
  const std::string open = step(a, 0, 10'000);
  EXPECT_FALSE(store_->claim(request("two"))->claim) << "b waits for what a gives back";
  // Its supervisor and its executor are gone. It is charged with the time since its marker, at most its
  // reservation.
  now_ = now_.plus_ms(40'000);
  const Claim b = claim("two");
  EXPECT_EQ(b.phase.phase_id, "a") << "who settles a step may always claim";
  now_ = now_.plus_ms(-36'000);
  const ResumeDecision lost{.sandbox_run_id = open,
                            .label = "x",
                            .found = RecoveryFound::kNothing,
                            .decision = RecoveryDecision::kReExecute,
                            .lost_cost_row = "{}"};
  auto again = marker("again", 0, 3000);
  again.execution = 2;
  ASSERT_TRUE(store_->begin_step(b.lease, again, {.resume = lost}, now_)->started);
  EXPECT_EQ(store_->budgets(run)->front().spent, 4000);
  EXPECT_EQ(store_->budgets(run)->front().reserved, 3000);
  EXPECT_EQ(claim("three").phase.phase_id, "b");
}

PAWL_STORE_CONTRACT(Budget);

}  // namespace
}  // namespace pawl::store
