// Reports of agents: recorded once and counted once, whatever fails in between.
#include <limits>

#include "contract/store/contract.h"
#include "store/cost_row.h"

namespace pawl::store {
namespace {

class Reports : public StoreContract {
 protected:
  static Reported reported(std::int64_t first, std::int64_t last) {
    Reported out{.last_seq = last};
    for (std::int64_t seq = first; seq <= last; ++seq)
      out.usage.push_back({.told_seq = seq,
                           .input_tokens = 70,
                           .output_tokens = 30,
                           .usd_nanos = 5,
                           .line = "{\"n\":" + std::to_string(seq) + "}"});
    return out;
  }
  StepStart agent(const std::string& id, std::optional<std::int64_t> tokens_most = std::nullopt) {
    auto start = marker(id, 0);
    start.spends = true;
    start.tokens_most = tokens_most;
    return start;
  }
  Begun begin(const Claim& claim, const StepStart& start) {
    const auto begun = store_->begin_step(claim.lease, start, {}, now_);
    EXPECT_TRUE(begun) << begun.error().message;
    return *begun;
  }
  BudgetRow budget(const std::string& run, std::string_view unit) {
    const auto rows = *store_->budgets(run);
    for (const auto& row : rows)
      if (row.unit == unit) return row;
    return {};
  }
};

TEST_P(Reports, AnUnknownUseIsCountedAndItsRowSaysSo) {
  const std::string run = create({{"a"}});
  const Claim held = claim();
  begin(held, agent("one"));
  Reported told = reported(1, 1);
  told.last_seq = 2;
  told.usage.push_back(
      {.told_seq = 2, .is_unknown = true, .line = "{\"a\":1" + std::string(kUnknownUsageMark) + "\"z\":1}"});
  auto again = agent("two");
  again.execution = 2;
  ASSERT_TRUE(store_->begin_step(held.lease, again,
                                 {.resume = ResumeDecision{.sandbox_run_id = "one",
                                                           .label = "x",
                                                           .found = RecoveryFound::kNothing,
                                                           .decision = RecoveryDecision::kReExecute,
                                                           .lost_cost_row = "{}",
                                                           .reported = told}},
                                 now_));
  EXPECT_EQ(*store_->unknown_usages(run), 1);
  EXPECT_EQ(*store_->unknown_usages("another"), 0);
  EXPECT_EQ(budget(run, kTokens).spent, 100) << "of the part that was told";
  auto end = ended("two");
  end.reported = reported(3, 3);
  ASSERT_TRUE(store_->end_step(held.lease, {.result = end}, now_));
  std::vector<std::string> known;
  const auto rows = *store_->ledger(run, "a", 1, 100);
  for (const auto& row : rows) {
    const Json json = *parse_json(row.line);
    if (text_in(json, "type") != "usage") continue;
    known.push_back(json.contains("known") ? text_in(json, "known") : "all");
  }
  EXPECT_EQ(known, (std::vector<std::string>{"part", "all"}));
}

TEST_P(Reports, IsWrittenDownWithTheEndOfTheStepAndNeverTwice) {
  const std::string run = create({{"a"}});
  const Claim held = claim();
  begin(held, agent("one"));
  ResumeDecision lost{.sandbox_run_id = "one",
                      .label = "x",
                      .found = RecoveryFound::kNothing,
                      .decision = RecoveryDecision::kReExecute,
                      .lost_cost_row = "{}",
                      .reported = reported(1, 2)};
  lost.reported.events.push_back({.event = "resumed", .at = "then", .details = {{"session", 2}}});
  auto again = agent("two");
  again.execution = 2;
  ASSERT_TRUE(store_->begin_step(held.lease, again, {.resume = lost}, now_));
  EXPECT_EQ(store_->usage_rows(run, 0)->size(), 2U) << "of a lost step, too";
  EXPECT_EQ(store_->attempts(run, "a")->back().told_seq, 2);

  auto end = ended("two");
  end.reported = reported(1, 3);  // as from a reader that lost its place
  const auto finish = [&] {
    return store_->finish(
        held.lease, {.result = end}, verdict("passed"), [](const auto&, const auto&) { return false; }, now_);
  };
  EXPECT_FALSE(finish()) << "rows that are there come again";
  EXPECT_EQ(store_->usage_rows(run, 0)->size(), 2U) << "nothing of that happened";
  end.reported = reported(3, 3);
  ASSERT_TRUE(finish());
  EXPECT_EQ(store_->usage_rows("", 0)->size(), 3U);
  EXPECT_EQ(budget(run, kTokens).spent, 300);
  EXPECT_EQ(budget(run, kUsdNanos).spent, 15);
  std::vector<std::string> types;
  const auto rows = *store_->ledger(run, "a", 1, 100);
  for (const auto& row : rows) types.push_back(text_in(*parse_json(row.line), "type"));
  EXPECT_EQ(types, (std::vector<std::string>{"pre_execute", "agent", "usage", "resume", "pre_execute",
                                             "usage", "executed", "attempt"}));
}

TEST_P(Reports, AnAgentReservesWhatIsLeftAndTheOthersWait) {
  const std::string run = create({{"a", "b"}}, true);
  ASSERT_TRUE(store_->operator_budget(run, kTokens, 1000, {}, now_));
  const Claim a = claim("one"), b = claim("two");
  EXPECT_EQ(begin(a, agent("of a")).tokens, 1000);
  EXPECT_FALSE(begin(b, agent("of b")).started) << "nothing is left to reserve";
  EXPECT_FALSE(store_->claim(request("two"))->claim);
  auto end = ended("of a");
  end.reported = reported(1, 2);
  const auto gate = store_->begin_step(a.lease, marker("gate", 1), {.result = end}, now_);
  ASSERT_TRUE(gate && gate->started) << "a gate spends no tokens";
  EXPECT_EQ(budget(run, kTokens).spent, 200);
  const Claim later = claim("two");
  EXPECT_EQ(later.phase.phase_id, "b");
  EXPECT_EQ(begin(later, agent("b again", 300)).tokens, 300) << "no more than it asks for";
  EXPECT_EQ(budget(run, kTokens).reserved, 300);
}

TEST_P(Reports, EachBudgetThatNearsItsEndIsTold) {
  const std::string run = create({{"a"}});
  ASSERT_TRUE(store_->operator_budget(run, kTokens, 210, {}, now_));
  ASSERT_TRUE(store_->operator_budget(run, kUsdNanos, 11, {}, now_));
  const Claim held = claim();
  begin(held, agent("one"));
  auto end = ended("one");
  end.reported = reported(1, 2);
  const auto gate = store_->begin_step(held.lease, marker("gate", 1), {.result = end}, now_);
  ASSERT_TRUE(gate);
  ASSERT_EQ(gate->warnings.size(), 2U);
  EXPECT_EQ(gate->warnings[0].unit, kTokens);
  EXPECT_EQ(gate->warnings[1].unit, kUsdNanos);
}

TEST_P(Reports, AnAgentThatTellsTheHighestNumbersBreaksNothing) {
  const std::string run = create({{"a"}});
  const Claim held = claim();
  begin(held, agent("one"));
  auto end = ended("one");
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  end.reported.last_seq = 3;
  for (std::int64_t seq = 1; seq <= 3; ++seq)
    end.reported.usage.push_back(
        {.told_seq = seq, .input_tokens = kMost, .output_tokens = kMost, .usd_nanos = kMost, .line = "{}"});
  ASSERT_TRUE(store_->begin_step(held.lease, marker("gate", 1), {.result = end}, now_));
  EXPECT_GE(budget(run, kTokens).spent, 9'000'000'000'000'000'000) << "it ends at the top";
  EXPECT_FALSE(store_->budgets(run)->empty());
}

TEST_P(Reports, GatesGoOnThoughWhatAgentsSpendIsSpent) {
  for (const auto unit : {kTokens, kUsdNanos}) {
    const std::string run = create({{"a"}}, false, true, 10'000);
    ASSERT_TRUE(store_->operator_budget(run, unit, unit == kTokens ? 200 : 10, {}, now_));
    auto request_of_run = request();
    request_of_run.run_ids = {run};
    const Claim held = *store_->claim(request_of_run)->claim;
    const std::string agent_id = "agent of " + run;
    begin(held, agent(agent_id));
    auto end = ended(agent_id);
    end.reported = reported(1, 2);
    end.duration_ms = 12'000;
    const auto gate =
        store_->begin_step(held.lease, marker("gate of " + run, 1, 1000), {.result = end}, now_);
    ASSERT_TRUE(gate && !gate->started) << "the seconds are spent, too";
    EXPECT_EQ(store_->claim(request_of_run)->not_claimable, NotClaimable::kBudget);
    ASSERT_TRUE(store_->operator_budget(run, kSandboxMs, 20'000, {}, now_));
    const auto again = *store_->claim(request_of_run);
    ASSERT_TRUE(again.claim) << unit << ": " << again.waits_for;
    EXPECT_TRUE(again.claim->continued) << "a gate spends neither tokens nor money";
    ASSERT_TRUE(finish(*again.claim, step(*again.claim, 1, 1000), "failed_retryable"));
    EXPECT_EQ(store_->claim(request_of_run)->not_claimable, NotClaimable::kBudget) << "the next agent waits";
  }
}

PAWL_STORE_CONTRACT(Reports);

}  // namespace
}  // namespace pawl::store
