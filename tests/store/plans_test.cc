// The rows of a plan: made with the run, read by claims, made later for runs without them.
#include <gtest/gtest.h>

#include "support/store_fixture.h"

namespace pawl::store {
namespace {

class PlansTest : public StoreTest {
 protected:
  // Makes the database as after a migration: it has the plan's text and no plan rows.
  void forget_rows() {
    while (schema_status("sqlite:" + path_)->database > kBefore)
      ASSERT_TRUE(migrate_down("sqlite:" + path_, true, [](std::string_view) { return true; }));
    ASSERT_TRUE(migrate_up(
        "sqlite:" + path_, [](std::string_view) { return true; }, &sealer_));
    store_ = open();
  }
  static constexpr std::int64_t kBefore = 10;  // the next migration adds plan rows
  const PlanRows rows_{.common = "c",
                       .phases = {{.tier_index = 0, .phase_index = 0, .row = "row of a"},
                                  {.tier_index = 0, .phase_index = 1, .row = "row of b"}}};
};

TEST_F(PlansTest, AClaimHasTheRowOfItsPhaseAndWhatIsOfNone) {
  const auto run = create({{"a", "b"}}, true);
  EXPECT_EQ(claim().planned, "row of a");
  const auto second = claim();
  EXPECT_EQ(second.planned, "row of b");
  EXPECT_EQ(second.common, "c");
  EXPECT_EQ(*store_->plan_text(run), "p");
  EXPECT_EQ(*store_->planned_phase(run, "b"), "row of b");
  EXPECT_EQ(store_->planned_phase(run, "x").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(store_->plan_text("x").error().kind, ErrorKind::kCorrupt);
}

TEST_F(PlansTest, WhoKnowsWhatIsOfNoPhaseDoesNotReadIt) {
  create({{"a"}});
  auto knows = request();
  knows.has_common = [](const std::string&) { return true; };
  EXPECT_EQ((*store_->claim(knows)).claim->common, "");
}

TEST_F(PlansTest, TheModelIsChosenByWhatTheClaimHas) {
  create({{"a"}});
  auto asks = request();
  asks.model_of_attempt = [](const Claim& claim, std::int64_t) { return claim.common + claim.planned; };
  EXPECT_EQ((*store_->claim(asks)).claim->attempt.model, "crow of a");
}

TEST_F(PlansTest, NothingIsClaimedOfARunWithoutRowsUntilTheyAreMade) {
  const auto run = create({{"a", "b"}});
  forget_rows();
  const auto refused = store_->claim(request());
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->claim);
  EXPECT_EQ(refused->unplanned, run);
  EXPECT_EQ(phase(run, "a").attempts_used, 0);
  EXPECT_EQ(*store_->planned_common(run), "");
  EXPECT_EQ(*store_->plan_text(run), "p");
  ASSERT_TRUE(store_->put_plan(run, rows_));
  EXPECT_EQ(claim().planned, "row of a");
  ASSERT_TRUE(store_->put_plan(run, {.common = "other", .phases = {{.row = "other"}}}));
  EXPECT_EQ(*store_->planned_common(run), "c") << "what is there stays";
  EXPECT_EQ(*store_->planned_phase(run, "a"), "row of a");
}

TEST_F(PlansTest, NothingIsClaimedByRowsThatTheRunWasNotStartedWith) {
  const auto run = create({{"a", "b"}});
  forget_rows();
  auto other = rows_;
  other.phases.front().row = "another a";
  ASSERT_TRUE(store_->put_plan(run, other));
  EXPECT_EQ(store_->claim(request()).error().kind, ErrorKind::kForged);
}

}  // namespace
}  // namespace pawl::store
