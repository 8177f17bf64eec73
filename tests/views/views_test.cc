// Views of rows in a real store. tests/cli has what a person at a terminal sees of them.
#include <set>

#include "executor/executor.h"
#include "os/process.h"
#include "support/store_fixture.h"
#include "views/budget.h"
#include "views/reason.h"
#include "views/status.h"
#include "views/step_log.h"

namespace pawl::views {
namespace {

class ViewsTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    state_.folder = temp_.path();
    state_.location = "sqlite:" + path_;
    state_.store = open();
    state_.sealer = std::make_shared<store::PlainSealer>();
    auto workspaces = workspace::Workspaces::open(state_.folder);
    ASSERT_TRUE(workspaces) << workspaces.error().message;
    state_.workspaces = std::make_unique<workspace::Workspaces>(*std::move(workspaces));
  }

  Reason reason(const std::string& run_id) {
    const auto found = reason_of(state_, run_id);
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->reason : Reason();
  }
  RunStatus status(const std::string& run_id) {
    const auto found = status_of(state_, run_id);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(RunStatus());
  }
  // A claim by this process, whose lease has not run out.
  store::Claim claim_now() {
    auto request = executor::request_now(os::SystemClock());
    request.owner = os::to_text(os::this_process()) + "/0";
    request.model_of_attempt = [](const auto&, auto) { return "m"; };
    auto result = store_->claim(request);
    EXPECT_TRUE(result && result->claim);
    return *std::move(result->claim);
  }
  void fail_phase() {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto held = claim();
      ASSERT_TRUE(finish(held, step(held), "failed_retryable"));
    }
  }

  State state_;
};

TEST_F(ViewsTest, EachWaitHasAWordOfItsOwn) {
  std::set<std::string_view> words;
  constexpr auto kLast = static_cast<int>(WaitsFor::kBudget);
  for (int wait = 0; wait <= kLast; ++wait) words.insert(name(static_cast<WaitsFor>(wait)));
  EXPECT_EQ(words.size(), kLast + 1U);
  EXPECT_FALSE(words.contains(""));
}

TEST_F(ViewsTest, ANewRunWaitsForAnExecutorOrASandbox) {
  const auto run = create({{"a"}, {"b", "c"}});
  const Reason found = reason(run);
  EXPECT_TRUE(found.kind == Reason::Kind::kFree || found.kind == Reason::Kind::kNoSandbox);
  EXPECT_EQ(found.phase_id, "a");
  EXPECT_EQ(found.later_phases, 2);
  EXPECT_EQ(status(run).waits_for, WaitsFor::kNothing);
}

TEST_F(ViewsTest, APhaseThatIsWorkedOnIsLeased) {
  const auto run = create({{"a"}});
  const auto held = claim_now();
  Reason found = reason(run);
  EXPECT_EQ(found.kind, Reason::Kind::kLeased);
  EXPECT_EQ(waits_for(found), WaitsFor::kLease);
  ASSERT_TRUE(found.phase);
  EXPECT_EQ(found.phase->lease_owner, os::to_text(os::this_process()) + "/0");
  EXPECT_FALSE(found.step);
}

TEST_F(ViewsTest, APhaseThatFailedWaitsForAPersonWhoCanApproveItsWork) {
  const auto run = create({{"a"}});
  fail_phase();
  const Reason found = reason(run);
  EXPECT_EQ(found.kind, Reason::Kind::kFailed);
  EXPECT_EQ(waits_for(found), WaitsFor::kPerson);
  EXPECT_TRUE(found.has_work);
  const RunStatus now = status(run);
  EXPECT_EQ(now.waits_for, WaitsFor::kPerson);
  EXPECT_EQ(now.failed_phase, "a");
  EXPECT_TRUE(now.has_work);
  EXPECT_EQ(text_in(to_json(now), "waits_for"), "person");
}

TEST_F(ViewsTest, APhaseWhoseProviderRefusedWaitsForATimeOrForAPerson) {
  const auto refuse = [this](std::int64_t number, const std::string& not_before) {
    const auto held = claim();
    auto start = marker("s-" + std::to_string(number), 0);
    start.execution = number;
    start.waits = number - 1;
    ASSERT_TRUE(store_->begin_step(held.lease, start, {}, now_));
    const store::ResumeDecision waits{
        .sandbox_run_id = start.sandbox_run_id,
        .label = "x",
        .found = store::RecoveryFound::kLimited,
        .decision = store::RecoveryDecision::kWait,
        .lost_cost_row = store::cost_row({.run_id = "r", .sandbox_run_id = start.sandbox_run_id}),
        .wait = store::Wait{
            .number = number, .provider = "openai", .message = "no more", .not_before = not_before}};
    ASSERT_TRUE(store_->wait(held.lease, {.resume = waits}, not_before, now_));
  };
  const auto run = create({{"a"}});
  refuse(1, "2200-01-01T00:00:00.000000Z");
  EXPECT_EQ(reason(run).kind, Reason::Kind::kNotBefore);
  EXPECT_EQ(waits_for(reason(run)), WaitsFor::kNotBefore);
  ASSERT_TRUE(reason(run).wait);
  EXPECT_EQ(reason(run).wait->message, "no more");
  EXPECT_EQ(status(run).waits_for, WaitsFor::kNothing) << "no person has to do anything";
  ASSERT_EQ(status(run).waits.size(), 1U);
  EXPECT_EQ(status(run).waits[0].second.provider, "openai");
  ASSERT_TRUE(store_->operator_go_on(run, {}, now_));
  EXPECT_TRUE(status(run).waits.empty());
  refuse(2, std::string(store::kUntilAPerson));
  EXPECT_EQ(reason(run).kind, Reason::Kind::kRefused);
  EXPECT_EQ(waits_for(reason(run)), WaitsFor::kPerson);
  EXPECT_EQ(status(run).waits_for, WaitsFor::kPerson);
}

TEST_F(ViewsTest, ARunThatIsOverWaitsForNothing) {
  const auto run = create({{"a"}});
  const auto held = claim();
  ASSERT_TRUE(finish(held, step(held), "passed"));
  EXPECT_EQ(reason(run).kind, Reason::Kind::kOver);
  EXPECT_EQ(waits_for(reason(run)), WaitsFor::kNothing);
}

TEST_F(ViewsTest, ASpentBudgetIsWhatARunWaitsFor) {
  const auto run = create({{"a"}}, false, true, 1000);
  EXPECT_FALSE(spent_budget(*store_, *store_->run(run)));
  const auto held = claim();
  auto end = ended(step(held));
  end.duration_ms = 1000;
  const auto no_overlap = [](const auto&, const auto&) { return false; };
  ASSERT_TRUE(store_->finish(held.lease, {.result = end}, verdict("failed_retryable"), no_overlap, now_));
  EXPECT_EQ(status(run).waits_for, WaitsFor::kBudget);
  EXPECT_EQ(status(run).spent->spent, 1000);
  EXPECT_EQ(reason(run).kind, Reason::Kind::kBudgetSpent);
  EXPECT_EQ(waits_for(reason(run)), WaitsFor::kBudget);
}

TEST_F(ViewsTest, StepsAreThoseOfOneAttempt) {
  const auto run = create({{"a"}});
  fail_phase();
  const auto newest = steps_of(*store_, {.run_id = run, .phase_id = "a"});
  ASSERT_TRUE(newest && *newest);
  ASSERT_EQ((*newest)->size(), 1U);
  EXPECT_EQ((*newest)->front().sandbox_run_id, "s2");
  const auto first = steps_of(*store_, {.run_id = run, .phase_id = "a", .attempt = 1});
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->front().sandbox_run_id, "s1");
  const auto none = steps_of(*store_, {.run_id = run, .phase_id = "a", .attempt = 3});
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

}  // namespace
}  // namespace pawl::views
