// Tables that limit a run, or inform the next agent, agree with the rows: at a claim, at the end of an
// attempt, and in verification.
#include <gtest/gtest.h>

#include "support/trust_fixture.h"

namespace pawl::ledger {
namespace {

using fixtures::Trust;

class Limits : public Trust {
 protected:
  static bool never(const std::string&, const std::string&) { return false; }
  // After `change` no claim succeeds, and verification names `what`. Only the signer's checks stop the claim.
  void found_at_claim(const std::string& change, const std::string& what) {
    refuses_to_claim_after(change);
    names(change, what);
    without_signer([&] {
      const auto claimed = claim();
      EXPECT_TRUE(claimed && claimed->claim) << change;
    });
  }
  // After `change` an attempt cannot be ended: neither by a store that knows the run nor by a new one.
  void found_at_end(const std::string& change, const std::string& what) {
    const auto held = claim();
    ASSERT_TRUE(held && held->claim) << (held ? held->waits_for : held.error().message);
    ASSERT_TRUE(begin(*held->claim));
    sql(change);
    refused(finish(*held->claim, "failed_retryable"));
    store_ = open();
    refused(finish(*held->claim, "failed_retryable"));
    names(change, what);
    without_signer([&] { EXPECT_TRUE(finish(*held->claim, "failed_retryable")) << change; });
  }
  void names(const std::string& change, const std::string& what) {
    const auto report = verified();
    if (!report) {  // found by SQLite
      EXPECT_EQ(report.error().kind, ErrorKind::kForged);
      EXPECT_NE(report.error().message.find(what), std::string::npos) << report.error().message;
      return;
    }
    ASSERT_FALSE(report->ok) << change;
    const bool named = std::ranges::any_of(report->problems, [&](const Problem& problem) {
      return problem.kind == "forged" && problem.file == "pawl.db" && problem.detail.find(what) == 0;
    });
    EXPECT_TRUE(named) << change << canonical(to_json(*report));
  }
  void honest() {
    const auto report = verified();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->ok) << canonical(to_json(*report));
    store_ = open();
    EXPECT_TRUE(is_verified());
  }
  static store::AttemptEnd replanned() {
    store::AttemptEnd end{.verdict = store::AttemptVerdict::kEscalate,
                          .summary = "s",
                          .feedback = Json::object(),
                          .reason = "why"};
    end.action = store::Action::kReplan;
    end.goal = "other";
    end.advice = {{.hook = "replan", .understood = true, .goal = "other"}};
    return end;
  }
};

TEST_F(Limits, WhatTheNextAgentIsToldIsWhatTheRowSays) {
  for (const std::string change :
       {"feedback = '{\"hint\":\"evil\"}'", "feedback = ''", "agent_layer = 'evil'", "summary = 'evil'",
        "verdict = 'escalate'", "model = 'evil'"}) {
    begin_anew();
    attempt("failed_retryable");
    found_at_claim("UPDATE attempts SET " + change, "attempt one.1");
  }
}

// An operator ended the attempt, so it has no feedback.
TEST_F(Limits, AnAttemptThatWasCancelledTellsNothing) {
  const auto held = claim();
  ASSERT_TRUE(held && held->claim && begin(*held->claim));
  ASSERT_TRUE(store_->operator_cancel("r", "one", {}, now_));
  ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
  honest();
  found_at_claim("UPDATE attempts SET feedback = '{\"hint\":\"evil\"}'", "attempt one.1");
}

TEST_F(Limits, AForkIsToldWhatTheRowOfTheOtherRunSays) {
  attempt("failed_retryable");
  attempt("failed_retryable");
  create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "one", .attempt = 2}, .who = {}});
  ASSERT_TRUE(created_) << created_.error().message;
  const auto claims = [&] {
    return store_->claim(
        {.run_ids = {"fork"}, .owner = "me", .now = now_, .model_of_attempt = [](const auto&, auto) {
           return "m";
         }});
  };
  sql("UPDATE attempts SET feedback = '{\"hint\":\"evil\"}' WHERE run_id = 'r' AND number = 1");
  refused(claims());
  without_signer([&] {
    const auto held = claims();
    ASSERT_TRUE(held && held->claim);
    ASSERT_TRUE(store_->release(held->claim->lease));
  });
  sql("UPDATE attempts SET feedback = '{}' WHERE run_id = 'r' AND number = 1");
  for (const std::string change : {"UPDATE forks SET attempt = 3", "UPDATE forks SET attempt = 1"}) {
    store_ = open();
    sql(change);
    refused(claims());
    sql("UPDATE forks SET attempt = 2");
  }
  store_ = open();
  const auto held = claims();
  ASSERT_TRUE(held && held->claim) << held.error().message;
  EXPECT_EQ(held->claim->previous->attempt_id, "one.1");
}

TEST_F(Limits, PhasesHaveTheOrderThatTheRunWasStartedWith) {
  phases_ = {"one", "two", "", "three", "four"};
  const std::string away =
      "UPDATE phases SET phase_index = phase_index + 10 WHERE phase_id IN ('one', 'three'); ";
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"UPDATE tiers SET stop_on_failure = 1", "the list of tiers"},
      {"UPDATE tiers SET parallel = 1 WHERE tier_index = 0", "the list of tiers"},
      {"UPDATE tiers SET name = 'evil' WHERE tier_index = 1", "the list of tiers"},
      {"INSERT INTO tiers VALUES ('r', 2, 't', 0, 0)", "the list of tiers"},
      {"UPDATE phases SET tier_index = 1, phase_index = 7 WHERE phase_id = 'one'", "the place of phase "},
      {"UPDATE phases SET phase_index = 7 WHERE phase_id = 'one'", "the place of phase "},
      {away + "UPDATE phases SET tier_index = 1 - tier_index, phase_index = 0 WHERE phase_id IN ('one', "
              "'three')",
       "the place of phase "},
      {"DELETE FROM phases WHERE phase_id = 'four'", "the list of phases"},
      {"INSERT INTO phases (run_id, phase_id, tier_index, phase_index) VALUES ('r', 'five', 1, 2)",
       "the list of phases"}};
  for (const auto& [change, what] : changes) {
    begin_anew();
    honest();
    refuses_to_claim_after(change);
    names(change, what);
  }
  // Without the signer, a phase that must wait for another one would begin before it.
  begin_anew();
  without_signer([&] {
    sql("UPDATE phases SET tier_index = 1, phase_index = phase_index + 7 WHERE tier_index = 0");
    const auto early = claim();
    ASSERT_TRUE(early && early->claim);
    EXPECT_EQ(early->claim->phase.phase_id, "three");
  });
}

// A running process does not cache a forged tier.
TEST_F(Limits, ATierThatWasTakenBackIsReadAgain) {
  is_parallel_ = true;
  begin_anew();
  sql("UPDATE tiers SET parallel = 0");
  refused(claim());
  sql("UPDATE tiers SET parallel = 1");
  const auto held = claim();
  ASSERT_TRUE(held && held->claim) << held.error().message;
  EXPECT_FALSE(held->claim->attempt.base_has_own_tier);
}

TEST_F(Limits, APhaseIsTriedAsOftenAsItsRowsSay) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"max_attempts = 50", "max_attempts of phase one"},
      {"max_attempts = 3", "max_attempts of phase one"},
      {"attempts_used = 0", "attempts_used of phase one"},
      {"attempts_total = 2", "attempts_total of phase one"},
      {"revision = 1, attempts_used = 0", "revision of phase one"}};
  for (const auto& [change, what] : changes) {
    const std::string statement = "UPDATE phases SET " + change + " WHERE phase_id = 'one'";
    begin_anew();
    attempt("failed_retryable");
    honest();
    found_at_claim(statement, what);
    begin_anew();
    found_at_end(statement, what);
  }
  begin_anew();
  attempt("failed_retryable");
  const std::string forgotten =
      "UPDATE phases SET attempts_used = 0, attempts_total = 0; DELETE FROM attempts";
  found_at_claim(forgotten, "the number of attempts of phase one");
}

TEST_F(Limits, ARunsColumnsAreWhatItsRowsSay) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"created_at = '2001-01-01T00:00:00.000000Z'", "the time of the run's start"},
      {"ended_at = '2031-01-01T00:00:00.000000Z'", "the time of the run's end"},
      {"ended_at = ''", "the time of the run's end"},
      {"doctor_calls = 1", "doctor_calls of the run"}};
  one_failed_one_passed();
  honest();
  for (const auto& [change, what] : changes) {
    sql("DROP TABLE IF EXISTS side.kept; CREATE TABLE side.kept AS SELECT * FROM runs; UPDATE runs SET " +
        change);
    names(change, what);
    sql("DELETE FROM runs; INSERT INTO runs SELECT * FROM side.kept; DROP TABLE side.kept");
  }
  honest();
}

// The doctor's calls of a run are limited, too: the column is compared before the next call.
TEST_F(Limits, ADoctorsCallIsCountedUponWhatWasCounted) {
  const auto held = claim();
  ASSERT_TRUE(held && held->claim && begin(*held->claim));
  ASSERT_TRUE(store_->end_step(held->claim->lease, {.result = ended()}, now_));
  store::StepStart call{.sandbox_run_id = "call",
                        .step_index = 1,
                        .gate_id = "doctor",
                        .step_name = "run",
                        .label = "one.doctor.run.attempt1",
                        .sandbox_spec_hash = "h",
                        .counted = store::Counted::kDoctorCall};
  const auto begins = [&] { return store_->begin_step(held->claim->lease, call, {}, now_); };
  sql("UPDATE runs SET doctor_calls = 3");
  refused(begins());
  sql("UPDATE runs SET doctor_calls = 0");
  ASSERT_TRUE(begins());
  EXPECT_EQ(store_->run("r")->doctor_calls, 1);
  honest();
}

TEST_F(Limits, WhatOperatorsAndReplannersChangeIsHonest) {
  attempt("failed_retryable");
  ASSERT_TRUE(store_->operator_max_attempts("r", 5, {}, now_));
  honest();
  attempt("failed_retryable");
  const auto held = claim();
  ASSERT_TRUE(held && held->claim && begin(*held->claim)) << held.error().message;
  ASSERT_TRUE(store_->operator_max_attempts("r", 1, {}, now_));
  EXPECT_EQ(store_->phase("r", "one")->max_attempts, 3) << "what is used";
  honest();
  ASSERT_TRUE(store_->finish(held->claim->lease, {.result = ended()}, replanned(), never, now_));
  honest();
  attempt("failed_retryable");
  honest();
  ASSERT_TRUE(store_->operator_skip("r", "one", {}, now_));
  honest();
  ASSERT_TRUE(store_->operator_retry("r", "one", {}, now_));
  honest();
  attempt("passed", "L");
  honest();
  refuses_to_claim_after("UPDATE phases SET max_attempts = 9 WHERE phase_id = 'two'");
}

// A round is judged on the work accepted up to it, also when the attempt fails in it.
TEST_F(Limits, ARoundWasJudgedOnWhatHadBeenAcceptedByThen) {
  is_parallel_ = true;
  for (const bool is_forged : {false, true}) {
    begin_anew();
    const auto one = claim(), two = claim();
    ASSERT_TRUE(one && one->claim && two && two->claim);
    ASSERT_TRUE(begin(*one->claim));
    ASSERT_TRUE(finish(*one->claim, "passed", "L"));
    ASSERT_TRUE(begin(*two->claim));
    const auto behind = finish(*two->claim, "passed", "M");
    ASSERT_TRUE(behind && behind->behind);
    const auto end = [&] {
      const auto again = store_->judge_again(two->claim->lease, {.result = ended()}, now_);
      ASSERT_TRUE(again) << again.error().message;
      store::AttemptEnd failed{.verdict = store::AttemptVerdict::kFailedRetryable,
                               .summary = "s",
                               .feedback = Json::object(),
                               .reason = "why"};
      ASSERT_TRUE(store_->finish(two->claim->lease, {}, failed, never, now_));
    };
    if (!is_forged) {
      end();
      honest();
      continue;
    }
    without_signer([&] {
      sql("UPDATE accepted_layers SET layer_id = 'evil'");
      end();
      sql("UPDATE accepted_layers SET layer_id = 'L'");
    });
    const auto report = verified();
    ASSERT_FALSE(report->ok);
    EXPECT_EQ(report->problems[0].file, "phases/two/attempts.jsonl");
    EXPECT_EQ(verify(*files_of(*store_, "r"), {.live = true}).ok, false) << "by its rows alone";
  }
}

TEST_F(Limits, AForkHasItsOwnCounts) {
  const auto held = claim();
  ASSERT_TRUE(held && held->claim && begin(*held->claim));
  ASSERT_TRUE(store_->finish(held->claim->lease, {.result = ended()}, replanned(), never, now_));
  create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "one", .attempt = 2}, .who = {}});
  ASSERT_TRUE(created_) << created_.error().message;
  const auto report = [&] { return verify_run(*store_, "fork", {}); };
  EXPECT_EQ(store_->phase("fork", "one")->revision, 1);
  EXPECT_TRUE(report()->ok) << canonical(to_json(*report()));
  sql("UPDATE phases SET revision = 2 WHERE run_id = 'fork'");
  EXPECT_FALSE(report()->ok);
}

TEST_F(Limits, WhatIsSpentIsWhatTheRowsAddUpTo) {
  took_ms_ = 7000;
  for (const std::string change : {"spent = 0", "spent = spent - 1", "spent = spent + 1", "cap = NULL",
                                   "cap = cap + 1", "reserved = -1000000"}) {
    const std::string statement = "UPDATE budgets SET " + change;
    const std::string what = change.starts_with("cap")        ? "the cap of sandbox_ms"
                             : change.starts_with("reserved") ? "CHECK constraint failed"
                                                              : "the spent amount of sandbox_ms";
    begin_anew();
    attempt("failed_retryable");
    honest();
    EXPECT_EQ(store_->budgets("r")->front().spent, took_ms_);
    found_at_claim(statement, what);
    if (change.starts_with("reserved")) continue;  // a CHECK refuses the result
    begin_anew();
    attempt("failed_retryable");
    found_at_end(statement, what);
  }
  begin_anew();
  attempt("failed_retryable");
  refuses_to_claim_after("DELETE FROM budgets");
}

// Rows that no head covers yet count, too, and begin_step() compares them.
TEST_F(Limits, WhatWasSpentSinceTheHeadCounts) {
  took_ms_ = 7000;
  for (const bool anew : {false, true}) {
    begin_anew();
    const auto held = claim();
    ASSERT_TRUE(held && held->claim && begin(*held->claim));
    const auto first = ended();
    const auto next = [&](const std::string& id, const std::optional<store::StepEnd>& previous) {
      return store_->begin_step(held->claim->lease,
                                {.sandbox_run_id = id,
                                 .step_index = id == "gate" ? 1 : 2,
                                 .gate_id = "check",
                                 .step_name = id,
                                 .label = "one.check." + id + ".attempt1",
                                 .sandbox_spec_hash = "h"},
                                {.result = previous}, now_);
    };
    ASSERT_TRUE(next("gate", first));
    auto second = first;
    second.sandbox_run_id = "gate";
    second.cost_row = store::cost_row({.run_id = "r", .sandbox_run_id = "gate"});
    EXPECT_TRUE(is_verified()) << canonical(to_json(*verified()));
    sql("UPDATE budgets SET spent = 0");
    if (anew) store_ = open();
    refused(next("more", second));
    names("spent is 0", "the spent amount of sandbox_ms");
    sql("UPDATE budgets SET spent = 7000");
    EXPECT_TRUE(next("more", second));
    EXPECT_EQ(store_->budgets("r")->front().spent, 14'000);
    honest();
  }
}

TEST_F(Limits, WhatIsReservedIsWhatOpenStepsHold) {
  const auto held = claim();
  ASSERT_TRUE(held && held->claim);
  ASSERT_TRUE(begin(*held->claim));
  honest();
  for (const std::string change :
       {"UPDATE budgets SET reserved = 7", "UPDATE steps SET reserved_ms = 7",
        "UPDATE steps SET reserved_tokens = 7",
        "INSERT INTO budgets (run_id, unit, reserved) VALUES ('r', 'tokens', 1)"}) {
    sql("DROP TABLE IF EXISTS side.b; CREATE TABLE side.b AS SELECT * FROM budgets; DROP TABLE IF EXISTS "
        "side.s; CREATE TABLE side.s AS SELECT * FROM steps; " +
        change);
    names(change, "the reserved amount of ");
    sql("DELETE FROM budgets; INSERT INTO budgets SELECT * FROM side.b; DROP TABLE side.b; "
        "UPDATE steps SET (reserved_ms, reserved_tokens) = (SELECT reserved_ms, reserved_tokens FROM "
        "side.s); "
        "DROP TABLE side.s");
    honest();
  }
}

TEST_F(Limits, AStepThatWasLostHasTakenWhatItsRowSays) {
  const auto held = claim();
  ASSERT_TRUE(held && held->claim);
  store::StepStart start{.sandbox_run_id = "lost",
                         .gate_id = "agent",
                         .step_name = "run",
                         .label = "one.agent.run.attempt1",
                         .sandbox_spec_hash = "h",
                         .reserved_ms = 60'000};
  ASSERT_TRUE(store_->begin_step(held->claim->lease, start, {}, now_));
  now_ = now_.plus_ms(4000);
  const store::ResumeDecision resume{
      .sandbox_run_id = "lost",
      .label = start.label,
      .found = store::RecoveryFound::kNothing,
      .decision = store::RecoveryDecision::kReExecute,
      .lost_cost_row = store::cost_row({.run_id = "r", .sandbox_run_id = "lost"})};
  start.sandbox_run_id = "again";
  start.execution = 2;
  ASSERT_TRUE(store_->begin_step(held->claim->lease, start, {.resume = resume}, now_));
  EXPECT_EQ(store_->budgets("r")->front().spent, 4000);
  honest();
  sql("UPDATE budgets SET spent = 3999");
  names("spent is 3999", "the spent amount of sandbox_ms");
  sql("UPDATE budgets SET spent = 4000");
  honest();
  for (const std::string change : {"reserved_ms = 3000", "ended_at = started_at"}) {
    sql("UPDATE steps SET " + change + " WHERE state = 'lost'");
    names(change, "step one.agent.run.attempt1");
    sql("UPDATE steps SET reserved_ms = 60000 WHERE state = 'lost'");
  }
}

TEST_F(Limits, WhatAgentsToldIsSpent) {
  const auto held = claim();
  ASSERT_TRUE(held && held->claim && begin(*held->claim));
  auto end = ended();
  const auto line = store::usage_line({.workflow_id = "w",
                                       .run_id = "r",
                                       .phase_id = "one",
                                       .attempt_id = "one.1",
                                       .sandbox_run_id = end.sandbox_run_id,
                                       .usage_id = "u",
                                       .source = "agent",
                                       .input_tokens = 10,
                                       .output_tokens = 5,
                                       .usd_nanos = 3'000'000,
                                       .emitted_at = rfc3339(now_)});
  end.reported = {
      .last_seq = 1,
      .usage = {
          {.told_seq = 1, .input_tokens = 10, .output_tokens = 5, .usd_nanos = 3'000'000, .line = line}}};
  store::AttemptEnd failed{.verdict = store::AttemptVerdict::kFailedRetryable,
                           .summary = "s",
                           .feedback = Json::object(),
                           .reason = "why"};
  ASSERT_TRUE(store_->finish(held->claim->lease, {.result = end}, failed, never, now_));
  honest();
  for (const std::string unit : {"tokens", "usd_nanos"}) {
    const std::string of_unit = " WHERE unit = '" + unit + "'";
    refuses_to_claim_after("UPDATE budgets SET spent = spent - 1" + of_unit);
    names(unit, "the spent amount of " + unit);
    sql("UPDATE budgets SET spent = spent + 1" + of_unit);
    refuses_to_claim_after("UPDATE budgets SET cap = 1000000000" + of_unit);
    names(unit, "the cap of " + unit);
    sql("UPDATE budgets SET cap = NULL" + of_unit);
    honest();
  }
  EXPECT_TRUE(claim());
}

}  // namespace
}  // namespace pawl::ledger
