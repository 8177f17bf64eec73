// Group commit: verbs of several threads share transactions, and each behaves as if it were alone.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "support/store_fixture.h"

namespace pawl::store {
namespace {

class GroupTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    group_ = *open_store_group("sqlite:" + path_, std::make_shared<PlainSealer>());
  }
  std::unique_ptr<Store> member() { return *group_->open(); }

  // Makes a claim whose group stays open until `others` threads join it.
  Result<ClaimResult> slow_claim(Store& store, const std::string& owner, int others) {
    auto slow = request(owner);
    slow.model_of_attempt = [this, others](const auto&, auto) {
      leads_ = true;
      wait_until([&] { return joining_ >= others; });
      // The verbs of those threads come next.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return std::string("m");
    };
    return store.claim(slow);
  }
  // Each of the other threads calls it before its verb.
  void join() {
    wait_until([&] { return leads_.load(); });
    ++joining_;
  }
  static void wait_until(const auto& holds) {
    for (int i = 0; i < 30'000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(holds());
  }

  std::unique_ptr<StoreGroup> group_;
  std::atomic<bool> leads_ = false;
  std::atomic<int> joining_ = 0;
};

TEST_F(GroupTest, ANewDatabaseIsOpenedByManyAtOnce) {
  constexpr std::size_t kThreads = 8, kRounds = 40;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::string location = "sqlite:" + path_ + std::to_string(round);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        const auto store = open_store(location, std::make_shared<PlainSealer>());
        EXPECT_TRUE(store && (*store)->runs(1)) << (store ? "" : store.error().message);
      });
    for (auto& thread : threads) thread.join();
  }
}

TEST_F(GroupTest, WhatAVerbSaysIsThereForEverybodyWhenItReturns) {
  constexpr std::size_t kThreads = 16, kRounds = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kThreads * kRounds; ++i) names.push_back("p" + std::to_string(100 + i));
  const std::string run = create({names}, true);
  const auto rejects = [](const auto&, const auto&) { return false; };
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const auto mine = member(), others = open();
      for (std::size_t round = 0; round < kRounds; ++round) {
        const std::string id = std::to_string(thread) + "/" + std::to_string(round);
        const auto found = mine->claim(request(id));
        ASSERT_TRUE(found && found->claim);
        const Lease& lease = found->claim->lease;
        EXPECT_TRUE(*others->holds(lease));
        ASSERT_TRUE(mine->begin_step(lease, marker(id, 0), {}, now_));
        EXPECT_EQ(others->steps(run, lease.phase_id)->size(), 1U);
        ASSERT_TRUE(
            mine->finish(lease, {.result = ended(id)}, {.verdict = AttemptVerdict::kPassed}, rejects, now_));
        EXPECT_EQ(others->attempts(run, lease.phase_id)->at(0).verdict, AttemptVerdict::kPassed);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store_->run(run)->state, RunState::kComplete);
  EXPECT_EQ(store_->ledger(run, "", 1, 10'000)->size(), 2 + names.size());
  EXPECT_EQ(store_->cost_rows(run, 0)->size(), names.size());
}

TEST_F(GroupTest, AVerbThatFailsTakesOnlyItselfBack) {
  const std::string run = create({{"a", "b", "c"}}, true);
  const Claim b = claim("b");
  ASSERT_TRUE(store_->begin_step(b.lease, marker("taken", 0), {}, now_));
  const Claim other = claim("other");
  Result<ClaimResult> slow = fail(ErrorKind::kUnavailable, "not asked yet");
  std::thread leader([&] { slow = slow_claim(*member(), "leader", 2); });
  std::thread wrong([&] {
    join();
    // The marker with step index -1 fails after its reservation is written.
    const auto begun = member()->begin_step(other.lease, marker("wrong", -1, 1000), {}, now_);
    EXPECT_FALSE(begun);
  });
  std::thread stale([&] {
    join();
    Lease old = b.lease;
    old.fence -= 1;
    EXPECT_TRUE(member()->release(old)) << "a lost lease is no error";
    EXPECT_EQ(member()->begin_step(old, marker("late", 1), {}, now_).error().kind, ErrorKind::kConflict);
  });
  for (auto* thread : {&leader, &wrong, &stale}) thread->join();
  ASSERT_TRUE(slow && slow->claim);
  EXPECT_TRUE(*store_->holds(slow->claim->lease));
  EXPECT_TRUE(*store_->holds(b.lease));
  EXPECT_TRUE(store_->steps(run, other.phase.phase_id)->empty());
  EXPECT_TRUE(store_->ledger(run, other.phase.phase_id, 1, 10)->empty()) << "not even its row";
  EXPECT_EQ(store_->budgets(run)->front().reserved, 0) << "nor its reservation";
  EXPECT_EQ(store_->refusals(run)->size(), 1U) << "a refusal is kept";
}

// Workers of one process do not read again the phases that they hold. They see every event that frees one,
// from any process.
TEST_F(GroupTest, WhatIsHeldIsFoundAgainWhenItIsFree) {
  const std::string run = create({{"a", "b", "c"}}, true);
  const auto workers = member();
  MonoTime mono{1'000'000};
  const auto claims = [&](const std::string& worker) -> std::optional<Claim> {
    auto asked = request("process/" + worker);
    asked.mono = mono;
    asked.mono_id = "boot";
    auto result = workers->claim(asked);
    EXPECT_TRUE(result);
    if (result && !result->claim) {
      EXPECT_EQ(result->not_claimable, NotClaimable::kLeased) << result->waits_for;
    }
    return result ? std::move(result->claim) : std::nullopt;
  };
  const auto a = claims("1"), b = claims("2"), c = claims("3");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(c->phase.phase_id, "c");
  EXPECT_FALSE(claims("4"));
  EXPECT_FALSE(claims("4"));

  ASSERT_TRUE(workers->release(b->lease));
  const auto again = claims("4");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->phase.phase_id, "b") << "given back";
  EXPECT_FALSE(claims("5"));

  ASSERT_TRUE(store_->operator_cancel(run, "a", {}, now_));
  ASSERT_TRUE(store_->operator_retry(run, "a", {}, now_));
  const auto reopened = claims("5");
  ASSERT_TRUE(reopened);
  EXPECT_EQ(reopened->phase.phase_id, "a") << "by another process";
  EXPECT_FALSE(claims("6"));

  const auto failed = workers->finish(
      c->lease, {}, verdict("failed_retryable"), [](const auto&, const auto&) { return false; }, now_);
  ASSERT_TRUE(failed);
  EXPECT_EQ(claims("6")->phase.phase_id, "c") << "for its next attempt";
  EXPECT_FALSE(claims("7"));

  mono.micros += 60'000'000;
  EXPECT_EQ(claims("7")->phase.phase_id, "a") << "its lease has run out";
}

// A failed commit fails for all verbs that share it, and the next commit works.
TEST_F(GroupTest, WhatTheDiskRefusesHappenedForNobody) {
  const std::string run = create({{"a", "b"}}, true);
  const auto one = member(), two = member();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 1, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Result<ClaimResult> first = fail(ErrorKind::kNotFound, "not asked yet"), second = first;
  std::thread leader([&] { first = slow_claim(*one, "one", 1); });
  join();
  second = two->claim(request("two"));
  leader.join();
  setrlimit(RLIMIT_FSIZE, &before);
  for (const auto* claimed : {&first, &second}) {
    ASSERT_FALSE(*claimed);
    EXPECT_NE(claimed->error().kind, ErrorKind::kNotFound);
  }
  const auto phases = *store_->phases(run);
  for (const auto& phase : phases) EXPECT_EQ(phase.state, PhaseState::kQueued);
  EXPECT_TRUE(one->claim(request("one"))->claim);
  EXPECT_TRUE(two->claim(request("two"))->claim);
}

}  // namespace
}  // namespace pawl::store
