// Several episodes of one attempt (best_of): each has its marker, its share of the budget and its row.
#include "contract/store/contract.h"

namespace pawl::store {
namespace {

class Episodes : public StoreContract {
 protected:
  static StepStart agent(std::int64_t episode, std::int64_t shares = 1) {
    auto start = marker("agent" + std::to_string(episode), episode * 10);
    start.episode = episode;
    start.spends = true;
    start.shares = shares;
    start.others_run = episode > 1;
    return start;
  }
  Result<Begun> begin(const Claim& held, const StepStart& start) {
    return store_->begin_step(held.lease, start, {}, now_);
  }
  static ResumeDecision cancelled(const std::string& id, std::int64_t told_seq) {
    return {.sandbox_run_id = id,
            .label = "x",
            .found = RecoveryFound::kNothing,
            .decision = RecoveryDecision::kCancelled,
            .lost_cost_row = "{}",
            .reported = {.last_seq = told_seq,
                         .usage = {{.told_seq = told_seq, .input_tokens = 1, .line = "{}"}}}};
  }
};

TEST_P(Episodes, EachHasOneOpenMarker) {
  create({{"a"}});
  const Claim held = claim();
  ASSERT_TRUE(begin(held, agent(1)));
  ASSERT_TRUE(begin(held, agent(2))) << "several agents of one attempt run at once";
  auto second = agent(2);
  second.sandbox_run_id = "another";
  second.step_index = 21;
  EXPECT_FALSE(begin(held, second)) << "one of one episode";
  auto whole = marker("a gate", 99);
  EXPECT_TRUE(begin(held, whole)->started) << "and what is of none";
}

TEST_P(Episodes, EachTakesItsPartOfWhatIsLeft) {
  const std::string run = create({{"a"}});
  ASSERT_TRUE(store_->operator_budget(run, kTokens, 1000, {}, now_));
  const Claim held = claim();
  EXPECT_EQ(begin(held, agent(1, 3))->tokens, 334);
  EXPECT_EQ(begin(held, agent(2, 2))->tokens, 333);
  EXPECT_EQ(begin(held, agent(3, 1))->tokens, 333) << "all of it is for the last one";
  const auto late = begin(held, agent(4, 1));
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->started);
  EXPECT_NE(phase(run, "a").lease_owner, "") << "others run: the lease stays";
  auto alone = agent(5, 1);
  alone.others_run = false;
  EXPECT_FALSE(begin(held, alone)->started);
  EXPECT_EQ(phase(run, "a").lease_owner, "");
}

TEST_P(Episodes, AnEndIsRecordedWhileOthersGoOn) {
  const std::string run = create({{"a"}});
  const Claim held = claim();
  ASSERT_TRUE(begin(held, agent(1)));
  ASSERT_TRUE(begin(held, agent(2)));
  // Both agents report the same number of usages: each counts from 1.
  auto first = ended("agent1");
  first.reported = {.last_seq = 1, .usage = {{.told_seq = 1, .input_tokens = 1, .line = "{}"}}};
  ASSERT_TRUE(store_->end_step(held.lease, {.result = first, .resume = cancelled("agent2", 1)}, now_));
  EXPECT_EQ(store_->end_step(held.lease, {.result = first}, now_).error().kind, ErrorKind::kConflict)
      << "once";
  EXPECT_EQ(store_->usage_rows(run, 0)->size(), 2U);
  ASSERT_TRUE(store_->release(held.lease));
  const Claim again = claim();
  ASSERT_EQ(again.steps.size(), 2U);
  EXPECT_EQ(again.steps[0].state, StepState::kDone);
  EXPECT_EQ(again.steps[0].told_seq, 1);
  EXPECT_EQ(again.steps[1].state, StepState::kLost);
  EXPECT_EQ(again.steps[1].decision, "cancelled");
  EXPECT_EQ(store_->end_step(held.lease, {}, now_).error().kind, ErrorKind::kConflict)
      << "the lease is another's";
}

TEST_P(Episodes, TheEndOfTheAttemptSaysWhichOneCounts) {
  const std::string run = create({{"a"}});
  const Claim held = claim();
  ASSERT_TRUE(begin(held, agent(1)));
  auto end = verdict("passed");
  end.agent_layer = "layer";
  end.episodes = {{.episode = 1, .outcome = "failed", .gates_passed = 1, .changed_lines = 3},
                  {.episode = 2, .outcome = "passed", .gates_passed = 2, .kept_by = "passed"}};
  ASSERT_TRUE(store_->finish(
      held.lease, {.result = ended("agent1")}, end, [](const auto&, const auto&) { return false; }, now_));
  const auto rows = *store_->episodes(run, "a");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].changed_lines, 3);
  EXPECT_FALSE(rows[1].changed_lines);
  EXPECT_EQ(rows[1].kept_by, "passed");
  EXPECT_EQ(store_->attempts(run, "a")->front().agent_layer, "layer");
  const auto chain = *store_->ledger(run, "a", 1, 10);
  EXPECT_NE(chain.back().line.find(R"("episodes":[{"changed_lines":3,"episode":1,"failing_signals":0,)"),
            std::string::npos);
}

// The operator's process may die before it ends the supervisors. The next process that looks ends them.
TEST_P(Episodes, GatesThatAnOperatorEndsAreEndedByTheNextWhoLooks) {
  const std::string run = create({{"a"}});
  const Claim held = claim();
  for (const std::int64_t episode : {1, 2}) {
    auto gate = agent(episode);
    gate.gate_id = "check";
    ASSERT_TRUE(begin(held, gate));
  }
  ASSERT_TRUE(store_->operator_cancel(run, "a", {}, now_));
  const auto rows = store_->ledger(run, "a", 1, 100)->size();
  const auto unsettled = *store_->unsettled("");
  ASSERT_EQ(unsettled.size(), 2U);
  for (const auto& each : unsettled) ASSERT_TRUE(store_->settle_usage(each, {}, now_));
  EXPECT_TRUE(store_->unsettled("")->empty());
  EXPECT_EQ(store_->ledger(run, "a", 1, 100)->size(), rows) << "a gate has no last words";
}

TEST_P(Episodes, UnsettledStepsOfARunAreReadAlone) {
  std::vector<std::string> runs;
  for (const std::string id : {"x", "y"}) {
    runs.push_back(create({{"a"}}));
    const Claim held = claim();
    auto start = agent(1);
    start.sandbox_run_id = id;
    ASSERT_TRUE(begin(held, start));
    ASSERT_TRUE(store_->operator_cancel(held.run.run_id, "a", {}, now_));
  }
  EXPECT_EQ(store_->unsettled("")->size(), 2U);
  for (const auto& run : runs) {
    const auto unsettled = *store_->unsettled(run);
    ASSERT_EQ(unsettled.size(), 1U);
    EXPECT_EQ(unsettled.front().step.run_id, run);
  }
  EXPECT_TRUE(store_->unsettled("another")->empty());
}

TEST_P(Episodes, AnOperatorEndsAllThatRun) {
  const std::string run = create({{"a"}});
  const Claim held = claim();
  ASSERT_TRUE(begin(held, agent(1)));
  ASSERT_TRUE(begin(held, agent(2)));
  ASSERT_TRUE(store_->operator_cancel(run, "a", {.isolation_class = "microvm"}, now_));
  const auto steps = *store_->steps(run, "a");
  for (const auto& row : steps) EXPECT_EQ(row.state, StepState::kLost);
  EXPECT_EQ(store_->unsettled("")->size(), 2U);
  const auto costs = *store_->cost_rows(run, 0);
  EXPECT_EQ(costs.size(), 2U);
  for (const auto& line : costs) EXPECT_EQ(read_cost_row(line)->gate_isolation_class, "microvm");
  EXPECT_EQ(store_->budgets(run)->front().reserved, 0);
}

PAWL_STORE_CONTRACT(Episodes);

}  // namespace
}  // namespace pawl::store
