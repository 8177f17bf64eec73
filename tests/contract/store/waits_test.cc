// Waits for the provider of an agent's model: nothing is spent, and the attempt goes on at its time.
#include <gtest/gtest.h>

#include "base/json.h"
#include "contract/store/contract.h"
#include "store/ledger_rows.h"

namespace pawl::store {
namespace {

constexpr std::int64_t kDelayMs = 90'000;

class Waits : public StoreContract {
 protected:
  ResumeDecision waits(const std::string& id, std::int64_t number, std::string not_before) const {
    const bool person = not_before == kUntilAPerson;
    return {.sandbox_run_id = id,
            .label = "x",
            .found = person ? RecoveryFound::kUnauthorized : RecoveryFound::kLimited,
            .decision = RecoveryDecision::kWait,
            .lost_cost_row = cost_row({.run_id = "r", .sandbox_run_id = id}),
            .wait = Wait{.number = number,
                         .provider = "openai",
                         .message = "no more",
                         .status = 429,
                         .source = person ? "person" : "provider",
                         .not_before = std::move(not_before),
                         .delay_ms = person ? 0 : kDelayMs}};
  }
  std::string later() const { return rfc3339(now_.plus_ms(kDelayMs)); }
  // The agent of the claim ends, and its phase waits.
  void wait(const Claim& held, const std::string& id, const std::string& not_before) {
    const auto waited =
        store_->wait(held.lease, {.resume = waits(id, held.waits.count + 1, not_before)}, not_before, now_);
    ASSERT_TRUE(waited) << waited.error().message;
  }
  // One more execution of the agent, which is refused again.
  void wait_once_more() {
    const auto held = claim();
    const auto execution = static_cast<std::int64_t>(held.steps.size()) + 1;
    auto start = marker("w" + std::to_string(execution), 0);
    start.execution = execution;
    start.waits = execution - 1;
    const auto begun = store_->begin_step(held.lease, start, {}, now_);
    ASSERT_TRUE(begun) << begun.error().message;
    wait(held, start.sandbox_run_id, later());
    now_ = now_.plus_ms(kDelayMs);
  }
  std::vector<std::string> types(const std::string& run) {
    std::vector<std::string> out;
    const auto rows = *store_->ledger(run, "a", 1, 1000);
    for (const auto& row : rows) out.push_back(text_in(*parse_json(row.line), "type"));
    return out;
  }
};

// The table has no column for it: a claim reads the rows.
TEST_P(Waits, AClaimHasTheWorkThatTheNextExecutionGoesOnFrom) {
  const auto run = create({{"a"}});
  const auto first = claim();
  EXPECT_TRUE(first.kept.empty());
  const auto id = step(first);
  auto lost = waits(id, 1, later());
  lost.kept_layer = "layer";
  ASSERT_TRUE(store_->wait(first.lease, {.result = {}, .resume = lost}, later(), now_));
  now_ = now_.plus_ms(kDelayMs);
  EXPECT_EQ(claim().kept, (KeptLayers{{id, "layer"}}));
  const auto rows = *store_->ledger(run, "a", 1, 100);
  const auto row = *parse_json(rows.at(rows.size() - 2).line);
  EXPECT_EQ(text_in(row, "type"), "resume");
  EXPECT_EQ(text_in(row, "layer"), "layer");
  KeptLayers of_another;
  EXPECT_TRUE(note_kept_layer(rows.at(rows.size() - 2), "a.2", of_another));
  EXPECT_TRUE(of_another.empty());
}

// An execution that began anew counts, whatever the lost one before it left.
TEST_P(Waits, AClaimKnowsThatAnExecutionBeganAnew) {
  const auto run = create({{"a"}});
  const auto first = claim();
  auto start = marker("w1", 0);
  start.not_continued = "credentials";
  ASSERT_TRUE(store_->begin_step(first.lease, start, {}, now_));
  const auto rows = *store_->ledger(run, "a", 1, 100);
  KeptLayers kept;
  EXPECT_TRUE(note_kept_layer(rows.back(), "a.1", kept));
  EXPECT_EQ(kept, (KeptLayers{{start.sandbox_run_id, std::nullopt}}));
}

// The work that an agent began on counts until its execution is lost.
TEST_P(Waits, AClaimHasTheWorkOfTheAttemptBeforeThatAnAgentBeganOn) {
  const auto run = create({{"a"}});
  const auto first = claim();
  auto start = marker("w1", 0);
  start.previous_layer = "before";
  ASSERT_TRUE(store_->begin_step(first.lease, start, {}, now_));
  const auto rows = *store_->ledger(run, "a", 1, 100);
  EXPECT_EQ(text_in(*parse_json(rows.back().line), "layer"), "before");
  const auto kept_after = [&](RecoveryDecision decision, std::optional<std::string> layer) {
    KeptLayers kept;
    EXPECT_TRUE(note_kept_layer(rows.back(), "a.1", kept));
    EXPECT_EQ(kept, (KeptLayers{{start.sandbox_run_id, "before"}}));
    const ResumeDecision lost = {
        .sandbox_run_id = start.sandbox_run_id, .decision = decision, .kept_layer = std::move(layer)};
    EXPECT_TRUE(note_kept_layer({.line = resume_row("a.1", lost).object()}, "a.1", kept));
    return kept;
  };
  EXPECT_EQ(kept_after(RecoveryDecision::kReattach, std::nullopt),
            (KeptLayers{{start.sandbox_run_id, "before"}}));
  EXPECT_EQ(kept_after(RecoveryDecision::kContinue, "after"), (KeptLayers{{start.sandbox_run_id, "after"}}));
  EXPECT_EQ(kept_after(RecoveryDecision::kReExecute, std::nullopt), KeptLayers());
}

TEST_P(Waits, AWaitSpendsNoAttemptAndIsClaimedAgainAtItsTime) {
  const auto run = create({{"a"}});
  const auto first = claim();
  wait(first, step(first), later());
  EXPECT_EQ(store_->claim(request())->not_claimable, NotClaimable::kNotBefore);
  const auto row = phase(run, "a");
  EXPECT_EQ(row.state, PhaseState::kExecuting);
  EXPECT_EQ(row.attempts_used, 1);
  EXPECT_EQ(row.not_before, later());
  EXPECT_EQ(row.lease_owner, "");
  now_ = now_.plus_ms(kDelayMs);
  const auto again = claim();
  EXPECT_TRUE(again.continued);
  EXPECT_EQ(again.attempt.attempt_id, first.attempt.attempt_id);
  EXPECT_EQ(again.phase.attempts_used, 1);
  EXPECT_EQ(again.phase.attempts_total, 1);
  EXPECT_EQ(again.waits.count, 1);
  EXPECT_EQ(again.waits.waited_ms, kDelayMs);
  ASSERT_EQ(again.steps.size(), 1U);
  EXPECT_EQ(again.steps[0].state, StepState::kLost);
  EXPECT_EQ(again.steps[0].decision, "wait");
  EXPECT_EQ(types(run), (std::vector<std::string>{"pre_execute", "resume", "waited"}));
  EXPECT_EQ(store_->cost_rows(run, 0)->size(), 1U);
}

TEST_P(Waits, TheRowSaysWhoRefusedAndUntilWhen) {
  const auto run = create({{"a"}});
  const auto held = claim();
  const auto id = step(held);
  wait(held, id, later());
  const auto row = *parse_json(store_->ledger(run, "a", 3, 1)->front().line);
  EXPECT_EQ(text_in(row, "refusal"), "limited");
  EXPECT_EQ(text_in(row, "provider"), "openai");
  EXPECT_EQ(integer_in(row, "status"), 429);
  EXPECT_EQ(text_in(row, "not_before"), later());
  EXPECT_EQ(text_in(row, "source"), "provider");
  EXPECT_EQ(text_in(row, "sandbox_run_id"), id);
  EXPECT_EQ(integer_in(row, "number"), 1);
}

TEST_P(Waits, ARefusedCredentialWaitsForAPersonWhateverTheTime) {
  const auto run = create({{"a"}});
  const auto held = claim();
  wait(held, step(held), std::string(kUntilAPerson));
  now_ = now_.plus_ms(400LL * 24 * 3600 * 1000);
  EXPECT_EQ(store_->claim(request())->not_claimable, NotClaimable::kPerson);
  EXPECT_EQ(store_->candidate(request())->waited_for->phase_id, "a");
  const auto changed = store_->operator_go_on(run, {.uid = 7}, now_);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(*changed, std::vector<std::string>{"a"});
  EXPECT_EQ(types(run).back(), "operator");
  EXPECT_TRUE(claim().continued);
  EXPECT_TRUE(store_->operator_go_on(run, {}, now_)->empty()) << "it does not wait any more";
}

TEST_P(Waits, APersonLetsAPhaseGoOnBeforeItsTime) {
  const auto run = create({{"a"}});
  const auto held = claim();
  wait(held, step(held), later());
  ASSERT_TRUE(store_->operator_go_on(run, {}, now_));
  EXPECT_EQ(claim().waits.count, 1);
}

TEST_P(Waits, ALostLeaseCanNotMakeAPhaseWait) {
  const auto run = create({{"a"}});
  const auto held = claim();
  const auto id = step(held);
  ASSERT_TRUE(store_->operator_cancel(run, "a", {}, now_));
  EXPECT_EQ(store_->wait(held.lease, {.resume = waits(id, 1, later())}, later(), now_).error().kind,
            ErrorKind::kConflict);
  EXPECT_EQ(phase(run, "a").not_before, "");
  EXPECT_EQ(store_->refusals(run)->size(), 1U);
}

TEST_P(Waits, ExecutionsThatWaitedAreNotSpent) {
  create({{"a"}});
  for (int i = 0; i < 5; ++i) wait_once_more();
  const auto held = claim();
  auto start = marker("last", 0);
  start.execution = 6;
  start.waits = 2;
  EXPECT_EQ(store_->begin_step(held.lease, start, {}, now_).error().kind, ErrorKind::kExhausted)
      << "four were spent";
  start.waits = 5;
  EXPECT_TRUE(store_->begin_step(held.lease, start, {}, now_));
  EXPECT_TRUE(finish(held, "last", "passed"));
}

TEST_P(Waits, NoAttemptWaitsMoreThanAHundredTimes) {
  create({{"a"}});
  for (std::int64_t i = 0; i < kWaitsPerAttemptMax; ++i) wait_once_more();
  const auto held = claim();
  EXPECT_EQ(held.waits.count, kWaitsPerAttemptMax);
  auto start = marker("last", 0);
  start.execution = kWaitsPerAttemptMax + 1;
  start.waits = kWaitsPerAttemptMax;
  ASSERT_TRUE(store_->begin_step(held.lease, start, {}, now_));
  EXPECT_EQ(
      store_->wait(held.lease, {.resume = waits("last", kWaitsPerAttemptMax + 1, later())}, later(), now_)
          .error()
          .kind,
      ErrorKind::kExhausted);
  EXPECT_TRUE(finish(held, "last", "escalate"));
}

TEST_P(Waits, AWaitThatNoRowSaysIsForged) {
  create({{"a"}});
  const auto held = claim();
  const auto id = step(held);
  const ResumeDecision lost{.sandbox_run_id = id,
                            .label = "x",
                            .decision = RecoveryDecision::kWait,
                            .lost_cost_row = cost_row({.run_id = "r", .sandbox_run_id = id})};
  ASSERT_TRUE(store_->end_step(held.lease, {.resume = lost}, now_));
  ASSERT_TRUE(store_->release(held.lease));
  EXPECT_EQ(store_->claim(request()).error().kind, ErrorKind::kForged);
}

PAWL_STORE_CONTRACT(Waits);

}  // namespace
}  // namespace pawl::store
