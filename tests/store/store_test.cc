// The store on a SQLite file: migrations with the rows of runs, and what it refuses to open.
#include "store/store.h"

#include <gtest/gtest.h>

#include "os/clock.h"
#include "store/transition.h"
#include "support/store_fixture.h"

namespace pawl::store {
namespace {

TEST_F(StoreTest, MigratesDownAndUp) {
  EXPECT_EQ(schema_status("sqlite:" + path_)->database, schema_status("sqlite:" + path_)->program);
  const std::string run = create({{"a"}});
  const Claim held = claim();
  auto end = ended(step(held));
  end.run = R"({"duration_ms":1500})";
  end.duration_ms = 1500;
  const std::string second = "second";
  ASSERT_TRUE(store_->begin_step(held.lease, marker(second, 1), {.result = end}, now_));
  ASSERT_TRUE(store_->heartbeat(held.lease, os::SystemClock().wall(), {}, 60'000));
  const auto nobody_knows = [](std::string_view) { return false; };
  EXPECT_EQ(migrate_down("sqlite:" + path_, false, nobody_knows).error().kind, ErrorKind::kUnavailable)
      << "somebody works on it";
  ASSERT_TRUE(migrate_down("sqlite:" + path_, false, dead_));
  EXPECT_EQ(store_->claim(request()).error().kind, ErrorKind::kInvalid)
      << "it was opened with another schema";
  store_.reset();
  while (schema_status("sqlite:" + path_)->database > 1)
    ASSERT_TRUE(migrate_down("sqlite:" + path_, true, dead_)) << "all but the first keep the runs";
  EXPECT_EQ(schema_status("sqlite:" + path_)->pending,
            (std::vector<std::string>{"policies", "budgets", "leases", "forks", "open_chains", "agents",
                                      "episodes", "cost", "owed", "plans", "wide_rows", "plan_texts",
                                      "base_places", "judged", "approved", "cost_guards", "waits", "seals"}));
  ASSERT_TRUE(migrate_up("sqlite:" + path_, dead_, &sealer_));
  store_ = open();
  EXPECT_EQ(store_->runs(10)->size(), 1U);
  EXPECT_EQ(store_->budgets(run)->front().spent, 1500) << "what was spent before anybody counted";
  ASSERT_TRUE(store_->operator_budget(run, kSandboxMs, 60'000, {}, now_));
  store_.reset();
  while (schema_status("sqlite:" + path_)->database > 3)
    ASSERT_TRUE(migrate_down("sqlite:" + path_, true, dead_));
  EXPECT_EQ(migrate_down("sqlite:" + path_, false, dead_).error().kind, ErrorKind::kDenied)
      << "a cap would be lost";
  while (schema_status("sqlite:" + path_)->database > 1)
    ASSERT_TRUE(migrate_down("sqlite:" + path_, true, dead_));
  EXPECT_EQ(migrate_down("sqlite:" + path_, false, dead_).error().kind, ErrorKind::kDenied)
      << "runs are there";
  ASSERT_TRUE(migrate_down("sqlite:" + path_, true, dead_));
  EXPECT_FALSE(schema_status("sqlite:" + path_)->pending.empty());
  ASSERT_TRUE(migrate_up("sqlite:" + path_, dead_, &sealer_));
  store_ = open();
  EXPECT_TRUE(store_->runs(10)->empty());
}

// The column that a migration takes back does not reset the count.
TEST_F(StoreTest, CallsOfTheDoctorOutliveAMigration) {
  const auto run = create({{"a"}});
  auto start = marker("d", 1);
  start.gate_id = "doctor";
  start.counted = Counted::kDoctorCall;
  ASSERT_TRUE(store_->begin_step(claim().lease, start, {}, now_));
  store_.reset();
  while (schema_status("sqlite:" + path_)->database > 1)
    ASSERT_TRUE(migrate_down("sqlite:" + path_, true, dead_));
  ASSERT_TRUE(migrate_up("sqlite:" + path_, dead_, &sealer_));
  EXPECT_EQ(open()->run(run)->doctor_calls, 1);
}

TEST_F(StoreTest, EpisodesAreTakenBackOnlyOnRequest) {
  create({{"a"}});
  auto start = marker("agent", 1);
  start.episode = 1;
  ASSERT_TRUE(store_->begin_step(claim().lease, start, {}, now_));
  store_.reset();
  constexpr std::int64_t kOfEpisodes = 8;  // the migration that added the episodes' rows
  while (schema_status("sqlite:" + path_)->database > kOfEpisodes)
    ASSERT_TRUE(migrate_down("sqlite:" + path_, true, dead_));
  EXPECT_EQ(migrate_down("sqlite:" + path_, false, dead_).error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(migrate_down("sqlite:" + path_, true, dead_));
}

TEST_F(StoreTest, RefusesWhatItDoesNotKnow) {
  ASSERT_TRUE(os::write_atomically(temp_ / "text.db", std::string(5000, 'x')));
  EXPECT_EQ(open_store("sqlite:" + (temp_ / "text.db"), nullptr).error().kind, ErrorKind::kCorrupt);
  for (const char* other : {"postgresql://h/d", "mysql:x", "sqlite3:x", "http://h", "c:x"})
    EXPECT_EQ(open_store(other, nullptr).error().kind, ErrorKind::kInvalid) << other;
  EXPECT_EQ(file_of("mysql:x"), "");
  EXPECT_EQ(file_of("./mysql:x"), "./mysql:x");
  EXPECT_EQ(store_->run("no-such-run").error().kind, ErrorKind::kNotFound);
}

TEST(Transition, IsATable) {
  using enum PhaseState;
  using enum PhaseEvent;
  const std::map<PhaseEvent, std::vector<PhaseState>> legal = {
      {kClaim, {kQueued, kExecuting}},
      {kAttemptPassed, {kExecuting}},
      {kAttemptRetryable, {kExecuting}},
      {kAttemptUnrecoverable, {kExecuting}},
      {kAttemptEscalate, {kExecuting}},
      {kReplanned, {kExecuting}},
      {kDoctorSkip, {kExecuting}},
      {kRunAborted, {kQueued, kExecuting}},
      {kTierStopped, {kQueued}},
      {kOperatorRetry, {kFailed, PhaseState::kSkipped, PhaseState::kCancelled}},
      {kOperatorSkip, {kQueued, kExecuting, kFailed}},
      {kOperatorCancel, {kQueued, kExecuting}},
      {kOperatorApprove, {kFailed, PhaseState::kSkipped, PhaseState::kCancelled}},
  };
  for (const auto& [event, from] : legal)
    for (const auto state :
         {kQueued, kExecuting, kComplete, kFailed, PhaseState::kSkipped, PhaseState::kCancelled}) {
      PhaseRow row{.state = state, .attempts_used = 1, .max_attempts = 2};
      const bool expected = std::ranges::find(from, state) != from.end();
      EXPECT_EQ(apply(row, event).has_value(), expected)
          << static_cast<int>(event) << " from " << name(state);
    }
  for (const auto outcome : {PhaseOutcome::kEscalate, PhaseOutcome::kFailedUnrecoverable}) {
    const auto approved = apply({.state = kFailed, .outcome = outcome}, kOperatorApprove);
    EXPECT_EQ(approved->state, kComplete);
    EXPECT_EQ(approved->outcome, PhaseOutcome::kApproved) << "not what the gates passed";
  }
  PhaseRow last{.state = kExecuting, .attempts_used = 2, .max_attempts = 2};
  EXPECT_EQ(apply(last, kAttemptRetryable)->state, kFailed);
  EXPECT_EQ(apply(last, kAttemptRetryable)->outcome, PhaseOutcome::kEscalate);
}

}  // namespace
}  // namespace pawl::store
