// A run of two phases, and an attacker who can write its database but does not have the key.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/hash.h"
#include "ledger/ledger.h"
#include "os/file.h"
#include "store/cost_row.h"
#include "store/store.h"
#include "support/temp_folder.h"

namespace pawl::ledger::fixtures {

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
  // Starts again with a new database.
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
                              .source_path = "/source",
                              .base_id = "b",
                              .backend = "namespace",
                              .created_at = rfc3339(now_)},
                      .tiers = {},
                      .plan_text = "text",
                      .plan = {.common = common_, .phases = {}},
                      .sandbox_ms_cap = kCapMs,
                      .fork = std::move(fork)};
    std::int64_t tier = 0, index = 0;
    for (const auto& id : phases_) {
      if (id.empty()) ++tier, index = 0;
      if (id.empty()) continue;
      run.phases.push_back(
          {.run_id = run_id, .phase_id = id, .tier_index = tier, .phase_index = index, .max_attempts = 2});
      run.plan.phases.push_back({.tier_index = tier, .phase_index = index++, .row = "row of " + id});
    }
    for (std::int64_t i = 0; i <= tier; ++i)
      run.tiers.push_back({.tier_index = i, .name = "t", .stop_on_failure = false, .parallel = is_parallel_});
    created_ = store_->create_run(run, now_);
  }
  Result<store::ClaimResult> claim() {
    return store_->claim(
        {.owner = "me", .now = now_, .model_of_attempt = [](const auto&, auto) { return "m"; }});
  }
  Result<store::Begun> begin(const Claim& claim) {
    return store_->begin_step(
        claim.lease,
        {.sandbox_run_id = "s" + std::to_string(++steps_),
         .gate_id = "agent",
         .step_name = "run",
         .label = claim.phase.phase_id + ".agent.run.attempt" + std::to_string(claim.attempt.number),
         .sandbox_spec_hash = "h"},
        {}, now_);
  }
  Result<store::Finished> finish(const Claim& claim, const std::string& word, const std::string& layer = "") {
    store::AttemptEnd end{.verdict = *store::attempt_verdict_from_name(word),
                          .summary = "s",
                          .reason = "why",
                          .accepted_layer = layer};
    if (word != "passed") end.feedback = Json::object();
    return store_->finish(
        claim.lease, {.result = ended()}, end, [](const auto&, const auto&) { return false; }, now_);
  }
  store::StepEnd ended() const {  // the end of the step that began last
    const std::string id = "s" + std::to_string(steps_);
    return {.sandbox_run_id = id,
            .run = R"({"exit_code":0,"outcome":"exited"})",
            .outcome = "exited",
            .duration_ms = took_ms_,
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

  // As attempt(), for a phase that is claimed already.
  Result<store::Finished> finished(const Claim& claim, const std::string& word, const std::string& layer) {
    if (const auto begun = begin(claim); !begun) return std::unexpected(begun.error());
    return finish(claim, word, layer);
  }
  void without_signer(const std::function<void()>& work) {
    setenv("PAWL_WALLS_OFF", "signer", 1);
    work();
    unsetenv("PAWL_WALLS_OFF");
  }

  Result<Report> verified() { return verify_run(*store_, "r", {.public_key = sealer_->public_key()}); }
  bool is_verified() {
    const auto report = verified();
    return report && report->ok;
  }

  // --- the attacker
  // Rewrites a chain with `change`, with matching hashes: everything that is possible without the key.
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
  // Acts as an attacker who may change the schema, too. The database `side` is for rows that are put back.
  void sql(const std::string& text) {
    Database(path_).run("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; ATTACH '" + path_ +
                        ".side' AS side; " + text);
  }

  // --- what must not happen: a verb that goes on, or a ledger that verifies after it
  // Changes the database. Then neither the store that knows the run nor a new store may claim.
  void refuses_to_claim_after(const std::string& change) {
    sql(change);
    refused(claim());
    store_ = open();
    refused(claim());
  }
  template <typename Done>
  void refused(const Done& done) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::kForged) << done.error().message;
  }
  void every_operator_is_refused() {
    for (const bool anew : {false, true}) {  // also by a store that has read the rows before
      if (anew) store_ = open();
      refused(store_->operator_retry("r", "one", {}, now_));
      refused(store_->operator_skip("r", "one", {}, now_));
      EXPECT_FALSE(verified()->ok);
    }
  }
  static void lie(Json& row) {
    if (text_in(row, "type") == "attempt") row["verdict"] = "passed";
  }

  static constexpr std::int64_t kCapMs = 1'000'000;
  std::vector<std::string> phases_ = {"one", "two"};  // "" begins the next tier
  std::string common_ = R"({"source_folder":"/source"})";
  bool is_parallel_ = false;  // all phases of a tier
  std::int64_t took_ms_ = 0;  // duration of each step that ends
  testing::TempFolder folder_;
  const std::string path_ = folder_ / "pawl.db";
  std::shared_ptr<const store::RowSealer> sealer_;
  std::unique_ptr<store::Store> store_;
  WallTime now_{1'767'323'045'000'000};
  Status created_;
  int steps_ = 0;
};

}  // namespace pawl::ledger::fixtures
