// Verbs of operators that apply to a whole run.
#include <gtest/gtest.h>

#include <tuple>

#include "contract/store/contract.h"

namespace pawl::store {
namespace {

using Operators = StoreContract;

std::tuple<PhaseState, PhaseOutcome, std::int64_t, std::int64_t> what_it_is(const PhaseRow& row) {
  return {row.state, row.outcome, row.attempts_used, row.max_attempts};
}

// Between two attempts, no later event would end the phase.
TEST_P(Operators, AFewerAttemptsThanAreUsedEndAPhaseThatWaitsForTheNext) {
  const auto run = create({{"a", "b"}, {"c"}});
  auto held = claim();
  ASSERT_TRUE(finish(held, step(held), "failed_retryable"));
  ASSERT_TRUE(store_->operator_max_attempts(run, 1, {}, now_));
  EXPECT_EQ(what_it_is(phase(run, "a")), std::tuple(PhaseState::kFailed, PhaseOutcome::kEscalate, 1, 1));
  EXPECT_EQ(phase(run, "a").last_failure_reason, "why") << "of its last attempt";
  EXPECT_EQ(what_it_is(phase(run, "b")), std::tuple(PhaseState::kSkipped, PhaseOutcome::kSkipped, 0, 1));
  EXPECT_EQ(store_->run(run)->state, RunState::kFailed);
  EXPECT_EQ(store_->claim(request())->not_claimable, NotClaimable::kAllTerminal);
  EXPECT_TRUE(store_->operator_retry(run, "a", {}, now_));
  EXPECT_EQ(claim().phase.max_attempts, 1);
}

TEST_P(Operators, AnAttemptThatRunsIsNotEndedByFewerAttempts) {
  const auto run = create({{"a"}}, false, false);
  auto held = claim();
  ASSERT_TRUE(finish(held, step(held), "failed_retryable"));
  held = claim();
  ASSERT_TRUE(store_->operator_max_attempts(run, 1, {}, now_));
  EXPECT_EQ(what_it_is(phase(run, "a")), std::tuple(PhaseState::kExecuting, PhaseOutcome::kNone, 2, 2));
  ASSERT_TRUE(finish(held, step(held), "failed_retryable"));
  EXPECT_EQ(phase(run, "a").outcome, PhaseOutcome::kEscalate);
}

TEST_P(Operators, WhatGoesOnAfterAFailureGoesOnAfterFewerAttempts) {
  const auto run = create({{"a"}, {"b"}}, false, false);
  auto held = claim();
  ASSERT_TRUE(finish(held, step(held), "failed_retryable"));
  ASSERT_TRUE(store_->operator_max_attempts(run, 1, {}, now_));
  EXPECT_EQ(phase(run, "a").outcome, PhaseOutcome::kEscalate);
  EXPECT_EQ(store_->run(run)->state, RunState::kExecuting);
  EXPECT_EQ(claim().phase.phase_id, "b");
}

TEST_P(Operators, ARunGoesOnWithoutAPhaseThatHadFailed) {
  const auto run = create({{"a"}, {"b"}});
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto held = claim();
    ASSERT_TRUE(finish(held, step(held), "failed_retryable"));
  }
  ASSERT_EQ(phase(run, "b").state, PhaseState::kSkipped);
  EXPECT_EQ(*store_->operator_skip(run, "a", {}, now_), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(phase(run, "a").state, PhaseState::kSkipped);
  EXPECT_EQ(store_->run(run)->state, RunState::kExecuting);
  const auto held = claim();
  EXPECT_EQ(held.phase.phase_id, "b");
  ASSERT_TRUE(finish(held, step(held), "passed"));
  EXPECT_EQ(store_->run(run)->state, RunState::kComplete);
}

PAWL_STORE_CONTRACT(Operators);

}  // namespace
}  // namespace pawl::store
