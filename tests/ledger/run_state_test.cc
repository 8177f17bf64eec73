// Whether a run is over, and how: `pawl resume` asks before it leaves a run out, and before it says how one ended.
#include <gtest/gtest.h>

#include "support/trust_fixture.h"

namespace pawl::ledger {
namespace {

class RunState : public fixtures::Trust {
 protected:
  // No store says that all is well, and without the defence each does.
  void finds(const std::string& change) {
    SCOPED_TRACE(change);
    ASSERT_TRUE(store_->check_run("r"));
    sql(change);
    refused(store_->check_run("r"));
    refused(open()->check_run("r"));
    EXPECT_FALSE(is_verified());
    without_signer([&] { EXPECT_TRUE(open()->check_run("r")); });
  }
  Error why_unreadable(const std::string& table) {
    if (table == "table runs") return store_->run("r").error();
    if (table == "table phases") return store_->phases("r").error();
    if (table == "table attempts") return store_->attempts("r", "one").error();
    return store_->steps("r", "one").error();
  }
  void finds_each(const std::vector<std::string>& changes, const std::function<void()>& before) {
    for (const auto& change : changes) {
      begin_anew();
      before();
      finds(change);
    }
  }
};

TEST_F(RunState, AnHonestRunHoldsAtEachMoment) {
  EXPECT_TRUE(store_->check_run("r"));
  attempt("failed_retryable");
  EXPECT_TRUE(store_->check_run("r"));
  attempt("failed_unrecoverable");
  EXPECT_TRUE(store_->check_run("r"));
  attempt("passed", "L");
  EXPECT_TRUE(store_->check_run("r")) << "it is over";
  ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
  EXPECT_TRUE(store_->check_run("r")) << "it is open again";
  EXPECT_TRUE(open()->check_run("r"));
  ASSERT_TRUE(store_->operator_cancel("r", "", {}, now_));
  EXPECT_TRUE(store_->check_run("r"));
  EXPECT_TRUE(open()->check_run("r"));
  EXPECT_EQ(store_->check_run("nobody").error().kind, ErrorKind::kForged) << "no ledger is signed for it";
}

TEST_F(RunState, ARunThatGoesOnIsNotOver) {
  finds_each({"UPDATE runs SET state = 'COMPLETE', ended_at = created_at",
              "UPDATE runs SET state = 'FAILED', ended_at = created_at",
              "UPDATE runs SET state = 'CANCELLED', ended_at = created_at",
              "UPDATE phases SET state = 'COMPLETE', outcome = 'passed' WHERE phase_id = 'two'",
              "UPDATE phases SET state = 'SKIPPED', outcome = 'skipped'; UPDATE runs SET state = 'COMPLETE', "
              "ended_at = created_at",
              "DELETE FROM phases WHERE phase_id = 'two'; UPDATE runs SET state = 'COMPLETE', ended_at = "
              "created_at"},
             [&] { attempt("passed", "L"); });
}

TEST_F(RunState, ARunThatIsOverEndedAsItsRowsSay) {
  finds_each({"UPDATE runs SET state = 'COMPLETE'", "UPDATE runs SET state = 'EXECUTING', ended_at = ''",
              "UPDATE phases SET state = 'COMPLETE', outcome = 'passed' WHERE phase_id = 'one'",
              "UPDATE phases SET outcome = 'escalate' WHERE phase_id = 'one'",
              "UPDATE phases SET state = 'QUEUED', outcome = '' WHERE phase_id = 'one'"},
             [&] { one_failed_one_passed(); });
}

// A word that Pawl does not write is damage, or somebody's change.
TEST_F(RunState, AWordThatPawlDoesNotWriteIsNamedWithItsPlace) {
  const std::map<std::string, std::string> changes = {
      {"UPDATE runs SET state = 'x'", "table runs, column state: not a run state: 'x'"},
      {"UPDATE phases SET state = 'x'", "table phases, column state: not a phase state: 'x'"},
      {"UPDATE phases SET outcome = 'x'", "table phases, column outcome: not a phase outcome: 'x'"},
      {"UPDATE attempts SET verdict = 'x'", "table attempts, column verdict: not a"},
      {"UPDATE attempts SET failing_signals = 'x'",
       "table attempts, column failing_signals: a list of strings is not JSON"},
      {"UPDATE steps SET state = 'x'", "table steps, column state: not a step state: 'x'"}};
  for (const auto& [change, said] : changes) {
    begin_anew();
    attempt("failed_retryable");
    sql(change);
    const auto why = why_unreadable(said.substr(0, said.find(',')));
    EXPECT_EQ(why.kind, ErrorKind::kForged);
    EXPECT_TRUE(why.message.starts_with(said)) << why.message;
    EXPECT_NE(why.message.find("pawl verify"), std::string::npos);
    const auto report = verified();
    EXPECT_FALSE(report && report->ok) << change;
  }
}

TEST_F(RunState, ReservationsAreThoseOfOpenSteps) {
  for (const std::string change :
       {"UPDATE budgets SET reserved = 1000000", "UPDATE budgets SET reserved = 1"}) {
    begin_anew();
    attempt("failed_retryable");
    refuses_to_claim_after(change);
    EXPECT_FALSE(is_verified());
    // A run would wait for a step that is not there.
    if (change.ends_with("0")) without_signer([&] { EXPECT_FALSE(claim()->claim); });
  }
}

TEST_F(RunState, AnUnfinishedAttemptHasNoJudgedEpisode) {
  const std::string episode =
      "INSERT INTO episodes (run_id, phase_id, attempt_id, episode, outcome, gates_passed, failing_signals, "
      "kept_by) "
      "VALUES ('r', 'one', 'one.1', 1, 'passed', 1, 0, '')";
  refuses_to_claim_after(episode);
  without_signer([&] { EXPECT_TRUE(claim()->claim); });
  begin_anew();
  refuses_to_claim_after("UPDATE runs SET created_at = '2020-01-01T00:00:00.000Z'");
}

}  // namespace
}  // namespace pawl::ledger
