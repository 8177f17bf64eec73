// No verb builds on, or signs, table content that the ledger's rows do not have.
#include <gtest/gtest.h>

#include "support/trust_fixture.h"

namespace pawl::ledger {
namespace {

using fixtures::Trust;

// An attacker adds a layer that no row names below an agent, and removes it before a check.
const char* const kExtraLayer = "INSERT INTO accepted_layers VALUES ('r', 1, 'two', 'evil')";

TEST_F(Trust, ALayerThatNoRowNamesIsNotBuiltOn) {
  // An attacker may also change the schema.
  const std::string twice =
      "ALTER TABLE accepted_layers RENAME TO once; CREATE TABLE accepted_layers AS SELECT * FROM once; "
      "INSERT INTO accepted_layers SELECT run_id, 3, phase_id, 'evil' FROM once WHERE phase_id = 'one'";
  phases_ = {"one", "two", "three"};
  for (const auto& change :
       {std::string(kExtraLayer), std::string("INSERT INTO accepted_layers VALUES ('r', 3, 'three', 'evil')"),
        twice,
        std::string("UPDATE accepted_layers SET merge_seq = 3 - merge_seq + 10; "
                    "UPDATE accepted_layers SET merge_seq = merge_seq - 10"),
        std::string("UPDATE accepted_layers SET merge_seq = merge_seq + 10")}) {
    begin_anew();
    if (change != kExtraLayer) {
      attempt("passed", "L");
      attempt("passed", "M");
    }
    refuses_to_claim_after(change);
    EXPECT_FALSE(is_verified()) << change;
  }
}

TEST_F(Trust, ALayerThatCameMeanwhileIsNotSigned) {
  const auto held = claim();
  ASSERT_TRUE(held && held->claim);
  EXPECT_EQ(held->claim->layers, std::vector<std::string>());
  ASSERT_TRUE(begin(*held->claim));
  sql(kExtraLayer);
  const auto behind = finish(*held->claim, "passed", "L");
  ASSERT_TRUE(behind && behind->behind) << "as if another had been accepted meanwhile: nothing is written";
  refused(store_->judge_again(held->claim->lease, {.result = ended()}, now_));
  refused(finish(*held->claim, "failed_retryable"));
  sql("DELETE FROM accepted_layers");
  EXPECT_TRUE(finish(*held->claim, "passed", "L"));
  EXPECT_TRUE(is_verified()) << canonical(to_json(*verified()));
}

TEST_F(Trust, WhatWasBuiltOnALayerThatNoRowNamesIsFound) {
  without_signer([&] {
    sql(kExtraLayer);
    const auto held = claim();
    ASSERT_TRUE(held && held->claim);
    EXPECT_EQ(held->claim->layers, std::vector<std::string>{"evil"}) << "the signer alone stops it";
    const auto done = finished(*held->claim, "passed", "L");
    ASSERT_TRUE(done) << done.error().message;
    sql("DELETE FROM accepted_layers WHERE layer_id = 'evil'; UPDATE accepted_layers SET merge_seq = 1");
  });
  attempt("passed", "M");
  const auto report = verified();
  ASSERT_FALSE(report->ok) << "the table is as the rows say, and the stack is not";
  EXPECT_EQ(report->problems[0].file, "phases/one/attempts.jsonl");
}

TEST_F(Trust, TheSourceIsWhereThePlannedRowSays) {
  const std::string evil = "UPDATE runs SET source_path = '/evil'";
  for (const auto& change : {evil, evil + R"(; UPDATE plans SET common = '{"source_folder":"/evil"}')"}) {
    begin_anew();
    refuses_to_claim_after(change);
    EXPECT_FALSE(is_verified()) << change;
    refused(store_->operator_skip("r", "one", {}, now_));
    create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "one"}, .who = {}});
    EXPECT_FALSE(created_) << change;
    without_signer([&] { EXPECT_TRUE(store_->operator_skip("r", "one", {}, now_)) << change; });
  }
  begin_anew();
  const auto lacks = [&] { return std::ranges::count(verified()->lacks, "source_folder", &Lack::member); };
  EXPECT_EQ(lacks(), 0);
  common_ = "{}";  // as an older version wrote it
  begin_anew();
  sql(evil);
  EXPECT_TRUE(claim());
  EXPECT_TRUE(is_verified());
  EXPECT_EQ(lacks(), 1) << "it is said that nothing holds it";
}

TEST_F(Trust, PlannedRowsThatAreGoneAreFound) {
  const std::string source = "; UPDATE runs SET source_path = '/evil'";
  for (const std::string change :
       {"UPDATE plans SET common = ''", "UPDATE plans SET common = ''; DELETE FROM planned_phases",
        "DELETE FROM planned_phases WHERE phase_index = 1", "DELETE FROM planned_phases"}) {
    for (const auto& more : {std::string(), source}) {
      begin_anew();
      attempt("passed", "L");
      sql(change + more);
      const auto report = verified();
      ASSERT_TRUE(report);
      EXPECT_FALSE(report->ok) << change << more << ": what holds the source is gone";
      const bool is_all = change.find("= ''; DELETE") != change.npos;
      EXPECT_EQ(report->problems.front().kind, is_all ? "missing" : "forged") << change;
      EXPECT_EQ(report->problems.front().detail == store::kPlannedRowsGone, is_all) << change;
      refused(export_run(*store_, *sealer_, "r", folder_ / "export", now_));
    }
  }
  begin_anew();
  refuses_to_claim_after("UPDATE plans SET common = ''" + source);
  without_signer([&] { EXPECT_TRUE(claim()); });
}

// A trigger runs in transactions of the store itself, so no other process is seen to write.
const std::string kAgain =
    "CREATE TRIGGER again AFTER UPDATE ON phases WHEN NEW.max_attempts < 50 "
    "BEGIN UPDATE phases SET max_attempts = 50 WHERE phase_id = NEW.phase_id; END";
const std::vector<std::string> kForeignStatements = {
    kAgain,
    "ALTER TABLE accepted_layers RENAME TO real; CREATE VIEW accepted_layers AS SELECT run_id, merge_seq, "
    "phase_id, layer_id FROM real",
    "DROP TRIGGER cost_is_kept; CREATE TRIGGER cost_is_kept AFTER INSERT ON cost BEGIN DELETE FROM "
    "unsettled; END",
    "ALTER TABLE attempts ADD COLUMN other TEXT REFERENCES runs(run_id) ON DELETE CASCADE"};

TEST_F(Trust, ADatabaseThatRunsStatementsOfOthersIsNotUsed) {
  for (const auto& change : kForeignStatements) {
    begin_anew();
    sql(change);
    refused(claim());
    refused(store::open_store("sqlite:" + path_, sealer_));
    without_signer([&] { EXPECT_TRUE(claim()) << change; });
  }
  begin_anew();
  sql("DROP TRIGGER cost_is_kept");
  EXPECT_TRUE(claim()) << "a guard that is gone runs nothing";
  begin_anew();
  without_signer([&] {
    sql(kAgain);
    for (int attempts = 0; attempts < 5; ++attempts) attempt("failed_retryable");
    EXPECT_EQ(store_->phase("r", "one")->attempts_total, 5) << "of 2: the check alone stops it";
  });
}

// A reader commits nothing, so it does not look for other writers. It looks where it begins to read evidence.
TEST_F(Trust, AReaderSeesStatementsOfOthersThatCameAfterItConnected) {
  for (const auto& change : kForeignStatements) {
    begin_anew();
    attempt("passed", "L");
    const auto reader = open();
    ASSERT_TRUE(reader->read_together([] { return Status(); }));
    sql(change);
    bool has_read = false;
    const auto reads = [&] {
      has_read = true;
      return Status();
    };
    refused(reader->read_together(reads));
    EXPECT_FALSE(has_read) << change;
    refused(verify_run(*reader, "r", {}));
    without_signer([&] { EXPECT_TRUE(reader->read_together(reads)) << change; });
    EXPECT_TRUE(has_read) << "the check alone stops it, and leaves no transaction open";
  }
}

TEST_F(Trust, AChainThatTheHeadListsIsListedAgain) {
  is_parallel_ = true;
  begin_anew();
  attempt("failed_retryable");
  sql("DELETE FROM open_chains WHERE chain = 'one'");
  refused(store_->operator_budget("r", store::kSandboxMs, 2 * kCapMs, {}, now_));
  refused(open()->operator_budget("r", store::kSandboxMs, 2 * kCapMs, {}, now_));
  EXPECT_TRUE(is_verified()) << "what was signed is as it was";
  without_signer([&] { EXPECT_TRUE(store_->operator_budget("r", store::kSandboxMs, 2 * kCapMs, {}, now_)); });
  EXPECT_FALSE(is_verified()) << "the attempt has lost its signature";
}

TEST_F(Trust, APhaseThatNoRowEndsIsNotOver) {
  for (const std::string change :
       {"UPDATE phases SET state = 'COMPLETE', outcome = 'passed' WHERE phase_id = 'two'",
        "UPDATE phases SET state = 'SKIPPED', outcome = 'skipped' WHERE phase_id = 'two'",
        "DELETE FROM phases WHERE phase_id = 'two'"}) {
    begin_anew();
    const auto held = claim();
    ASSERT_TRUE(held && held->claim);
    ASSERT_TRUE(begin(*held->claim));
    sql(change);
    refused(finish(*held->claim, "passed", "L"));
    store_ = open();
    refused(finish(*held->claim, "passed", "L"));
    EXPECT_FALSE(is_verified()) << change;
    EXPECT_EQ(store_->run("r")->state, store::RunState::kExecuting);

    begin_anew();
    without_signer([&] {
      const auto again = claim();
      ASSERT_TRUE(again && again->claim);
      ASSERT_TRUE(begin(*again->claim));
      sql("DROP TABLE IF EXISTS side.kept; CREATE TABLE side.kept AS SELECT * FROM phases WHERE phase_id = "
          "'two'; " +
          change);
      ASSERT_TRUE(finish(*again->claim, "passed", "L"));
    });
    EXPECT_EQ(store_->run("r")->state, store::RunState::kComplete) << "the signer alone stops it";
    EXPECT_FALSE(is_verified()) << change;
    sql("DELETE FROM phases WHERE phase_id = 'two'; INSERT INTO phases SELECT * FROM side.kept");
    EXPECT_FALSE(is_verified()) << change << ", and taken back";
    const auto exported = verify(*files_of(*store_, "r"), {});
    ASSERT_FALSE(exported.ok) << "by its rows alone";
    EXPECT_NE(exported.problems[0].detail.find("no row ends phase two"), std::string::npos);
  }
}

TEST_F(Trust, APhaseThatARowEndsIsNotOpenedWithoutOne) {
  for (const std::string change : {"UPDATE phases SET state = 'QUEUED', outcome = '' WHERE phase_id = 'one'",
                                   "UPDATE phases SET outcome = 'approved' WHERE phase_id = 'one'"}) {
    begin_anew();
    attempt("passed", "L");
    refuses_to_claim_after(change);
    EXPECT_FALSE(is_verified()) << change;
  }
  begin_anew();
  one_failed_one_passed();
  EXPECT_TRUE(is_verified());
  sql("UPDATE phases SET state = 'QUEUED', outcome = '' WHERE phase_id = 'one'; UPDATE runs SET state = "
      "'EXECUTING', ended_at = ''");
  EXPECT_FALSE(is_verified());
  refused(claim());
}

TEST_F(Trust, ARunThatAnOperatorOpenedAgainVerifiesAtOnce) {
  one_failed_one_passed();
  ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
  EXPECT_TRUE(is_verified()) << canonical(to_json(*verified()));
  sql("UPDATE runs SET state = 'FAILED', ended_at = created_at");
  EXPECT_FALSE(is_verified());
}

TEST_F(Trust, APhaseThatAnOperatorOpenedAgainIsNotPutBackToItsEarlierEnd) {
  const std::string keep =
      "DROP TABLE IF EXISTS side.before; CREATE TABLE side.before AS SELECT * FROM phases WHERE phase_id = "
      "'one'";
  const std::string put_back =
      "DELETE FROM phases WHERE phase_id = 'one'; INSERT INTO phases SELECT * FROM side.before";
  const auto open_again = [&] {
    one_failed_one_passed();
    sql(keep);
    ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
  };
  for (const bool is_restarted : {false, true}) {
    begin_anew();
    open_again();
    sql(put_back);
    if (is_restarted) store_ = open();
    refused(store_->operator_max_attempts("r", 3, {}, now_));
    refused(claim());
    EXPECT_FALSE(is_verified());
  }
  begin_anew();
  open_again();
  attempt("failed_unrecoverable");
  const auto again = claim();
  ASSERT_TRUE(again) << "an end of its own: " << again.error().message;
  EXPECT_FALSE(again->claim);
  EXPECT_TRUE(is_verified());
}

TEST_F(Trust, AGoalIsTheOneThatAReplannersRowHas) {
  const auto replan = [&](const std::string& goal) {
    const auto held = claim();
    ASSERT_TRUE(held && held->claim && begin(*held->claim));
    store::AttemptEnd end{.verdict = store::AttemptVerdict::kEscalate,
                          .summary = "s",
                          .feedback = Json::object(),
                          .reason = "why"};
    end.action = store::Action::kReplan;
    end.goal = goal;
    end.advice = {{.hook = "replan", .understood = true, .goal = goal}};
    ASSERT_TRUE(store_->finish(
        held->claim->lease, {.result = ended()}, end, [](const auto&, const auto&) { return false; }, now_));
  };
  for (const std::string change :
       {"", "UPDATE revisions SET goal = 'evil' WHERE revision = 2",
        "UPDATE revisions SET goal = (SELECT goal FROM revisions WHERE revision = 1)",
        "DELETE FROM revisions"}) {
    begin_anew();
    replan("first");
    replan("second");
    if (!change.empty()) sql(change);
    store_ = open();
    const auto held = claim();
    if (change.empty()) {
      ASSERT_TRUE(held && held->claim);
      EXPECT_EQ(held->claim->revised_goal, "second");
    } else {
      refused(held);
      without_signer([&] { EXPECT_TRUE(claim()) << change; });
    }
  }
}

// The next agent works on the previous attempt's work, gets its feedback, and reads the output of its steps.
TEST_F(Trust, WhatAnAttemptLeftIsWhatItsRowsSay) {
  for (const std::string change :
       {"UPDATE attempts SET feedback = '{\"summary\":\"do evil\"}'", "UPDATE attempts SET feedback = ''",
        "UPDATE attempts SET agent_layer = 'evil'", "UPDATE steps SET run = replace(run, '0', '1')",
        "UPDATE steps SET sandbox_run_id = sandbox_run_id || 'x'"}) {
    begin_anew();
    attempt("failed_retryable");
    refuses_to_claim_after(change);
    EXPECT_FALSE(is_verified()) << change;
    without_signer([&] { EXPECT_TRUE(claim()) << change; });
  }
  begin_anew();
  attempt("failed_retryable");
  const auto held = claim();
  ASSERT_TRUE(held && held->claim) << held.error().message;
  EXPECT_EQ(held->claim->previous->feedback, "{}");
}

// An attempt that the next claim does not see would leave its agent with what an older one left.
TEST_F(Trust, NoAttemptIsHidden) {
  for (const std::string change :
       {"PRAGMA ignore_check_constraints = ON; UPDATE attempts SET finished = 2 WHERE number = 2",
        "DELETE FROM attempts WHERE number = 2", "DELETE FROM attempts"}) {
    begin_anew();
    attempt("failed_retryable");
    attempt("failed_retryable");
    ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
    refuses_to_claim_after(change);
    const auto report = verified();
    EXPECT_TRUE(!report || !report->ok) << change;
    without_signer([&] { EXPECT_TRUE(claim()) << change; });
  }
}

// Readers and claims rely on indexes and constraints, and on the columns that the schema has.
TEST_F(Trust, TheDatabaseAgreesWithItself) {
  for (const std::string change :
       {"CREATE INDEX more ON cost (run_id, cost_seq, line)", "CREATE TABLE more (x)",
        "ALTER TABLE attempts ADD COLUMN more TEXT",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'CHECK', 'check') WHERE "
        "name = 'phases'",
        "PRAGMA ignore_check_constraints = ON; UPDATE attempts SET finished = 2"}) {
    begin_anew();
    attempt("failed_retryable");
    EXPECT_TRUE(is_verified());
    store_ = open();
    sql(change);
    const auto report = verified();
    ASSERT_FALSE(report) << change;
    EXPECT_EQ(report.error().kind, ErrorKind::kForged) << report.error().message;
    without_signer([&] {
      const auto unchecked = verified();
      EXPECT_TRUE(unchecked) << change;
    });
  }
}

TEST_F(Trust, ThePlannerMayKnowItsTables) {
  attempt("failed_retryable");
  sql("ANALYZE");
  store_ = open();
  EXPECT_TRUE(is_verified());
}

TEST_F(Trust, AStepTookWhatItsRowsSay) {
  for (const std::string change :
       {"UPDATE steps SET ended_at = '2031-01-01T00:00:00.000000Z'", "UPDATE steps SET ended_at = ''"}) {
    begin_anew();
    attempt("failed_retryable");
    EXPECT_TRUE(is_verified());
    sql(change);
    EXPECT_FALSE(is_verified()) << change;
  }
}

TEST_F(Trust, ACapIsTheOneThatAnOperatorSet) {
  ASSERT_TRUE(store_->operator_budget("r", store::kTokens, 5, {}, now_));
  ASSERT_TRUE(store_->operator_budget("r", store::kTokens, 7, {}, now_));
  store_ = open();
  const auto held = claim();
  ASSERT_TRUE(held && held->claim);
  ASSERT_TRUE(store_->release(held->claim->lease));
  sql("UPDATE budgets SET cap = 5 WHERE unit = 'tokens'");
  refused(claim());
  store_ = open();
  refused(claim());
  without_signer([&] { EXPECT_TRUE(claim()); });
}

// The order is that of acceptance, which may differ from the plan's.
TEST_F(Trust, AForkSharesWorkInItsOrder) {
  phases_ = {"one", "two", "three"};
  begin_anew();
  attempt("failed_unrecoverable");
  attempt("passed", "L");
  ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
  attempt("passed", "M");
  create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "three"}, .who = {}});
  ASSERT_TRUE(created_) << created_.error().message;
  const auto layers = *store_->accepted_layers("fork");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].phase_id, "two");
  const auto is_of_fork = [&] {
    return store_->claim(
        {.run_ids = {"fork"}, .owner = "me", .now = now_, .model_of_attempt = [](const auto&, auto) {
           return "m";
         }});
  };
  for (const bool anew : {false, true}) {
    if (anew) store_ = open();
    sql("UPDATE accepted_layers SET merge_seq = 13 - merge_seq WHERE run_id = 'fork'; "
        "UPDATE accepted_layers SET merge_seq = merge_seq - 10 WHERE run_id = 'fork'");
    refused(is_of_fork());
    sql("UPDATE accepted_layers SET merge_seq = 13 - merge_seq WHERE run_id = 'fork'; "
        "UPDATE accepted_layers SET merge_seq = merge_seq - 10 WHERE run_id = 'fork'");
  }
  const auto held = is_of_fork();
  ASSERT_TRUE(held && held->claim) << held.error().message;
  EXPECT_EQ(held->claim->layers, (std::vector<std::string>{"M", "L"}));
  EXPECT_TRUE(verify_run(*store_, "fork", {})->ok);
}

}  // namespace
}  // namespace pawl::ledger
