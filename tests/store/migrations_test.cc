// Migrations: when the schema may change, and what they protect.
#include "store/sqlite/migrations.h"

#include <gtest/gtest.h>

#include "os/clock.h"
#include "support/store_fixture.h"

namespace pawl::store {
namespace {

const OwnerIsDead kNobodyKnows = [](std::string_view) { return false; };

class MigrationsTest : public StoreTest {
 protected:
  ErrorKind refusal() {
    const auto down = migrate_down("sqlite:" + path_, false, kNobodyKnows);
    return down ? ErrorKind::kCancelled : down.error().kind;
  }
  // A claim whose monotonic clock is this host's, and whose wall clock is `hours` off.
  ClaimRequest off_by(std::int64_t hours) const {
    auto out = ClaimRequest{.owner = "me", .now = clock_.wall().plus_ms(hours * 3'600'000)};
    out.mono = clock_.mono();
    out.mono_id = clock_.mono_id();
    return out;
  }
  void down_to(std::int64_t version) {
    while (schema_status("sqlite:" + path_)->database > version)
      ASSERT_TRUE(migrate_down("sqlite:" + path_, false, kNobodyKnows));
  }
  static constexpr std::int64_t kApproved = 16;  // the migration that adds `approved`
  static constexpr std::int64_t kWaits = 18;     // that of waits
  os::SystemClock clock_;
};

// The rows also stay in the order in which they were written.
TEST_F(MigrationsTest, RowsOfCostAndUsageStay) {
  create({{"a"}});
  const auto held = claim();
  ASSERT_TRUE(finish(held, step(held), "passed"));
  auto connection = *sqlite::connect(path_);
  const auto changes = [&](const std::string& statement) {
    return connection->run_script(statement).has_value();
  };
  ASSERT_TRUE(changes(
      "INSERT INTO usage (run_id, phase_id, attempt_id, told_seq, line) SELECT run_id, 'a', 'a.1', 1, '{}' "
      "FROM runs"));
  for (const std::string table : {"cost", "usage"}) {
    const std::string copy = "INTO " + table + " SELECT * FROM " + table;
    for (const auto& statement :
         {"UPDATE " + table + " SET line = '{}'", "UPDATE OR REPLACE " + table + " SET " + table + "_seq = 7",
          "DELETE FROM " + table, "INSERT OR REPLACE " + copy, "REPLACE " + copy})
      EXPECT_FALSE(changes(statement)) << statement;
  }
  EXPECT_EQ(store_->cost_rows("", 0)->size(), 1U);
  store_.reset();
  down_to(kApproved);
  EXPECT_TRUE(changes("UPDATE cost SET line = '{}'"));
}

TEST_F(MigrationsTest, AWallClockThatJumpsHidesNobodyWhoWorks) {
  create({{"a"}});
  ASSERT_TRUE(store_->claim(off_by(-2))->claim);
  EXPECT_EQ(refusal(), ErrorKind::kUnavailable) << "its lease has run out by the wall clock only";
}

TEST_F(MigrationsTest, ALeaseThatRanOutByTheHoldersClockIsNone) {
  create({{"a"}});
  auto late = off_by(2);
  late.lease_ms = 0;
  ASSERT_TRUE(store_->claim(late)->claim);
  EXPECT_TRUE(migrate_down("sqlite:" + path_, false, kNobodyKnows));
}

TEST_F(MigrationsTest, WhatWasApprovedIsNotTakenForPassedWithoutAWord) {
  const auto run = create({{"a"}});
  const auto held = claim();
  ASSERT_TRUE(finish(held, step(held), "escalate"));
  ASSERT_TRUE(store_->operator_approve(
      run, {.phase_id = "a", .attempt_id = "a.1", .layer = ""},
      [](const auto&, const auto&) { return false; }, {}, now_));
  EXPECT_EQ(phase(run, "a").outcome, PhaseOutcome::kApproved);
  store_.reset();
  down_to(kApproved);
  EXPECT_EQ(refusal(), ErrorKind::kDenied);
  ASSERT_TRUE(migrate_down("sqlite:" + path_, true, kNobodyKnows));
  ASSERT_TRUE(migrate_up("sqlite:" + path_, kNobodyKnows, &sealer_));
  store_ = open();
  EXPECT_EQ(phase(run, "a").outcome, PhaseOutcome::kPassed);
}

TEST_F(MigrationsTest, EndsThatAnOlderVersionLeftAreSealedByWhoHasTheKey) {
  create({{"a"}});
  step(claim());
  store_.reset();
  down_to(kWaits);
  EXPECT_EQ(migrate_up("sqlite:" + path_, kNobodyKnows, nullptr).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(schema_status("sqlite:" + path_)->database, kWaits) << "nothing happened";
  ASSERT_TRUE(migrate_up("sqlite:" + path_, kNobodyKnows, &sealer_));
  store_ = open();
  const auto late = [&] {
    auto again = request("next");
    again.owner_is_dead = [](std::string_view) { return true; };
    return store_->claim(again);
  };
  ASSERT_TRUE(late()) << "an attempt that an older version began goes on";
  auto attacker = *sqlite::connect(path_);
  ASSERT_TRUE(attacker->run_script("UPDATE open_chains SET seal = '' WHERE chain <> ''"));
  EXPECT_EQ(late().error().kind, ErrorKind::kForged)
      << "a seal that is cleared is not one of an older version";
}

TEST_F(MigrationsTest, AStepThatWaitedIsNotForgottenWithoutAWord) {
  create({{"a"}});
  const auto held = claim();
  const auto id = step(held);
  const ResumeDecision waits{.sandbox_run_id = id,
                             .label = "x",
                             .found = RecoveryFound::kUnauthorized,
                             .decision = RecoveryDecision::kWait,
                             .lost_cost_row = cost_row({.run_id = "r", .sandbox_run_id = id}),
                             .wait = Wait{.not_before = std::string(kUntilAPerson)}};
  ASSERT_TRUE(store_->wait(held.lease, {.resume = waits}, std::string(kUntilAPerson), now_));
  store_.reset();
  down_to(kWaits);
  EXPECT_EQ(refusal(), ErrorKind::kDenied);
  ASSERT_TRUE(migrate_down("sqlite:" + path_, true, kNobodyKnows));
  auto old = *sqlite::connect(path_);
  EXPECT_FALSE(old->run_script("UPDATE steps SET execution = 4"));
  EXPECT_TRUE(old->run_script("UPDATE steps SET execution = 3"));
  ASSERT_TRUE(migrate_up("sqlite:" + path_, kNobodyKnows, &sealer_));
  EXPECT_TRUE(old->run_script("UPDATE steps SET execution = 4"));
  EXPECT_TRUE(old->run_script("UPDATE steps SET execution = 103"));
  EXPECT_FALSE(old->run_script("UPDATE steps SET execution = 104"));
  EXPECT_TRUE(old->run_script("UPDATE phases SET not_before = '' WHERE not_before <> ''"));
}

// A connection that has read the old schema stays open during the migration.
TEST_F(MigrationsTest, AnOpenDatabaseTakesTheNewWordAtOnce) {
  create({{"a"}});
  store_.reset();
  down_to(kApproved - 1);
  auto early = *sqlite::connect(path_);
  ASSERT_TRUE(early->run_script("SELECT outcome FROM phases"));
  const std::string approve = "UPDATE phases SET state = 'COMPLETE', outcome = 'approved'";
  EXPECT_FALSE(early->run_script(approve));
  ASSERT_TRUE(migrate_up("sqlite:" + path_, kNobodyKnows, &sealer_));
  EXPECT_TRUE(early->run_script(approve));
}

TEST_F(MigrationsTest, TwoWhoGoDownTakeOneVersionBackEachOrNone) {
  auto connection = *sqlite::connect(path_);
  const auto before = *sqlite::status_of(*connection);
  ASSERT_TRUE(migrate_down("sqlite:" + path_, false, kNobodyKnows));
  EXPECT_EQ(sqlite::take_back_newest(*connection, before, false, kNobodyKnows).error().kind,
            ErrorKind::kUnavailable);
  EXPECT_EQ(schema_status("sqlite:" + path_)->database, before.database - 1);
}

}  // namespace
}  // namespace pawl::store
