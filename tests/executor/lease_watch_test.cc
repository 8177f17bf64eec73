// When an executor sees that its lease is lost.
#include "executor/lease_watch.h"

#include <gtest/gtest.h>

#include <string>

#include "support/store_fixture.h"

namespace pawl::executor {
namespace {

// Stands still until a test moves it.
class HandClock final : public os::Clock {
 public:
  WallTime wall() const override { return wall_; }
  MonoTime mono() const override { return mono_; }
  std::string mono_id() const override { return ""; }
  void sleep_ms(std::int64_t) const override {}
  std::int64_t utc_offset_seconds(WallTime) const override { return 0; }
  void pass_ms(std::int64_t ms) {
    wall_ = wall_.plus_ms(ms);
    mono_.micros += ms * 1000;
  }

 private:
  WallTime wall_{1'767'323'045'000'000};
  MonoTime mono_{5'000'000};
};

constexpr std::int64_t kLeaseMs = 30'000, kLookMs = 1000;

class LeaseWatchTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    run_id_ = create({{"a"}});
    claim_ = claim();
  }
  LeaseWatch watch() { return {*store_, clock_, claim_.lease, kLeaseMs}; }

  HandClock clock_;
  std::string run_id_;
  store::Claim claim_;
};

TEST_F(LeaseWatchTest, ALeaseThatWasSeenLostStaysLost) {
  auto watch = this->watch();
  EXPECT_FALSE(watch.is_lost());
  ASSERT_TRUE(store_->operator_cancel(run_id_, "a", {}, now_));
  EXPECT_FALSE(watch.is_lost()) << "the store is asked once a second";
  EXPECT_FALSE(watch.was_lost());
  clock_.pass_ms(kLookMs);
  EXPECT_TRUE(watch.is_lost());
  EXPECT_TRUE(watch.is_lost()) << "also before the store is asked again";
  EXPECT_TRUE(watch.was_lost());
}

TEST_F(LeaseWatchTest, ALeaseIsExtendedWhenAThirdOfItHasPassed) {
  auto watch = this->watch();
  const std::string claimed = phase(run_id_, "a").lease_expires_at;
  clock_.pass_ms(kLeaseMs / 3 - 1);
  EXPECT_FALSE(watch.is_lost());
  EXPECT_EQ(phase(run_id_, "a").lease_expires_at, claimed);
  clock_.pass_ms(1);
  EXPECT_FALSE(watch.is_lost());
  EXPECT_EQ(phase(run_id_, "a").lease_expires_at, rfc3339(clock_.wall().plus_ms(kLeaseMs)));
}

}  // namespace
}  // namespace pawl::executor
