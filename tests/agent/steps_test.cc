// The journal of steps, and the children.
#include <gtest/gtest.h>

#include "support/journal_fixture.h"

namespace pawl::agent {
namespace {

class Steps : public JournalTest {
 protected:
  Result<StepBegun> begin(const std::string& session, StepKind kind = StepKind::kEffect,
                          std::optional<OnLost> on_lost = {}, const std::string& args = "h1") {
    return journal_->begin_step(
        {.key = "pay", .kind = kind, .args_hash = args, .on_lost = on_lost, .session = session}, kNow);
  }
  void expect_run(const Result<StepBegun>& begun, std::int64_t execution) {
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(begun->answer, StepAnswer::kRun);
    EXPECT_EQ(begun->execution, execution);
  }
  void expect_done(const Result<StepBegun>& begun, const std::string& result) {
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(begun->answer, StepAnswer::kDone);
    EXPECT_EQ(begun->result, result);
  }
  void expect_lost(const Result<StepBegun>& begun, OnLost on_lost) {
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(begun->answer, StepAnswer::kLost);
    EXPECT_EQ(begun->on_lost, on_lost);
    EXPECT_EQ(begun->question, on_lost == OnLost::kAsk ? "step:pay" : "");
  }
  PaidStep row() { return journal_->steps("", 10).value().at(0); }
};

TEST_F(Steps, ADoneStepIsAnsweredFromTheJournal) {
  expect_run(begin("s1"), 1);
  ASSERT_TRUE(journal_->complete_step("pay", R"({"x":1.5})", kNow));
  expect_done(begin("s1"), R"({"x":1.5})");
  reopen();
  expect_done(begin("s2"), R"({"x":1.5})");
  EXPECT_TRUE(events("step_lost").empty());
  EXPECT_TRUE(journal_->complete_step("pay", R"({"x":1.5})", kNow)) << "the client lost the answer";
  EXPECT_EQ(journal_->complete_step("pay", "2", kNow).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(journal_->fail_step("pay", "e", kNow).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(row().state, "done");
}

TEST_F(Steps, TheSameSessionBeginsTheSameExecution) {
  expect_run(begin("s1"), 1);
  expect_run(begin("s1"), 1);
  EXPECT_TRUE(events("step_lost").empty());
}

TEST_F(Steps, OtherArgumentsAreAConflictThatNamesBoth) {
  expect_run(begin("s1"), 1);
  for (const bool done : {false, true}) {
    if (done) {
      ASSERT_TRUE(journal_->complete_step("pay", "1", kNow));
    }
    const auto other = begin("s1", StepKind::kEffect, {}, "h2");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::kConflict);
    EXPECT_NE(other.error().message.find("h1"), std::string::npos);
    EXPECT_NE(other.error().message.find("h2"), std::string::npos);
    EXPECT_EQ(begin("s1", StepKind::kPure).error().kind, ErrorKind::kConflict);
  }
}

TEST_F(Steps, ALostPureStepRunsAgain) {
  expect_run(begin("s1", StepKind::kPure), 1);
  expect_run(begin("s2", StepKind::kPure), 2);
  expect_run(begin("s2", StepKind::kPure), 2);
  auto lost = events("step_lost");
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].details, Json({{"key", "pay"}, {"kind", "pure"}, {"on_lost", "re_execute"}}));
  expect_run(begin("s3", StepKind::kPure), 3);
  EXPECT_EQ(events("step_lost").size(), 2u) << "once an orphaned execution";
}

TEST_F(Steps, ALostEffectWaitsForAPerson) {
  expect_run(begin("s1"), 1);
  expect_lost(begin("s2"), OnLost::kAsk);
  expect_lost(begin("s2"), OnLost::kAsk);
  reopen();
  expect_lost(begin("s3"), OnLost::kAsk);
  expect_lost(begin("s1"), OnLost::kAsk);
  EXPECT_EQ(events("step_lost").size(), 1u);
  const auto asked = journal_->questions().value();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].key, "step:pay");
  EXPECT_EQ(asked[0].choices, (std::vector<std::string>{"run", "done", "fail"}));
  EXPECT_FALSE(asked[0].answer);
  EXPECT_EQ(events("question").size(), 1u);
}

TEST_F(Steps, APersonSaysThatItIsDone) {
  expect_run(begin("s1"), 1);
  expect_lost(begin("s2"), OnLost::kAsk);
  for (const char* wrong : {"done", "done ", "done {", "yes", ""})
    EXPECT_EQ(journal_->answer("step:pay", wrong, "ann", kNow).error().kind, ErrorKind::kInvalid) << wrong;
  ASSERT_TRUE(journal_->answer("step:pay", R"(done {"id":4})", "ann", kNow));
  expect_done(begin("s2"), R"({"id":4})");
  EXPECT_TRUE(journal_->answer("step:pay", R"(done {"id":4})", "ann", kNow)) << "told twice";
  EXPECT_EQ(journal_->answer("step:pay", "run", "bob", kNow).error().kind, ErrorKind::kConflict);
  const auto told = events("answered");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].details["who"], "ann");
}

TEST_F(Steps, APersonLetsItRunAgain) {
  expect_run(begin("s1"), 1);
  expect_lost(begin("s2"), OnLost::kAsk);
  ASSERT_TRUE(journal_->answer("step:pay", "run", "ann", kNow));
  expect_run(begin("s2"), 2);
  // The step is lost again: the same question is asked again.
  expect_lost(begin("s3"), OnLost::kAsk);
  EXPECT_FALSE(journal_->questions()->at(0).answer);
  EXPECT_EQ(events("step_lost").size(), 2u);
  EXPECT_EQ(events("question").size(), 2u);
  ASSERT_TRUE(journal_->answer("step:pay", "done 1", "ann", kNow));
  expect_done(begin("s3"), "1");
}

TEST_F(Steps, APersonGivesItUp) {
  expect_run(begin("s1"), 1);
  expect_lost(begin("s2"), OnLost::kAsk);
  ASSERT_TRUE(journal_->answer("step:pay", "fail", "ann", kNow));
  expect_lost(begin("s2"), OnLost::kFail);
  expect_lost(begin("s3", StepKind::kEffect, OnLost::kReExecute), OnLost::kFail);
  EXPECT_EQ(row().state, "failed");
  EXPECT_EQ(journal_->complete_step("pay", "1", kNow).error().kind, ErrorKind::kConflict);
}

TEST_F(Steps, APolicyGivesItUp) {
  expect_run(begin("s1"), 1);
  expect_lost(begin("s2", StepKind::kEffect, OnLost::kFail), OnLost::kFail);
  expect_lost(begin("s3", StepKind::kEffect, OnLost::kFail), OnLost::kFail);
  EXPECT_EQ(events("step_lost").size(), 1u);
  EXPECT_TRUE(journal_->questions()->empty());
}

TEST_F(Steps, WhatWasGivenUpIsNotCompleted) {
  expect_run(begin("s1", StepKind::kEffect, OnLost::kFail), 1);
  expect_lost(begin("s2", StepKind::kEffect, OnLost::kFail), OnLost::kFail);
  const auto refused = journal_->complete_step("pay", "1", kNow);
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(refused.error().message.find("begin it again"), std::string::npos) << refused.error().message;
}

TEST_F(Steps, EachLostEffectIsAskedAbout) {
  for (const auto* session : {"s1", "s2"})
    for (std::int64_t i = 0; i <= kQuestionsMax; ++i) {
      const auto begun = journal_->begin_step(
          {.key = std::to_string(i), .kind = StepKind::kEffect, .session = session}, kNow);
      ASSERT_TRUE(begun) << begun.error().message;
    }
  EXPECT_EQ(std::ssize(*journal_->questions()), kQuestionsMax + 1);
  EXPECT_TRUE(journal_->answer("step:" + std::to_string(kQuestionsMax), "run", "uid 1", kNow));
  EXPECT_TRUE(journal_->ask("the agent's own", "why?", {}, kNow));
}

TEST_F(Steps, AProcessThatLivesAfterAllCompletesWhatAPersonIsAskedAbout) {
  expect_run(begin("s1"), 1);
  expect_lost(begin("s2"), OnLost::kAsk);
  ASSERT_TRUE(journal_->complete_step("pay", "7", kNow));
  expect_done(begin("s2"), "7");
  EXPECT_TRUE(journal_->questions()->at(0).answer) << "nobody is asked any longer";
  EXPECT_EQ(journal_->answer("step:pay", "run", "ann", kNow).error().kind, ErrorKind::kConflict);
}

TEST_F(Steps, AFailedStepMayRunAgain) {
  expect_run(begin("s1"), 1);
  ASSERT_TRUE(journal_->fail_step("pay", "timeout", kNow));
  ASSERT_TRUE(journal_->fail_step("pay", "timeout", kNow));
  EXPECT_EQ(row().state, "failed");
  EXPECT_EQ(row().error, "timeout");
  EXPECT_EQ(journal_->complete_step("pay", "1", kNow).error().kind, ErrorKind::kConflict);
  expect_run(begin("s2"), 2);
  EXPECT_TRUE(events("step_lost").empty());
  ASSERT_TRUE(journal_->complete_step("pay", "1", kNow));
  EXPECT_EQ(row().executions, 2);
  EXPECT_EQ(row().error, "");
}

TEST_F(Steps, WhatWasNeverBegunIsNotFound) {
  EXPECT_EQ(journal_->complete_step("pay", "1", kNow).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(journal_->fail_step("pay", "e", kNow).error().kind, ErrorKind::kNotFound);
}

TEST_F(Steps, FieldsHaveBounds) {
  EXPECT_EQ(begin("").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(begin("s1", StepKind::kPure, {}, std::string(513, 'x')).error().kind, ErrorKind::kInvalid);
  expect_run(begin("s1"), 1);
  EXPECT_EQ(journal_->complete_step("pay", "{", kNow).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(journal_->complete_step("pay", '"' + std::string(kResultBytesMax, 'x') + '"', kNow).error().kind,
            ErrorKind::kInvalid);
  EXPECT_EQ(journal_->fail_step("pay", std::string(kTextBytesMax + 1, 'x'), kNow).error().kind,
            ErrorKind::kInvalid);
  EXPECT_EQ(journal_->begin_step({.key = "a\tb", .session = "s"}, kNow).error().kind, ErrorKind::kInvalid);
}

TEST_F(Steps, StepsAreBounded) {
  sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999999) INSERT INTO steps "
      "SELECT printf('full-%07d', i), 'pure', '', 'begun', 1, 's', '', '', '', '', '' FROM n");
  EXPECT_TRUE(journal_->begin_step({.key = "a", .session = "s"}, kNow));
  EXPECT_EQ(journal_->begin_step({.key = "b", .session = "s"}, kNow).error().kind, ErrorKind::kExhausted);
  EXPECT_TRUE(journal_->begin_step({.key = "a", .session = "s"}, kNow)) << "it is there";
}

TEST_F(Steps, AListOfLargeResultsGoesOn) {
  const std::string large = '"' + std::string(kResultBytesMax - 2, 'x') + '"';
  ASSERT_TRUE(journal_->begin_group());
  for (int i = 10; i < 30; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_TRUE(journal_->begin_step({.key = key, .session = "s"}, kNow));
    ASSERT_TRUE(journal_->complete_step(key, large, kNow));
  }
  ASSERT_TRUE(journal_->commit());
  std::size_t seen = 0;
  for (std::string after;;) {
    const auto some = *journal_->steps(after, 1000);
    if (some.empty()) break;
    EXPECT_LE(some.size(), 17u);
    seen += some.size();
    after = some.back().key;
  }
  EXPECT_EQ(seen, 20u);
  EXPECT_EQ(journal_->steps("10", 1)->at(0).key, "11");
}

// --- children

class Children : public JournalTest {
 protected:
  Result<ChildSpawned> spawn(std::int64_t ordinal, const std::string& spec, std::int64_t most = 10) {
    return journal_->spawn({.parent = "planner-0", .spawn_seq = 3, .ordinal = ordinal, .spec_hash = spec},
                           most, kNow);
  }
};

TEST_F(Children, StartResumeAndAreDone) {
  const auto first = spawn(1, "spec");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->child_id, "planner-0/3.1");
  EXPECT_EQ(first->answer, ChildAnswer::kStart);
  reopen();
  EXPECT_EQ(spawn(1, "spec")->answer, ChildAnswer::kResume);
  ASSERT_TRUE(journal_->finish_child("planner-0/3.1", "[1]", kNow));
  ASSERT_TRUE(journal_->finish_child("planner-0/3.1", "[1]", kNow));
  EXPECT_EQ(journal_->finish_child("planner-0/3.1", "[2]", kNow).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(journal_->finish_child("planner-0/3.2", "[2]", kNow).error().kind, ErrorKind::kNotFound);
  const auto done = spawn(1, "spec");
  EXPECT_EQ(done->answer, ChildAnswer::kDone);
  EXPECT_EQ(done->result, "[1]");
}

TEST_F(Children, AnotherSpecInTheSamePlaceIsAConflict) {
  ASSERT_TRUE(spawn(1, "spec"));
  EXPECT_EQ(spawn(1, "other").error().kind, ErrorKind::kConflict);
}

TEST_F(Children, TwinsAreTwo) {
  ASSERT_TRUE(spawn(1, "spec"));
  const auto twin = spawn(2, "spec");
  EXPECT_EQ(twin->answer, ChildAnswer::kStart);
  EXPECT_EQ(twin->child_id, "planner-0/3.2");
  ASSERT_TRUE(journal_->finish_child("planner-0/3.1", "1", kNow));
  EXPECT_EQ(spawn(2, "spec")->answer, ChildAnswer::kResume);
  EXPECT_EQ(journal_->children()->size(), 2u);
}

TEST_F(Children, TheirNumberHoldsAcrossCrashes) {
  ASSERT_TRUE(spawn(1, "a", 2));
  reopen();
  ASSERT_TRUE(spawn(2, "b", 2));
  reopen();
  EXPECT_EQ(spawn(3, "c", 2).error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(spawn(3, "c", 2).error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(spawn(2, "b", 2)->answer, ChildAnswer::kResume);
  EXPECT_EQ(journal_->children()->size(), 2u);
  EXPECT_TRUE(spawn(3, "c", 3)) << "the policy of today";
  EXPECT_EQ(spawn(4, "d", 0).error().kind, ErrorKind::kExhausted);
}

TEST_F(Children, FieldsHaveBounds) {
  EXPECT_EQ(spawn(-1, "a").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(spawn(1, "").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(journal_->spawn({.parent = std::string(510, 'p'), .spec_hash = "s"}, 9, kNow).error().kind,
            ErrorKind::kInvalid)
      << "its id would be too long to save a checkpoint with";
  ASSERT_TRUE(spawn(1, "a"));
  sql("UPDATE totals SET value = 67108860 WHERE name = 'child_bytes'");
  EXPECT_EQ(journal_->finish_child("planner-0/3.1", "[1,2]", kNow).error().kind, ErrorKind::kExhausted);
  EXPECT_TRUE(journal_->finish_child("planner-0/3.1", "1", kNow)) << "the other left nothing of itself";
}

}  // namespace
}  // namespace pawl::agent
