// Whoever can write the database, but does not have the key, makes nothing that a verb then signs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/hash.h"
#include "ledger/ledger.h"
#include "os/file.h"
#include "store/cost_row.h"
#include "store/store.h"
#include "support/temp_folder.h"

namespace pawl::ledger {
namespace {

using store::Claim;

class Database {
 public:
  explicit Database(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK); }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql) {
    char* message = nullptr;
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message);
    EXPECT_EQ(code, SQLITE_OK) << message << ": " << sql;
  }
  std::vector<std::string> column(const std::string& sql) {
    std::vector<std::string> out;
    const auto add = [](void* to, int, char** values, char**) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(values[0] == nullptr ? "" : values[0]);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), add, &out, nullptr), SQLITE_OK) << sql;
    return out;
  }

 private:
  sqlite3* handle_ = nullptr;
};

class Trust : public ::testing::Test {
 protected:
  void SetUp() override {
    sealer_ = *open_sealer(folder_.path());
    store_ = open();
    create("r");
  }
  // The same from the beginning.
  void begin_anew() {
    store_.reset();
    for (const auto* suffix : {"", "-wal", "-shm"}) PAWL_CHECK(os::remove_tree(path_ + suffix));
    SetUp();
  }
  std::unique_ptr<store::Store> open() {
    auto opened = store::open_store("sqlite:" + path_, sealer_);
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  void create(const std::string& run_id, std::optional<store::Fork> fork = std::nullopt) {
    store::NewRun run{.run = {.run_id = run_id,
                              .workflow_id = "w",
                              .plan_content = "c",
                              .base_id = "b",
                              .backend = "namespace",
                              .created_at = rfc3339(now_)},
                      .tiers = {{.name = "t", .stop_on_failure = false}},
                      .plan_text = "text",
                      .plan = {.common = "common", .phases = {}},
                      .fork = std::move(fork)};
    for (const auto& id : phases_) {
      const auto index = static_cast<std::int64_t>(run.phases.size());
      run.phases.push_back({.run_id = run_id, .phase_id = id, .phase_index = index, .max_attempts = 2});
      run.plan.phases.push_back({.tier_index = 0, .phase_index = index, .row = "row of " + id});
    }
    created_ = store_->create_run(run, now_);
  }
  Result<store::ClaimResult> claim() {
    return store_->claim(
        {.owner = "me", .now = now_, .model_of_attempt = [](const auto&, auto) { return "m"; }});
  }
  Result<store::Begun> begin(const Claim& claim) {
    return store_->begin_step(claim.lease,
                              {.sandbox_run_id = "s" + std::to_string(++steps_),
                               .gate_id = "agent",
                               .step_name = "run",
                               .label = "x",
                               .sandbox_spec_hash = "h"},
                              std::nullopt, std::nullopt, now_);
  }
  Result<store::Finished> finish(const Claim& claim, const std::string& word, const std::string& layer = "") {
    store::AttemptEnd end{.verdict = word, .summary = "s", .reason = "why", .accepted_layer = layer};
    if (word != "passed") end.feedback = Json::object();
    return store_->finish(
        claim.lease, ended(), std::nullopt, end, [](const auto&, const auto&) { return false; }, now_);
  }
  store::StepEnd ended() const {  // of the step that began last
    const std::string id = "s" + std::to_string(steps_);
    return {.sandbox_run_id = id,
            .run = R"({"exit_code":0,"outcome":"exited"})",
            .outcome = "exited",
            .cost_row = store::cost_row({.run_id = "r", .sandbox_run_id = id})};
  }
  // One attempt of the next phase.
  void attempt(const std::string& word, const std::string& layer = "") {
    const auto claimed = claim();
    ASSERT_TRUE(claimed && claimed->claim) << (claimed ? "" : claimed.error().message);
    ASSERT_TRUE(begin(*claimed->claim));
    const auto finished = finish(*claimed->claim, word, layer);
    ASSERT_TRUE(finished) << finished.error().message;
  }
  void one_failed_one_passed() {
    attempt("failed_unrecoverable");
    attempt("passed", "L");
  }

  // Of a phase that is claimed already.
  Result<store::Finished> finished(const Claim& claim, const std::string& word, const std::string& layer) {
    if (const auto begun = begin(claim); !begun) return std::unexpected(begun.error());
    return finish(claim, word, layer);
  }
  void without_signer(const std::function<void()>& work) {
    setenv("PAWL_WALLS_OFF", "signer", 1);
    work();
    unsetenv("PAWL_WALLS_OFF");
  }

  Result<Report> verified() {
    const bool goes_on = store_->run("r")->state == store::RunState::kExecuting;
    return verify_run(*store_, "r", {.public_key = sealer_->public_key(), .live = goes_on});
  }

  // --- the attacker
  // Writes a chain anew after `change`, with hashes that fit: all that needs no key.
  void rewrite(const std::string& chain, const std::function<void(Json&)>& change) {
    Database database(path_);
    std::string prev(kZeroHash);
    std::int64_t seq = 0;
    for (const auto& line : lines(database, chain)) {
      auto row = *parse_json(line);
      change(row);
      prev = put(database, chain, ++seq, std::move(row), prev);
    }
  }
  void append(const std::string& chain, const std::function<void(Json&)>& change) {
    Database database(path_);
    const auto all = lines(database, chain);
    auto row = *parse_json(all.back());
    const std::string prev = text_in(row, "hash");
    change(row);
    put(database, chain, static_cast<std::int64_t>(all.size()) + 1, std::move(row), prev);
  }
  static std::vector<std::string> lines(Database& database, const std::string& chain) {
    return database.column("SELECT line FROM ledger WHERE run_id = 'r' AND chain = '" + chain +
                           "' ORDER BY seq");
  }
  static std::string put(Database& database, const std::string& chain, std::int64_t seq, Json row,
                         const std::string& prev) {
    row.erase("hash");
    row["prev_hash"] = prev;
    row["seq"] = seq;
    std::string body = canonical(row);
    body.pop_back();
    std::string hash = blake3_hex(body);
    const std::string line = body + ",\"hash\":\"" + hash + "\"}";
    database.run("INSERT OR REPLACE INTO ledger (run_id, chain, seq, hash, line) VALUES ('r', '" + chain +
                 "', " + std::to_string(seq) + ", '" + hash + "', '" + line + "')");
    return hash;
  }
  void sql(const std::string& text) { Database(path_).run("PRAGMA foreign_keys = OFF; " + text); }

  // --- what must not happen: a verb that goes on, or a ledger that verifies after it
  template <typename Done>
  void refused(const Done& done) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::kForged) << done.error().message;
  }
  void every_operator_is_refused() {
    for (const bool anew : {false, true}) {  // by who has looked before, too
      if (anew) store_ = open();
      refused(store_->operator_retry("r", "one", {}, now_));
      refused(store_->operator_skip("r", "one", {}, now_));
      EXPECT_FALSE(verified()->ok);
    }
  }
  static void lie(Json& row) {
    if (text_in(row, "type") == "attempt") row["verdict"] = "passed";
  }

  std::vector<std::string> phases_ = {"one", "two"};
  testing::TempFolder folder_;
  const std::string path_ = folder_ / "pawl.db";
  std::shared_ptr<const store::RowSealer> sealer_;
  std::unique_ptr<store::Store> store_;
  WallTime now_{1'767'323'045'000'000};
  Status created_;
  int steps_ = 0;
};

TEST_F(Trust, AnHonestRunIsRetriedByWhoComesNew) {
  one_failed_one_passed();
  store_ = open();
  EXPECT_TRUE(store_->operator_retry("r", "one", {}, now_));
  store_ = open();
  attempt("passed", "M");
  EXPECT_TRUE(verified()->ok) << canonical(to_json(*verified()));
}

TEST_F(Trust, TwoWhoWriteInTurnCheckEachOther) {
  auto other = open();
  for (int turn = 0; turn < 2; ++turn) {
    attempt("failed_retryable");
    std::swap(store_, other);
  }
  attempt("passed", "L");
  EXPECT_TRUE(verified()->ok) << canonical(to_json(*verified()));
}

TEST_F(Trust, AChainThatWasWrittenAnewIsNotSigned) {
  one_failed_one_passed();
  rewrite("one", lie);
  every_operator_is_refused();
}

TEST_F(Trust, ARunsChainThatWasWrittenAnewIsNotSigned) {
  one_failed_one_passed();
  rewrite("", [](Json& row) {
    if (row.contains("state")) row["state"] = "COMPLETE";
  });
  every_operator_is_refused();
}

TEST_F(Trust, ARowBehindASealIsNotSigned) {
  one_failed_one_passed();
  append("one", lie);
  every_operator_is_refused();
}

TEST_F(Trust, ARowBehindTheRunsEndIsNotSigned) {
  one_failed_one_passed();
  append("", [](Json& row) { row["type"] = "operator"; });
  every_operator_is_refused();
}

TEST_F(Trust, AVerdictThatNoHeadCoversIsNotSigned) {
  attempt("failed_retryable");
  append("one", lie);
  store_ = open();
  const auto claimed = claim();
  ASSERT_TRUE(claimed && claimed->claim);
  refused(begin(*claimed->claim));
}

TEST_F(Trust, ARunWithoutAHeadIsNotSigned) {
  one_failed_one_passed();
  sql("DELETE FROM heads");
  every_operator_is_refused();
}

TEST_F(Trust, AHeadOfAnotherRunIsNone) {
  one_failed_one_passed();
  create("other");
  sql("UPDATE heads SET (body, signature) = (SELECT body, signature FROM heads WHERE run_id = 'other') "
      "WHERE run_id = 'r'");
  every_operator_is_refused();
}

TEST_F(Trust, AHeadByAnotherKeyIsNone) {
  one_failed_one_passed();
  rewrite("one", lie);
  testing::TempFolder elsewhere;
  const auto head = (*open_sealer(elsewhere.path()))->sign((*store_->head("r"))->body);
  sql("UPDATE heads SET public_key = '" + head.public_key + "', signature = '" + head.signature + "'");
  every_operator_is_refused();
}

TEST_F(Trust, ALedgerThatIsGoneIsNotBegunAnew) {
  one_failed_one_passed();
  sql("DELETE FROM heads; DELETE FROM ledger");
  every_operator_is_refused();
}

TEST_F(Trust, PlannedRowsThatWereChangedAreNotClaimed) {
  for (const std::string change :
       {"UPDATE plans SET common = 'evil'", "UPDATE planned_phases SET row = 'evil' WHERE phase_index = 0",
        "UPDATE runs SET base_id = 'evil'", "UPDATE runs SET plan_content = 'evil'"}) {
    begin_anew();
    sql(change);
    refused(claim());
    store_ = open();
    refused(claim());
  }
}

TEST_F(Trust, AcceptedWorkThatWasExchangedIsNotBuiltOn) {
  for (const std::string change :
       {"UPDATE accepted_layers SET layer_id = 'evil'", "DELETE FROM accepted_layers"}) {
    begin_anew();
    attempt("passed", "L");
    sql(change);
    refused(claim());
    store_ = open();
    refused(claim());
  }
}

// A layer that no row names is mounted below an agent, and gone again when somebody looks.
const char* const kExtraLayer = "INSERT INTO accepted_layers VALUES ('r', 1, 'two', 'evil')";

TEST_F(Trust, ALayerThatNoRowNamesIsNotBuiltOn) {
  // As whoever may change the schema, too.
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
    sql(change);
    refused(claim());
    store_ = open();
    refused(claim());
    EXPECT_FALSE(verified()->ok) << change;
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
  refused(store_->judge_again(held->claim->lease, ended(), std::nullopt, now_));
  refused(finish(*held->claim, "failed_retryable"));
  sql("DELETE FROM accepted_layers");
  EXPECT_TRUE(finish(*held->claim, "passed", "L"));
  EXPECT_TRUE(verified()->ok) << canonical(to_json(*verified()));
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
    EXPECT_FALSE(verified()->ok) << change;
    EXPECT_EQ(store_->run("r")->state, store::RunState::kExecuting);

    begin_anew();
    without_signer([&] {
      const auto again = claim();
      ASSERT_TRUE(again && again->claim);
      ASSERT_TRUE(begin(*again->claim));
      sql("CREATE TABLE kept AS SELECT * FROM phases WHERE phase_id = 'two'; " + change);
      ASSERT_TRUE(finish(*again->claim, "passed", "L"));
    });
    EXPECT_EQ(store_->run("r")->state, store::RunState::kComplete) << "the signer alone stops it";
    EXPECT_FALSE(verified()->ok) << change;
    sql("DELETE FROM phases WHERE phase_id = 'two'; INSERT INTO phases SELECT * FROM kept");
    EXPECT_FALSE(verified()->ok) << change << ", and taken back";
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
    sql(change);
    refused(claim());
    store_ = open();
    refused(claim());
    EXPECT_FALSE(verified()->ok) << change;
  }
  begin_anew();
  one_failed_one_passed();
  EXPECT_TRUE(verified()->ok);
  sql("UPDATE phases SET state = 'QUEUED', outcome = '' WHERE phase_id = 'one'; UPDATE runs SET state = "
      "'EXECUTING', ended_at = ''");
  EXPECT_FALSE(verified()->ok);
  refused(claim());
}

TEST_F(Trust, ARunThatAnOperatorOpenedAgainVerifiesAtOnce) {
  one_failed_one_passed();
  ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
  EXPECT_TRUE(verified()->ok) << canonical(to_json(*verified()));
  sql("UPDATE runs SET state = 'FAILED', ended_at = created_at");
  EXPECT_FALSE(verified()->ok);
}

TEST_F(Trust, AGoalIsTheOneThatAReplannersRowHas) {
  const auto replan = [&](const std::string& goal) {
    const auto held = claim();
    ASSERT_TRUE(held && held->claim && begin(*held->claim));
    store::AttemptEnd end{.verdict = "escalate", .summary = "s", .feedback = Json::object(), .reason = "why"};
    end.action = store::Action::kReplan;
    end.goal = goal;
    end.advice = {{.hook = "replan", .understood = true, .goal = goal}};
    ASSERT_TRUE(store_->finish(
        held->claim->lease, ended(), std::nullopt, end, [](const auto&, const auto&) { return false; },
        now_));
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

TEST_F(Trust, WhatBaseHasNeedsThisFoldersSignature) {
  ASSERT_TRUE(store_->put_inventory("k", "a\nb"));
  ASSERT_TRUE(store_->put_inventory("l", "c"));
  EXPECT_EQ(store_->inventory("k").value(), "a\nb");
  for (const std::string change :
       {"UPDATE inventories SET names = replace(names, 'a', 'x') WHERE key = 'k'",
        "UPDATE inventories SET names = 'a' WHERE key = 'k'",
        "UPDATE inventories SET names = '' WHERE key = 'k'",
        "UPDATE inventories SET names = (SELECT names FROM inventories WHERE key = 'l') WHERE key = 'k'",
        "UPDATE inventories SET names = names || 'x' WHERE key = 'k'"}) {
    sql(change);
    EXPECT_EQ(store_->inventory("k").value(), std::nullopt) << change;
    ASSERT_TRUE(store_->put_inventory("k", "a\nb")) << "base was judged again";
    EXPECT_EQ(store_->inventory("k").value(), "a\nb");
  }
}

TEST_F(Trust, AForkSharesNothingThatWasExchanged) {
  attempt("passed", "L");
  attempt("passed", "M");
  sql("UPDATE accepted_layers SET layer_id = 'evil' WHERE phase_id = 'one'");
  create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "two"}, .who = {}});
  refused(created_);
}

// In the order in which it was accepted, which is not always that of the plan.
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
  EXPECT_TRUE(verify_run(*store_, "fork", {.live = true})->ok);
}

TEST_F(Trust, AForkSharesNoHistoryThatWasWrittenAnew) {
  one_failed_one_passed();
  rewrite("one", lie);
  create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "two"}, .who = {}});
  refused(created_);
}

}  // namespace
}  // namespace pawl::ledger
