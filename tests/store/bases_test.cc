// Bases of attempts: a base is a place in the order of accepted work, and stays the same.
#include <sqlite3.h>

#include <map>

#include "base/json.h"
#include "store/overlap.h"
#include "support/store_fixture.h"

namespace pawl::store {
namespace {

using Layers = std::vector<std::string>;

class BasesTest : public StoreTest {
 protected:
  Layers base_of(const Claim& claim) { return *store_->base_layers(claim.attempt); }

  // `layer`: the layer that the phase leaves. `overlaps`: it overlaps every layer outside of its base.
  Finished pass(const Claim& claim, const std::string& id, const std::string& layer, bool overlaps = false) {
    auto end = verdict("passed");
    end.accepted_layer = layer;
    auto out = store_->finish(
        claim.lease, {.result = ended(id)}, end, [&](const auto&, const auto&) { return overlaps; }, now_);
    EXPECT_TRUE(out) << out.error().message;
    if (!out || !out->behind) return out.value_or(Finished());
    EXPECT_TRUE(store_->judge_again(claim.lease, {.result = ended(id)}, now_));
    auto again = store_->finish(
        claim.lease, {}, end, [](const auto&, const auto&) { return false; }, now_);
    EXPECT_TRUE(again && !again->behind);
    return again.value_or(Finished());
  }
  // Phase `b` of a run: its attempt is judged again on top of phase `a`, which passed beside it.
  Claim in_a_round() {
    create({{"a", "b"}}, true);
    const auto a = claim("1"), b = claim("2");
    pass(a, step(a), "la");
    EXPECT_TRUE(store_->judge_again(b.lease, {.result = ended(step(b))}, now_));
    return b;
  }
  AttemptRow newest(const std::string& run, const std::string& id) {
    return store_->attempts(run, id)->back();
  }
  void send_back(const Claim& claim, const std::string& id) {
    auto end = verdict("failed_retryable");
    end.failing_signals = {"parallel.merge"};
    ASSERT_TRUE(store_->finish(
        claim.lease, {.result = ended(id)}, end, [](const auto&, const auto&) { return false; }, now_));
  }

  // By attempt_id, as JSON arrays, like the column before the migration.
  std::map<std::string, std::string> bases(const std::string& run) {
    std::map<std::string, std::string> out;
    const auto phases = *store_->phases(run);
    for (const auto& phase : phases) {
      const auto attempts = *store_->attempts(run, phase.phase_id);
      for (const auto& attempt : attempts)
        out[attempt.attempt_id] = canonical(Json(*store_->base_layers(attempt)));
    }
    return out;
  }
  std::map<std::string, std::string> old_bases(const std::string& run) {
    std::map<std::string, std::string> out;
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    const std::string text = "SELECT attempt_id, base_layers FROM attempts WHERE run_id = '" + run + "'";
    const auto add = [](void* to, int, char** values, char**) {
      (*static_cast<std::map<std::string, std::string>*>(to))[values[0]] = values[1];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, text.c_str(), add, &out, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
    return out;
  }

  std::string sequential() {
    const auto run = create({{"one", "two"}, {"three", "four"}});
    for (const auto* layer : {"x", "", "x"}) {
      const auto held = claim();
      pass(held, step(held), layer);
    }
    EXPECT_EQ(base_of(claim()), (Layers{"x", "x"})) << "the same layer twice, and nothing of who left none";
    return run;
  }
  std::string parallel() {
    const auto run = create({{"a", "b"}, {"c", "d"}}, true);
    const auto a = claim("1"), b = claim("2");
    pass(a, step(a), "la");
    EXPECT_EQ(base_of(b), Layers());
    const auto first = step(b);
    EXPECT_TRUE(pass(b, first, "lb", true).overlapping) << "it did not see what was accepted since";
    send_back(b, first);
    const auto again = claim("2");
    EXPECT_EQ(base_of(again), Layers{"la"});
    EXPECT_FALSE(pass(again, step(again), "lb", true).overlapping) << "it works on that";
    const auto c = claim("1");
    pass(c, step(c), "la");
    const auto d = claim("2");
    EXPECT_EQ(base_of(d), (Layers{"lb", "la"})) << "not what its own tier has left by now";
    const auto second = step(d);
    EXPECT_TRUE(pass(d, second, "ld", true).overlapping);
    send_back(d, second);
    EXPECT_EQ(base_of(claim("2")), (Layers{"la", "lb", "la"}));
    return run;
  }
};

TEST_F(BasesTest, WhatAnOperatorTookMeanwhileIsNotHidden) {
  constexpr bool kParallel = false, kStop = false;
  const auto run = create({{"a"}, {"b"}}, kParallel, kStop);
  const auto a = claim();
  ASSERT_TRUE(finish(a, step(a), "escalate"));
  const auto b = claim();
  ASSERT_EQ(b.phase.phase_id, "b");
  const Approved work{.phase_id = "a", .attempt_id = a.attempt.attempt_id, .layer = "la"};
  ASSERT_TRUE(store_->operator_approve(
      run, work, [](const auto&, const auto&) { return false; }, {}, now_));
  const auto id = step(b);
  const auto hidden = pass(b, id, "lb", true).overlapping;
  ASSERT_TRUE(hidden) << "it did not see what the operator took";
  EXPECT_EQ(hidden->phase_id, "a");
  send_back(b, id);
  const auto again = claim();
  EXPECT_EQ(base_of(again), Layers{"la"});
  EXPECT_FALSE(pass(again, step(again), "lb", true).overlapping);
}

TEST_F(BasesTest, WhoPassesBesideOthersIsJudgedOnTopOfThem) {
  const auto run = create({{"a", "b", "c"}}, true);
  const auto a = claim("1"), b = claim("2"), c = claim("3");
  const auto none = [](const auto&, const auto&) { return false; };
  pass(a, step(a), "la");
  const auto id = step(b);
  auto end = verdict("passed");
  end.accepted_layer = "lb";
  const auto before = store_->ledger(run, "b", 1, 100)->size();
  EXPECT_TRUE(store_->finish(b.lease, {.result = ended(id)}, end, none, now_)->behind);
  EXPECT_EQ(phase(run, "b").state, PhaseState::kExecuting);
  EXPECT_EQ(store_->ledger(run, "b", 1, 100)->size(), before) << "nothing was written";
  const auto again = store_->judge_again(b.lease, {.result = ended(id)}, now_);
  ASSERT_TRUE(again);
  EXPECT_EQ(std::pair(again->attempt.joined_round, again->attempt.joined_merge_seq), std::pair(1L, 1L));
  EXPECT_EQ(*store_->base_layers(judged_on(newest(run, "b"))), Layers{"la"});
  EXPECT_EQ(*store_->base_layers(newest(run, "b")), Layers()) << "its agent's base stays";
  EXPECT_EQ(store_->attempts(run, "b")->size(), 1U) << "no attempt is spent";
  // Another layer is accepted meanwhile, so a second round is needed.
  pass(c, step(c), "lc");
  EXPECT_EQ(newest(run, "c").joined_round, 1);
  EXPECT_TRUE(store_->finish(b.lease, {}, end, none, now_)->behind);
  EXPECT_EQ(store_->judge_again(b.lease, {}, now_)->attempt.joined_round, 2);
  EXPECT_FALSE(store_->finish(b.lease, {}, end, none, now_)->behind);
  EXPECT_EQ(phase(run, "b").outcome, PhaseOutcome::kPassed);
  EXPECT_EQ(*store_->base_layers(judged_on(newest(run, "b"))), (Layers{"lc", "la"}));
  const auto late = store_->judge_again(b.lease, {}, now_);
  EXPECT_EQ(late.error().kind, ErrorKind::kConflict) << "the phase is over";
}

TEST_F(BasesTest, APageOfAttemptsSaysAllOfThem) {
  const auto b = in_a_round();
  const auto& run = b.run.run_id;
  const auto page = store_->attempts_before(run, "b", 2, 10);
  ASSERT_TRUE(page && page->size() == 1);
  EXPECT_EQ(page->front().joined_round, 1);
  EXPECT_EQ(page->front().joined_merge_seq, 1);
}

TEST_F(BasesTest, ARoundThatBeganIsSigned) {
  const auto b = in_a_round();
  const auto& run = b.run.run_id;
  store_ = open();  // a crash: the checks of the old store are lost
  step(b, 1'000'001);
  EXPECT_EQ(phase(run, "b").state, PhaseState::kExecuting);
}

TEST_F(BasesTest, WhoFailedTogetherStartsFromTheOthersFromThenOn) {
  const auto b = in_a_round();
  send_back(b, step(b, 1'000'001));
  EXPECT_EQ(base_of(claim("2")), Layers{"la"});
}

// Comparing reads files, and during a transaction all other writers wait.
TEST_F(BasesTest, WhatWasLookedAtBeforeIsNotComparedInTheTransaction) {
  constexpr std::int64_t kLayers = 300;  // more layers than one page has
  std::vector<std::string> ids{"late", "later"};
  for (std::int64_t i = 0; i < kLayers; ++i) ids.push_back("p" + std::to_string(i));
  create({ids}, true);
  const auto late = claim("late"), later = claim("later");
  for (std::int64_t i = 0; i < kLayers; ++i) {
    const auto held = claim();
    pass(held, step(held), "l" + std::to_string(i));
  }
  Layers compared;
  const auto compare = [&](const std::string& layer, const std::string& other) {
    EXPECT_EQ(layer, "mine");
    compared.push_back(other);
    return other == "l299";
  };
  auto looked = look_beside(*store_, late.attempt, "mine", 0, compare);
  ASSERT_TRUE(looked && looked->overlapping);
  EXPECT_EQ(looked->overlapping->phase_id, "p299");
  EXPECT_EQ(compared.size(), 300U);
  EXPECT_FALSE(look_beside(*store_, late.attempt, "", 0, compare)->overlapping) << "nothing hides nothing";

  looked = look_beside(*store_, later.attempt, "mine", 0, [](const auto&, const auto&) { return false; });
  EXPECT_EQ(looked->up_to, kLayers);
  pass(late, step(late), "newest");
  auto end = verdict("passed");
  end.accepted_layer = "mine";
  end.looked_up_to = looked->up_to;
  compared.clear();
  ASSERT_TRUE(store_->finish(later.lease, {.result = ended(step(later))}, end, compare, now_));
  EXPECT_EQ(compared, Layers{"newest"});
}

TEST_F(BasesTest, APhaseWorksOnWhatWasAcceptedBeforeIt) { sequential(); }

TEST_F(BasesTest, PhasesBesideEachOtherWorkOnTheTiersBefore) { parallel(); }

TEST_F(BasesTest, PlacesAreListsBeforeTheMigrationAndPlacesAgainAfterIt) {
  const auto first = sequential();
  ASSERT_TRUE(store_->operator_cancel(first, {}, {}, now_));
  const auto second = parallel();
  const auto of_first = bases(first), of_second = bases(second);
  EXPECT_EQ(of_first.at("four.1"), R"(["x","x"])");
  EXPECT_EQ(of_second.at("d.2"), R"(["la","lb","la"])");
  for (int times = 0; times < 2; ++times) {
    store_.reset();
    constexpr std::int64_t kLists = 13;
    while (schema_status("sqlite:" + path_)->database > kLists)
      ASSERT_TRUE(migrate_down("sqlite:" + path_, false, dead_));
    EXPECT_EQ(old_bases(first), of_first);
    EXPECT_EQ(old_bases(second), of_second);
    ASSERT_TRUE(migrate_up("sqlite:" + path_, dead_, &sealer_));
    store_ = open();
    EXPECT_EQ(bases(first), of_first);
    EXPECT_EQ(bases(second), of_second);
  }
}

}  // namespace
}  // namespace pawl::store
