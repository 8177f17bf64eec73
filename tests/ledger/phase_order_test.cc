// The next phase of a run: tables and their indexes say it, and a claim asks the rows.
#include <gtest/gtest.h>

#include "support/trust_fixture.h"

namespace pawl::ledger {
namespace {

class PhaseOrder : public fixtures::Trust {
 protected:
  PhaseOrder() { phases_ = {"one", "", "two", "", "three"}; }

  std::string next() {
    const auto claimed = claim();
    return claimed && claimed->claim ? claimed->claim->phase.phase_id : "";
  }
  // After the change no store gives a later phase a turn. Without the defence `taken` gets one.
  void refuses(const std::string& change, const std::string& taken) {
    SCOPED_TRACE(change);
    sql(change);
    store_ = open();
    refused(claim());
    without_signer([&] {
      store_ = open();
      EXPECT_EQ(next(), taken);
    });
  }
  // An index with other entries than the schema says.
  static std::string forged_index(const std::string& name, const std::string& where) {
    const std::string named = " WHERE name = '" + name + "'";
    return "CREATE TEMP TABLE kept AS SELECT sql FROM main.sqlite_schema" + named + "; DROP INDEX " + name +
           "; CREATE INDEX " + name + where +
           "; PRAGMA writable_schema = ON; UPDATE main.sqlite_schema SET sql = " + "(SELECT sql FROM kept)" +
           named + "; PRAGMA writable_schema = OFF";
  }
};

TEST_F(PhaseOrder, AnHonestRunGoesTierByTier) {
  for (const std::string id : {"one", "two", "three"}) {
    store_ = open();
    const auto held = claim();
    ASSERT_TRUE(held && held->claim) << held.error().message;
    EXPECT_EQ(held->claim->phase.phase_id, id);
    ASSERT_TRUE(finished(*held->claim, "passed", "L"));
  }
  EXPECT_TRUE(is_verified()) << canonical(to_json(*verified()));
}

// The open phases are read by their outcome, and the ended ones were compared by their state.
TEST_F(PhaseOrder, AnOutcomeOfAPhaseThatGoesOnIsNotAnEnd) {
  refuses("UPDATE phases SET outcome = 'passed' WHERE phase_id = 'one'", "two");
  begin_anew();
  refuses("UPDATE phases SET outcome = 'skipped' WHERE phase_id IN ('one', 'two')", "three");
  begin_anew();
  attempt("passed", "L");
  refuses("UPDATE phases SET outcome = '' WHERE phase_id = 'one'", "");
  begin_anew();
  attempt("passed", "L");
  refuses("UPDATE phases SET outcome = 'approved' WHERE phase_id = 'two'", "three");
}

TEST_F(PhaseOrder, AnIndexThatLeavesAPhaseOutIsFound) {
  refuses(
      forged_index("idx_phase_open",
                   " ON phases (run_id, tier_index, phase_index) WHERE outcome = '' AND phase_id <> 'one'"),
      "two");
  begin_anew();
  refuses(forged_index("idx_phase_open",
                       " ON phases (run_id, tier_index, phase_index) WHERE outcome = '' AND tier_index = 2"),
          "three");
}

// The connection was opened, and looked at its storage, before the index was changed.
TEST_F(PhaseOrder, AProcessThatWorksAsksTheRowsToo) {
  ASSERT_TRUE(claim());
  sql("UPDATE phases SET lease_owner = '', lease_expires_at = '' WHERE phase_id = 'one'; " +
      forged_index("idx_phase_open",
                   " ON phases (run_id, tier_index, phase_index) WHERE outcome = '' AND phase_id <> 'one'"));
  refused(claim());
  without_signer([&] { EXPECT_EQ(next(), "two"); });
}

// The place of a phase that was never begun, and says that it was.
TEST_F(PhaseOrder, APhaseThatSaysThatItBeganWaits) {
  ASSERT_EQ(next(), "one");
  sql("INSERT INTO attempts (run_id, phase_id, number, attempt_id, revision, model, base_merge_seq, "
      "base_has_own_tier, "
      "started_at, executor) VALUES ('r', 'three', 1, 'three.1', 0, 'm', 0, 0, "
      "'2026-01-02T03:04:05.678901Z', 'me'); "
      "UPDATE phases SET attempts_total = 1, attempts_used = 1, state = 'EXECUTING' WHERE phase_id = "
      "'three'");
  store_ = open();
  EXPECT_EQ(next(), "") << "phase one is held, and no row says that phase three began";
}

// A phase that an operator queues again comes first, and what began goes on.
TEST_F(PhaseOrder, APhaseThatBeganGoesOnBesideAnEarlierOneThatIsQueuedAgain) {
  attempt("failed_unrecoverable");
  auto held = claim();
  ASSERT_TRUE(held && held->claim && held->claim->phase.phase_id == "two" && begin(*held->claim));
  ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
  EXPECT_EQ(next(), "one");
  now_ = now_.plus_ms(1'000'000);  // all leases are over
  store_ = open();
  ASSERT_EQ(next(), "one");
  const auto beside = store_->claim(
      {.owner = "other", .now = now_, .model_of_attempt = [](const auto&, auto) { return "m"; }});
  ASSERT_TRUE(beside && beside->claim) << (beside ? beside->waits_for : beside.error().message);
  EXPECT_EQ(beside->claim->phase.phase_id, "two");
}

}  // namespace
}  // namespace pawl::ledger
