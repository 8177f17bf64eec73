// Rows between two signed heads: hashes alone link them, and anyone can make hashes. The end of a chain is
// sealed, and a claim compares the tables with the rows.
#include <gtest/gtest.h>

#include "support/trust_fixture.h"

namespace pawl::ledger {
namespace {

using store::ResumeDecision;

class BetweenHeads : public fixtures::Trust {
 protected:
  // An attempt under way: its agent ended with work and used tokens, a first gate's step failed, a second one
  // was lost, and is open again.
  void work() {
    begin_anew();
    steps_ = 0;
    const auto held = claim();
    ASSERT_TRUE(held && held->claim);
    lease_ = held->claim->lease;
    ASSERT_TRUE(step("agent", {}, {}));
    auto end = ended();
    end.layer = end.agent_layer = "L";
    end.reported = {.last_seq = 1, .events = {}, .usage = {usage()}};
    ASSERT_TRUE(step("first", end, {}));
    auto failed = ended();
    failed.run = kFailed;
    ASSERT_TRUE(step("second", failed, {}));
    const ResumeDecision again{.sandbox_run_id = id(),
                               .label = "one.second.t.attempt1",
                               .found = store::RecoveryFound::kNothing,
                               .decision = store::RecoveryDecision::kReExecute,
                               .lost_cost_row = store::cost_row({.run_id = "r", .sandbox_run_id = id()})};
    ASSERT_TRUE(step("second", {}, again, 2));
  }
  Result<store::Begun> step(const std::string& gate, const std::optional<store::StepEnd>& previous,
                            const std::optional<ResumeDecision>& resume, std::int64_t execution = 1) {
    const std::string name = gate == "agent" ? "run" : "t";
    return store_->begin_step(lease_,
                              {.sandbox_run_id = "s" + std::to_string(++steps_),
                               .step_index = steps_,
                               .gate_id = gate,
                               .step_name = name,
                               .label = "one." + gate + "." + name + ".attempt1",
                               .sandbox_spec_hash = "h",
                               .execution = execution},
                              {.result = previous, .resume = resume}, now_);
  }
  std::string id() const { return "s" + std::to_string(steps_); }
  static store::Reported::Usage usage() {
    store::Reported::Usage row;
    row.told_seq = 1;
    row.line = store::usage_line({.workflow_id = "w",
                                  .run_id = "r",
                                  .phase_id = "one",
                                  .attempt_id = "one.1",
                                  .sandbox_run_id = "s1",
                                  .usage_id = "u",
                                  .model = "m",
                                  .source = "agent",
                                  .input_tokens = 70,
                                  .output_tokens = 7,
                                  .emitted_at = "2026-01-02T03:04:05.678901Z"});
    row.input_tokens = 70;
    row.output_tokens = 7;
    return row;
  }
  // As an executor that comes after one that died.
  Result<store::ClaimResult> claim_again() {
    return store_->claim({.owner = "next",
                          .now = now_,
                          .owner_is_dead = [](std::string_view) { return true; },
                          .model_of_attempt = [](const auto&, auto) { return "m"; }});
  }
  // No verb goes on, neither with what was read before nor without. Without the defence it does.
  void refuses_all(const std::string& what) {
    SCOPED_TRACE(what);
    for (const bool is_new : {false, true}) {
      if (is_new) store_ = open();
      refused(claim_again());
      refused(store_->operator_budget("r", store::kSandboxMs, 2 * kCapMs, {}, now_));
      refused(store_->operator_cancel("r", "", {}, now_));
      refused(step("third", std::nullopt, std::nullopt));
    }
    without_signer([&] {
      store_ = open();
      const auto goes_on = claim_again();
      EXPECT_TRUE(goes_on && goes_on->claim) << goes_on.error().message;
      EXPECT_TRUE(store_->operator_budget("r", store::kSandboxMs, 2 * kCapMs, {}, now_));
    });
  }
  // As refuses_all(), where the rows are as they were: the tables count at a claim.
  void refuses_to_go_on(const std::string& change) {
    SCOPED_TRACE(change);
    work();
    sql(change);
    for (const bool is_new : {false, true}) {
      if (is_new) store_ = open();
      refused(claim_again());
    }
    without_signer([&] {
      store_ = open();
      EXPECT_TRUE(claim_again());
    });
  }

  static constexpr auto kFailed = R"({"exit_code":1,"outcome":"exited"})";
  static constexpr auto kPassed = R"({"exit_code":0,"outcome":"exited"})";
  store::Lease lease_;
};

TEST_F(BetweenHeads, AnHonestAttemptGoesOn) {
  work();
  store_ = open();
  const auto again = claim_again();
  ASSERT_TRUE(again && again->claim) << again.error().message;
  EXPECT_EQ(again->claim->steps.size(), 4U);
  lease_ = again->claim->lease;
  ASSERT_TRUE(step("third", ended(), std::nullopt));
  ASSERT_TRUE(finish(*again->claim, "failed_retryable"));
  EXPECT_TRUE(is_verified()) << canonical(to_json(*verified()));
}

// The hashes of the rows fit each other and the tables.
TEST_F(BetweenHeads, RowsThatWereWrittenAnewAreNotBuiltOn) {
  work();
  sql(std::string("UPDATE steps SET run = '") + kPassed + "' WHERE sandbox_run_id = 's2'");
  rewrite("one", [](Json& row) {
    if (row.contains("run") && text_in(row, "sandbox_run_id") == "s2") row["run"] = blake3_hex(kPassed);
  });
  refuses_all("a result");

  work();
  sql("UPDATE attempts SET agent_layer = 'M'");
  rewrite("one", [](Json& row) {
    if (row.contains("layer") && text_in(row, "sandbox_run_id") == "s1") row["layer"] = "M";
  });
  refuses_all("the work of the agent");

  work();
  sql("UPDATE budgets SET spent = spent - 70 WHERE unit = 'tokens'");
  rewrite("one", [](Json& row) {
    if (text_in(row, "type") == "usage") row["input_tokens"] = 0;
  });
  refuses_all("tokens");

  work();
  rewrite("one", [](Json& row) {
    if (text_in(row, "type") == "resume") row["decision"] = "skip";
  });
  refuses_all("a decision");
}

TEST_F(BetweenHeads, TheEndOfAChainIsNotCutOff) {
  const std::string last = "(SELECT MAX(seq) FROM ledger WHERE chain = 'one')";
  work();
  sql("DELETE FROM ledger WHERE chain = 'one' AND seq = " + last +
      "; DELETE FROM steps WHERE sandbox_run_id = 's4'");
  refuses_all("the last row");

  // Back to the end that a head lists.
  begin_anew();
  steps_ = 0;
  attempt("failed_retryable");
  const auto held = claim();
  ASSERT_TRUE(held && held->claim && begin(*held->claim));
  sql("DELETE FROM ledger WHERE chain = 'one' AND seq = " + last +
      "; DELETE FROM steps WHERE sandbox_run_id = 's2'; UPDATE budgets SET reserved = 0");
  for (const bool is_cleared : {false, true}) {
    if (is_cleared) sql("UPDATE open_chains SET seal = '' WHERE chain = 'one'");
    store_ = open();
    refused(claim_again());
    refused(store_->operator_cancel("r", "one", {}, now_));
  }
  without_signer([&] { EXPECT_TRUE(open()->operator_cancel("r", "one", {}, now_)); });
}

TEST_F(BetweenHeads, ASealIsOfOneEndOnly) {
  for (const std::string change :
       {"UPDATE open_chains SET seal = '' WHERE chain = 'one'", "DELETE FROM open_chains WHERE chain = 'one'",
        "UPDATE open_chains SET seal = (SELECT hash FROM ledger WHERE chain = 'one' ORDER BY seq DESC LIMIT "
        "1) "
        "WHERE chain = 'one'"}) {
    work();
    sql(change);
    store_ = open();
    refused(claim_again());
  }
  work();
  const std::string seal =
      fixtures::Database(path_).column("SELECT seal FROM open_chains WHERE chain = 'one'").at(0);
  ASSERT_TRUE(step("third", ended(), std::nullopt));
  sql("UPDATE open_chains SET seal = '" + seal + "' WHERE chain = 'one'");
  store_ = open();
  refused(claim_again());
}

// Each value that an executor goes on with is one of a row.
TEST_F(BetweenHeads, TablesThatDifferFromTheirRowsAreNotBuiltOn) {
  const std::string first = " WHERE sandbox_run_id = 's2'", lost = " WHERE sandbox_run_id = 's3'";
  refuses_to_go_on(std::string("UPDATE steps SET run = '") + kPassed + "'" + first);
  refuses_to_go_on("UPDATE steps SET state = 'open', run = '', ended_at = '', episode = 2" + first);
  refuses_to_go_on("UPDATE steps SET state = 'lost', run = ''" + first);
  refuses_to_go_on("UPDATE steps SET label = 'one.other.t.attempt1'" + first);
  refuses_to_go_on("UPDATE steps SET sandbox_spec_hash = 'other'" + first);
  refuses_to_go_on("UPDATE steps SET execution = 2" + first);
  refuses_to_go_on("UPDATE steps SET decision = 'wait'" + lost);
  refuses_to_go_on("UPDATE steps SET decision = 'skip', episode = 1" + lost);
  // Rows at a place that no step has would not be read: the agent would run again on what gates judged.
  for (const std::string id : {"s1", "s2", "s3", "s4"})
    for (const std::string place : {"1000000", "1000001", "-1", "9000000000000000000"})
      refuses_to_go_on("UPDATE steps SET step_index = " + place + " WHERE sandbox_run_id = '" + id + "'");
  refuses_to_go_on("DELETE FROM steps" + first);
  refuses_to_go_on("UPDATE attempts SET agent_layer = 'M'");
  refuses_to_go_on("UPDATE attempts SET joined_round = 1");
  refuses_to_go_on("UPDATE attempts SET joined_merge_seq = 1");
}

}  // namespace
}  // namespace pawl::ledger
