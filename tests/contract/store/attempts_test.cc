// The verbs of the store on a real file: transactions, fences, counters, migrations.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "contract/store/contract.h"
#include "os/clock.h"
#include "store/store.h"
#include "store/transition.h"

namespace pawl::store {
namespace {

class Attempts : public StoreContract {
 protected:
  // The only phase fails, and its next attempt waits for five seconds.
  void fail_with_backoff() {
    create({{"a"}});
    const auto held = claim();
    auto end = verdict("failed_retryable");
    end.not_before = rfc3339(now_.plus_ms(5000));
    ASSERT_TRUE(store_->finish(
        held.lease, {.result = ended(step(held))}, end, [](const auto&, const auto&) { return false; },
        now_));
  }
};

TEST_P(Attempts, ClaimReservesBeforeAnythingRuns) {
  const auto run = create({{"a", "b"}, {"c"}});
  const auto first = claim();
  EXPECT_EQ(first.phase.phase_id, "a");
  EXPECT_EQ(first.phase.attempts_used, 1);
  EXPECT_EQ(first.attempt.number, 1);
  EXPECT_EQ(first.attempt.model, "m1");
  EXPECT_FALSE(first.continued);
  const auto row = phase(run, "a");
  EXPECT_EQ(row.state, PhaseState::kExecuting);
  EXPECT_EQ(row.fence, first.lease.fence);
  const auto other = *store_->claim(request("other"));
  EXPECT_FALSE(other.claim) << "the tier is not parallel";
  EXPECT_EQ(other.not_claimable, NotClaimable::kLeased);
}

TEST_P(Attempts, ACrashDoesNotReserveAgain) {
  const auto run = create({{"a"}});
  const auto first = claim("dead");
  step(first);
  auto again = request("me");
  again.owner_is_dead = [](std::string_view owner) { return owner == "dead"; };
  const auto second = *store_->claim(again);
  ASSERT_TRUE(second.claim) << second.waits_for;
  EXPECT_TRUE(second.claim->continued);
  EXPECT_EQ(second.claim->phase.attempts_used, 1);
  EXPECT_GT(second.claim->lease.fence, first.lease.fence);
  EXPECT_EQ(second.claim->steps.size(), 1U);
  // The first owner, taken for dead, can commit no verb any more.
  EXPECT_EQ(store_->heartbeat(first.lease, now_, {}, 1000).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(finish(first, "s1", "passed").error().kind, ErrorKind::kConflict);
  EXPECT_TRUE(finish(*second.claim, "s1", "passed"));
  EXPECT_EQ(phase(run, "a").state, PhaseState::kComplete);
}

TEST_P(Attempts, LeasesExpireAndAreExtended) {
  create({{"a"}});
  const auto first = claim("elsewhere");
  now_.micros += 29'000'000;
  EXPECT_TRUE(store_->heartbeat(first.lease, now_, {}, 30'000));
  now_.micros += 29'000'000;
  EXPECT_FALSE(store_->claim(request())->claim) << "it was extended";
  now_.micros += 2'000'000;
  EXPECT_TRUE(store_->claim(request())->claim);
}

// A process with the holder's monotonic clock uses that clock; all others use the wall clock.
TEST_P(Attempts, AWallClockThatJumpsEndsNoLease) {
  create({{"a"}});
  auto mine = request("me"), yours = request("you");
  mine.mono_id = yours.mono_id = "boot";
  mine.mono = yours.mono = {1'000'000};
  const Lease lease = store_->claim(mine)->claim->lease;
  yours.now = now_.plus_ms(7'200'000);
  EXPECT_EQ(store_->claim(yours)->not_claimable, NotClaimable::kLeased);
  yours.mono = {31'000'000};
  ASSERT_TRUE(store_->heartbeat(lease, now_, {20'000'000}, 30'000));
  EXPECT_EQ(store_->claim(yours)->not_claimable, NotClaimable::kLeased) << "it was extended";
  yours.now = now_.plus_ms(-7'200'000);
  yours.mono = {50'000'000};
  EXPECT_TRUE(store_->claim(yours)->claim) << "30 seconds passed, whatever the wall says";

  mine.run_ids = yours.run_ids = {create({{"b"}})};
  ASSERT_TRUE(store_->claim(mine)->claim);
  yours.mono_id = "another boot";
  yours.now = mine.now.plus_ms(29'000);
  EXPECT_FALSE(store_->claim(yours)->claim);
  yours.now = mine.now.plus_ms(31'000);
  EXPECT_TRUE(store_->claim(yours)->claim);
}

TEST_P(Attempts, AFailedAttemptKeepsThePhaseUntilTheLast) {
  const auto run = create({{"a", "b"}});
  auto held = claim();
  auto finished = finish(held, step(held), "failed_retryable");
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->state, PhaseState::kExecuting);
  EXPECT_EQ(phase(run, "a").lease_owner, "");
  held = claim();
  EXPECT_EQ(held.attempt.number, 2);
  EXPECT_TRUE(held.previous);
  finished = finish(held, step(held), "failed_retryable");
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->state, PhaseState::kFailed) << "the last one decides in the same transaction";
  EXPECT_EQ(finished->outcome, PhaseOutcome::kEscalate);
  EXPECT_TRUE(finished->run_ended) << "on_failure: stop";
  EXPECT_EQ(phase(run, "b").state, PhaseState::kSkipped);
  EXPECT_EQ(store_->run(run)->state, RunState::kFailed);
  EXPECT_EQ(store_->claim(request())->not_claimable, NotClaimable::kAllTerminal);
}

TEST_P(Attempts, ATierWaitsForTheOneBefore) {
  const auto run = create({{"a", "b"}, {"c"}}, true);
  const auto a = claim("1"), b = claim("2");
  EXPECT_EQ(b.phase.phase_id, "b");
  EXPECT_FALSE(store_->claim(request("3"))->claim);
  ASSERT_TRUE(finish(a, step(a), "passed"));
  EXPECT_FALSE(store_->claim(request("3"))->claim);
  ASSERT_TRUE(finish(b, step(b), "passed"));
  EXPECT_EQ(claim("3").phase.phase_id, "c");
  EXPECT_EQ(store_->accepted_layers(run)->size(), 2U);
}

// Otherwise its reservation is never released, and the earlier phase may wait for that budget.
TEST_P(Attempts, AnAttemptThatBeganGoesOnWhateverAnOperatorQueuesBeforeIt) {
  for (const auto& tiers : {std::vector<std::vector<std::string>>{{"a"}, {"b"}}, {{"a", "b"}}}) {
    const auto run = create(tiers, false, true, 1000);
    ASSERT_TRUE(store_->operator_skip(run, "a", {}, now_));
    auto next = request("dead");
    next.run_ids = {run};
    const auto b = *store_->claim(next)->claim;
    ASSERT_EQ(b.phase.phase_id, "b");
    const auto id = step(b, 0, 1000);  // the whole budget
    ASSERT_TRUE(store_->operator_retry(run, "a", {}, now_));
    next.owner = "me";
    EXPECT_EQ(store_->claim(next)->not_claimable, NotClaimable::kReserved)
        << "whoever has the step will give it back";
    next.owner_is_dead = dead_;
    const auto again = *store_->claim(next);
    ASSERT_TRUE(again.claim) << again.waits_for;
    EXPECT_EQ(again.claim->phase.phase_id, "b");
    EXPECT_TRUE(again.claim->continued);
    ASSERT_TRUE(finish(*again.claim, id, "failed_retryable"));
    EXPECT_EQ(store_->claim(next)->claim->phase.phase_id, "a") << "a new attempt waits for its turn";
  }
}

// Workers of one process remember that they hold all phases of a tier, and look first for work elsewhere.
TEST_P(Attempts, AnAttemptThatBeganGoesOnThoughThisProcessHoldsTheTierBefore) {
  const auto run = create({{"a"}, {"b"}}, true);
  const auto of = [&](const std::string& owner) {
    auto out = request(owner);
    out.mono_id = "boot";
    out.mono = {1'000'000};
    return out;
  };
  ASSERT_TRUE(store_->operator_skip(run, "a", {}, now_));
  const auto began = *store_->claim(of("process/1"));
  ASSERT_TRUE(began.claim && began.claim->phase.phase_id == "b");
  step(*began.claim);
  ASSERT_TRUE(store_->operator_retry(run, "a", {}, now_));
  ASSERT_EQ(store_->claim(of("process/2"))->claim->phase.phase_id, "a");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(store_->claim(of("process/3"))->not_claimable, NotClaimable::kLeased) << "both are held";
  auto later = of("process/3");
  later.owner_is_dead = [](std::string_view owner) { return owner == "process/1"; };
  const auto again = *store_->claim(later);
  ASSERT_TRUE(again.claim) << again.waits_for;
  EXPECT_EQ(again.claim->phase.phase_id, "b");
  EXPECT_TRUE(again.claim->continued);
}

TEST_P(Attempts, AnAttemptIsAllOrNothing) {
  const auto run = create({{"a"}});
  const auto held = claim();
  const auto id = step(held);
  // A second result of the same step fails in the middle of the transaction.
  ASSERT_TRUE(store_->begin_step(held.lease,
                                 {.sandbox_run_id = "next",
                                  .step_index = 1,
                                  .gate_id = "g",
                                  .step_name = "s",
                                  .label = "l",
                                  .sandbox_spec_hash = "h"},
                                 {.result = ended(id)}, now_));
  const auto rows = store_->ledger(run, "a", 1, 100)->size();
  const auto failed = store_->finish(
      held.lease, {.result = ended(id)}, verdict("passed"), [](const auto&, const auto&) { return false; },
      now_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(store_->ledger(run, "a", 1, 100)->size(), rows);
  EXPECT_EQ(phase(run, "a").state, PhaseState::kExecuting);
  EXPECT_EQ(store_->cost_rows(run, 0)->size(), 1U);
  EXPECT_TRUE(finish(held, "next", "passed"));
  EXPECT_EQ(store_->cost_rows(run, 0)->size(), 2U);
  EXPECT_EQ(store_->cost_rows("", 1)->size(), 1U);
}

TEST_P(Attempts, AStepIsBegunThreeTimesAtMost) {
  create({{"a"}});
  const auto held = claim();
  std::string id = step(held);
  for (std::int64_t execution = 2; execution <= 4; ++execution) {
    const std::string next = id + "x";
    const ResumeDecision lost{.sandbox_run_id = id,
                              .label = "l",
                              .found = RecoveryFound::kNothing,
                              .decision = RecoveryDecision::kReExecute,
                              .lost_cost_row = "{}"};
    const auto begun = store_->begin_step(held.lease,
                                          {.sandbox_run_id = next,
                                           .gate_id = "agent",
                                           .step_name = "run",
                                           .label = "l",
                                           .sandbox_spec_hash = "h",
                                           .execution = execution},
                                          {.resume = lost}, now_);
    EXPECT_EQ(begun.has_value(), execution <= kExecutionsPerStepMax) << execution;
    id = next;
  }
}

TEST_P(Attempts, OperatorsReopenWhatIsTerminalAndNothingElseDoes) {
  const auto run = create({{"a", "b"}});
  const auto held = claim();
  ASSERT_TRUE(finish(held, step(held), "failed_unrecoverable"));
  EXPECT_EQ(phase(run, "b").state, PhaseState::kSkipped);
  const auto changed = store_->operator_retry(run, "a", {.uid = 7, .reason = "again"}, now_);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(*changed, (std::vector<std::string>{"a", "b"})) << "with what was skipped because of it";
  const auto row = phase(run, "a");
  EXPECT_EQ(row.state, PhaseState::kQueued);
  EXPECT_EQ(row.attempts_used, 0);
  EXPECT_EQ(row.attempts_total, 1);
  EXPECT_EQ(row.revision, 1);
  EXPECT_EQ(store_->run(run)->state, RunState::kExecuting);
  EXPECT_EQ(store_->operator_retry(run, "a", {}, now_).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(claim().attempt.number, 2) << "attempts are numbered for ever";
  ASSERT_TRUE(store_->operator_cancel(run, "a", {}, now_));
  EXPECT_EQ(phase(run, "a").state, PhaseState::kCancelled);
}

TEST_P(Attempts, ManyProcessesOnOneFileShareTheWork) {
  constexpr int kThreads = 4, kPhases = 40;
  std::vector<std::string> names;
  for (int i = 0; i < kPhases; ++i) names.push_back("p" + std::to_string(i));
  const auto run = create({names}, true);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const auto store = this->open();
      for (;;) {
        auto found = *store->claim(request("worker" + std::to_string(thread)));
        if (!found.claim) return;
        const auto done = store->finish(
            found.claim->lease, {}, verdict("passed"), [](const auto&, const auto&) { return false; }, now_);
        ASSERT_TRUE(done) << done.error().message;
      }
    });
  for (auto& thread : threads) thread.join();
  const auto phases = *store_->phases(run);
  for (const auto& row : phases) {
    EXPECT_EQ(row.state, PhaseState::kComplete) << row.phase_id;
    EXPECT_EQ(row.attempts_total, 1) << row.phase_id;
  }
}

TEST_P(Attempts, CallsOfTheDoctorAreCountedWithTheirMarkers) {
  const auto run = create({{"a", "b", "c", "d", "e", "f"}}, true);
  std::vector<Claim> held;
  for (int i = 0; i < 6; ++i) held.push_back(claim(std::to_string(i)));
  std::map<std::size_t, std::string> open;  // by claim: the open step, which its next step ends
  int id = 0;
  const auto ask = [&](std::size_t who, std::int64_t execution) {
    const StepStart start{.sandbox_run_id = "d" + std::to_string(++id),
                          .step_index = id,
                          .gate_id = "doctor",
                          .step_name = "run",
                          .label = "x",
                          .sandbox_spec_hash = "h",
                          .execution = execution,
                          .counted = Counted::kDoctorCall};
    std::optional<StepEnd> previous;
    if (open.contains(who)) previous = ended(open[who]);
    auto begun = store_->begin_step(held[who].lease, start, {.result = previous}, now_);
    if (begun) open[who] = start.sandbox_run_id;
    return begun;
  };
  EXPECT_TRUE(ask(0, 1));
  EXPECT_TRUE(ask(0, 2)) << "of the same call";
  EXPECT_EQ(phase(run, "a").doctor_calls, 1);
  EXPECT_TRUE(ask(0, 1));
  EXPECT_EQ(ask(0, 1).error().kind, ErrorKind::kExhausted) << "two a phase";
  for (const std::size_t who : {1U, 2U, 3U, 4U}) EXPECT_TRUE(ask(who, 1) && ask(who, 1));
  EXPECT_EQ(store_->run(run)->doctor_calls, 10);
  EXPECT_EQ(ask(5, 1).error().kind, ErrorKind::kExhausted) << "ten a run";
  EXPECT_EQ(phase(run, "f").doctor_calls, 0) << "and nothing is written of one too many";
}

TEST_P(Attempts, AReplanStartsARevisionAndTakesNothingElseBack) {
  const auto run = create({{"a"}});
  auto held = claim();
  ASSERT_TRUE(finish(held, step(held), "failed_retryable"));
  held = claim();
  auto end = verdict("escalate");
  end.action = Action::kReplan;
  end.goal = "another way";
  end.action_reason = "replanned: stuck";
  end.advice = {{.hook = "replan", .sandbox_run_id = "r", .understood = true, .goal = "another way"}};
  const auto finished = store_->finish(
      held.lease, {.result = ended(step(held))}, end, [](const auto&, const auto&) { return false; }, now_);
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_EQ(finished->state, PhaseState::kExecuting);
  const auto row = phase(run, "a");
  EXPECT_EQ(std::tuple(row.attempts_used, row.attempts_total, row.revision, row.escalation_level),
            std::tuple(0, 2, 1, 1));
  EXPECT_EQ(row.lease_owner, "");
  EXPECT_EQ(claim().revised_goal, "another way");
}

TEST_P(Attempts, AnAbortCancelsWhatIsNotTerminal) {
  const auto run = create({{"a", "b"}, {"c"}}, true);
  const auto a = claim("1"), b = claim("2");
  const auto running = step(b);
  auto end = verdict("failed_retryable");
  end.action = Action::kAbortRun;
  end.action_reason = "doctor: abort_run";
  end.isolation_class = "microvm";
  const auto finished = store_->finish(
      a.lease, {.result = ended(step(a))}, end, [](const auto&, const auto&) { return false; }, now_);
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_TRUE(finished->run_ended);
  EXPECT_EQ(finished->ended_steps, std::vector<std::string>{running});
  EXPECT_EQ(read_cost_row(store_->cost_rows(run, 0)->back())->gate_isolation_class, "microvm");
  EXPECT_EQ(phase(run, "a").outcome, PhaseOutcome::kFailedUnrecoverable);
  EXPECT_EQ(phase(run, "b").state, PhaseState::kCancelled);
  EXPECT_EQ(phase(run, "c").state, PhaseState::kCancelled);
  EXPECT_EQ(finish(b, running, "passed").error().kind, ErrorKind::kConflict) << "a late result is refused";
}

TEST_P(Attempts, TheNextAttemptWaitsAsLongAsItsAttemptSays) {
  fail_with_backoff();
  EXPECT_EQ(store_->claim(request())->not_claimable, NotClaimable::kNotBefore);
  now_ = now_.plus_ms(5001);
  EXPECT_EQ(claim().phase.not_before, "");
}

// The clock is set back by an hour: the phase would wait that long. The simulator found it.
TEST_P(Attempts, AClockThatWasSetBackDoesNotMakeAPhaseWait) {
  fail_with_backoff();
  now_ = now_.plus_ms(-3'600'000);
  claim();
}

TEST_P(Attempts, PagesHoldWhatWasAskedFor) {
  const auto run = create({{"a", "b", "c"}});
  for (int i = 0; i < 2; ++i) {
    const auto claimed = claim();
    const auto agent = step(claimed);
    ASSERT_TRUE(store_->begin_step(claimed.lease, marker("gate-" + std::to_string(i), 1),
                                   {.result = ended(agent)}, now_));
    ASSERT_TRUE(finish(claimed, "gate-" + std::to_string(i), "failed_retryable"));
  }
  const auto first = *store_->first_phases(run, 2);
  ASSERT_EQ(first.size(), 2);
  EXPECT_EQ(first[0].phase_id, "a");
  EXPECT_EQ(first[1].phase_id, "b");
  EXPECT_EQ(store_->phase(run, "c")->phase_index, 2);
  EXPECT_EQ(store_->phase(run, "d").error().kind, ErrorKind::kNotFound);

  const auto newest = *store_->attempts_before(run, "a", 1000, 1);
  ASSERT_EQ(newest.size(), 1);
  EXPECT_EQ(newest[0].number, 2);
  const auto older = *store_->attempts_before(run, "a", 2, 10);
  ASSERT_EQ(older.size(), 1);
  EXPECT_EQ(older[0].number, 1);
  const auto steps = *store_->steps_of_attempt(run, "a.2");
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].step_index, 0);
  EXPECT_EQ(steps[1].sandbox_run_id, "gate-1");
}

PAWL_STORE_CONTRACT(Attempts);

}  // namespace
}  // namespace pawl::store
