// Usage reports, events, questions and sessions.
#include <gtest/gtest.h>

#include "support/journal_fixture.h"

namespace pawl::agent {
namespace {

using ReportedTest = JournalTest;

Usage call(const std::string& id, std::int64_t input, std::int64_t output,
           std::optional<std::int64_t> usd = {}) {
  return {.id = id,
          .model = "m",
          .input_tokens = input,
          .output_tokens = output,
          .usd_micros = usd,
          .source = "agent"};
}

TEST_F(ReportedTest, UsageIsCountedOnce) {
  ASSERT_TRUE(journal_->add_usage(call("1", 10, 5, 100), kNow));
  ASSERT_TRUE(journal_->add_usage(call("1", 10, 5, 100), kNow));
  reopen();
  ASSERT_TRUE(journal_->add_usage(call("1", 10, 5, 100), kNow));
  ASSERT_TRUE(journal_->add_usage(call("2", 1, 1), kNow));
  for (const auto& other : {call("1", 11, 5, 100), call("1", 10, 5), call("2", 1, 1, 0)})
    EXPECT_EQ(journal_->add_usage(other, kNow).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(journal_->spent()->usd_micros, 100);
  EXPECT_EQ(journal_->spent()->tokens, 17);
  const auto told = *journal_->reported_since(0);
  ASSERT_EQ(told.usage.size(), 2u);
  EXPECT_EQ(told.usage[0].usage, call("1", 10, 5, 100));
  EXPECT_EQ(told.usage[1].usage, call("2", 1, 1));
}

TEST_F(ReportedTest, UsageHasBounds) {
  EXPECT_EQ(journal_->add_usage(call("1", -1, 0), kNow).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(journal_->add_usage(call("1", 0, kNumberMax + 1), kNow).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(journal_->add_usage(call("1", 0, 0, -1), kNow).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(journal_->add_usage(call("", 0, 0), kNow).error().kind, ErrorKind::kInvalid);
  sql("UPDATE totals SET value = 99999 WHERE name = 'usage'");
  EXPECT_TRUE(journal_->add_usage(call("1", 1, 1), kNow));
  EXPECT_EQ(journal_->add_usage(call("2", 1, 1), kNow).error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(journal_->spent()->tokens, 2);
}

TEST_F(ReportedTest, ASumNeverWrapsAround) {
  Status last;
  int told = 0;
  for (; last && told < 1000; ++told)
    last = journal_->add_usage(call(std::to_string(told), kNumberMax, kNumberMax, kNumberMax), kNow);
  EXPECT_EQ(last.error().kind, ErrorKind::kExhausted);
  EXPECT_GT(told, 100);
  EXPECT_GT(journal_->spent()->tokens, 0);
  EXPECT_GT(journal_->spent()->usd_micros, 0);
}

TEST_F(ReportedTest, EventsAndUsageShareOneSeq) {
  ASSERT_TRUE(journal_->add_event("warm_restart", {{"a", "b"}, {"n", 1}, {"yes", true}}, kNow));
  ASSERT_TRUE(journal_->add_usage(call("1", 1, 1), kNow));
  ASSERT_TRUE(journal_->add_event("other", Json::object(), kNow));
  const auto all = *journal_->reported_since(0);
  ASSERT_EQ(all.events.size(), 2u);
  EXPECT_EQ(all.events[0].seq, 1);
  EXPECT_EQ(all.events[0].event, "warm_restart");
  EXPECT_EQ(all.events[0].details, Json({{"a", "b"}, {"n", 1}, {"yes", true}}));
  EXPECT_EQ(all.events[0].at, rfc3339(kNow));
  EXPECT_EQ(all.usage.at(0).seq, 2);
  EXPECT_EQ(all.events[1].seq, 3);
  EXPECT_EQ(all.last_seq, 3);
  const auto rest = *journal_->reported_since(1);
  EXPECT_EQ(rest.events.size() + rest.usage.size(), 2u);
  EXPECT_EQ(journal_->reported_since(3)->last_seq, 3);
  EXPECT_TRUE(journal_->reported_since(3)->events.empty());
}

TEST_F(ReportedTest, EventsArePlainAndSmall) {
  for (const Json& details : {Json::array(), Json({{"a", 0.5}}), Json({{"a", {1}}}), Json({{"a", nullptr}}),
                              Json({{"a", std::string(kDetailsBytesMax, 'x')}})})
    EXPECT_EQ(journal_->add_event("e", details, kNow).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(journal_->add_event("", Json::object(), kNow).error().kind, ErrorKind::kInvalid);
}

TEST_F(ReportedTest, TheLastEventSaysThatThereWereMore) {
  sql("UPDATE totals SET value = 9998 WHERE name = 'events'");
  ASSERT_TRUE(journal_->add_event("last", Json::object(), kNow));
  EXPECT_EQ(journal_->add_event("more", Json::object(), kNow).error().kind, ErrorKind::kExhausted);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(journal_->begin_step({.key = "s", .session = std::to_string(i)}, kNow))
        << "the agent goes on";
  }
  const auto told = *journal_->reported_since(0);
  ASSERT_EQ(told.events.size(), 2u);
  EXPECT_EQ(told.events[1].event, "events_full");
}

TEST_F(ReportedTest, AQuestionIsAskedOnceAndAnsweredOnce) {
  const std::vector<std::string> choices = {"yes", "no"};
  const auto asked = journal_->ask("deploy", "Deploy?", choices, kNow);
  ASSERT_TRUE(asked);
  EXPECT_FALSE(asked->answer);
  ASSERT_TRUE(journal_->ask("deploy", "Deploy?", choices, kNow));
  EXPECT_EQ(events("question").size(), 1u);
  EXPECT_EQ(journal_->ask("deploy", "Really?", choices, kNow).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(journal_->ask("deploy", "Deploy?", {"yes"}, kNow).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(journal_->answer("deploy", "maybe", "ann", kNow).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(journal_->answer("other", "yes", "ann", kNow).error().kind, ErrorKind::kNotFound);
  ASSERT_TRUE(journal_->answer("deploy", "yes", "ann", kNow));
  ASSERT_TRUE(journal_->answer("deploy", "yes", "ann", kNow));
  EXPECT_EQ(journal_->answer("deploy", "no", "bob", kNow).error().kind, ErrorKind::kConflict);
  reopen();
  const auto again = journal_->ask("deploy", "Deploy?", choices, kNow);
  EXPECT_EQ(again->answer, "yes");
  EXPECT_EQ(again->choices, choices);
  EXPECT_EQ(again->answered_at, rfc3339(kNow));
  EXPECT_EQ(events("answered").at(0).details, Json({{"key", "deploy"}, {"answer", "yes"}, {"who", "ann"}}));
}

TEST_F(ReportedTest, WithoutChoicesAnyTextIsAnAnswer) {
  ASSERT_TRUE(journal_->ask("name", "Which?", {}, kNow));
  EXPECT_EQ(journal_->answer("name", std::string(kResultBytesMax + 1, 'x'), "ann", kNow).error().kind,
            ErrorKind::kInvalid);
  EXPECT_EQ(journal_->answer("name", "\xFF", "ann", kNow).error().kind, ErrorKind::kInvalid);
  const std::string large(100'000, 'x');
  ASSERT_TRUE(journal_->answer("name", large, "ann", kNow));
  EXPECT_EQ(journal_->questions()->at(0).answer, large);
  // More than a ledger row shows, so that a secret at the cut is still whole when it is searched for.
  EXPECT_EQ(events("answered").at(0).details["answer"].get<std::string>().size(), 8192u);
}

TEST_F(ReportedTest, QuestionsHaveBounds) {
  const auto kind = [&](const std::string& key, const std::string& text,
                        const std::vector<std::string>& choices) {
    const auto asked = journal_->ask(key, text, choices, kNow);
    return asked ? std::optional<ErrorKind>() : asked.error().kind;
  };
  EXPECT_EQ(kind("", "q", {}), ErrorKind::kInvalid);
  EXPECT_EQ(kind("k", "", {}), ErrorKind::kInvalid);
  EXPECT_EQ(kind("k", std::string(kTextBytesMax + 1, 'x'), {}), ErrorKind::kInvalid);
  EXPECT_EQ(kind("k", "q", std::vector<std::string>(21, "c")), ErrorKind::kInvalid);
  EXPECT_EQ(kind("k", "q", {""}), ErrorKind::kInvalid);
  EXPECT_EQ(kind("step:pay", "q", {}), ErrorKind::kInvalid) << "that is for steps that were lost";
  for (int i = 0; i < kQuestionsMax; ++i) EXPECT_EQ(kind(std::to_string(i), "q", {}), std::nullopt);
  EXPECT_EQ(kind("k", "q", {}), ErrorKind::kExhausted);
}

TEST_F(ReportedTest, ASessionIsAProcess) {
  EXPECT_EQ(journal_->begin_session("s1", kNow), 1);
  EXPECT_EQ(journal_->begin_session("s1", kNow), 1);
  reopen();
  EXPECT_EQ(journal_->begin_session("s2", kNow), 2);
  EXPECT_TRUE(events("resumed").empty()) << "there is nothing to resume";
  ASSERT_TRUE(save(*journal_, "a", "x"));
  EXPECT_EQ(journal_->begin_session("s2", kNow), 2);
  EXPECT_TRUE(events("resumed").empty());
  reopen();
  EXPECT_EQ(journal_->report_resumed({{"loaded", "a"}}, kNow), false) << "who may resume it comes yet";
  EXPECT_EQ(journal_->begin_session("s3", kNow), 3);
  EXPECT_EQ(journal_->begin_session("s3", kNow), 3);
  EXPECT_EQ(journal_->begin_session("s1", kNow), 1);
  EXPECT_TRUE(events("resumed").empty()) << "nobody has said yet what it loads";
  EXPECT_EQ(journal_->report_resumed({{"loaded", "a"}, {"seq", 1}}, kNow), true);
  EXPECT_EQ(journal_->report_resumed({{"loaded", "b"}, {"seq", 2}}, kNow), true);
  ASSERT_EQ(events("resumed").size(), 1u);
  EXPECT_EQ(events("resumed")[0].details, Json({{"session", 3}, {"loaded", "a"}, {"seq", 1}}));
  EXPECT_EQ(journal_->begin_session("", kNow).error().kind, ErrorKind::kInvalid);
}

TEST_F(ReportedTest, AJournaledStepIsSomethingToResume) {
  EXPECT_EQ(journal_->begin_session("s1", kNow), 1);
  ASSERT_TRUE(journal_->begin_step({.key = "a", .session = "s1"}, kNow));
  reopen();
  EXPECT_EQ(journal_->begin_session("s2", kNow), 2);
  EXPECT_EQ(journal_->report_resumed({{"step", "a"}}, kNow), true);
  EXPECT_EQ(events("resumed").size(), 1u);
}

TEST_F(ReportedTest, OnlyWhatWasThereBeforeIsResumedAndOnce) {
  EXPECT_EQ(journal_->begin_session("s1", kNow), 1);
  ASSERT_TRUE(save(*journal_, "a", "x"));
  EXPECT_EQ(journal_->begin_session("s2", kNow), 2);
  EXPECT_EQ(journal_->report_resumed({{"loaded", "a"}}, kNow), true);
  EXPECT_TRUE(events("resumed").empty()) << "nobody has gone";
  reopen();
  ASSERT_TRUE(journal_->begin_group());
  EXPECT_EQ(journal_->begin_session("s3", kNow), 3);
  EXPECT_EQ(journal_->report_resumed({{"loaded", "a"}}, kNow), true);
  journal_->roll_back();
  EXPECT_EQ(journal_->begin_session("s2", kNow), 2);
  EXPECT_EQ(journal_->begin_session("s3", kNow), 3);
  EXPECT_EQ(journal_->begin_session("s4", kNow), 4);
  EXPECT_EQ(journal_->report_resumed({{"loaded", ""}}, kNow), true);
  ASSERT_EQ(events("resumed").size(), 1u);
  EXPECT_EQ(events("resumed")[0].details, Json({{"session", 3}, {"loaded", ""}}));
}

TEST_F(ReportedTest, AChildOrAQuestionIsSomethingToResume) {
  EXPECT_EQ(*journal_->has_kept(), false);
  EXPECT_EQ(journal_->begin_session("s1", kNow), 1);
  ASSERT_TRUE(journal_->add_usage(call("1", 1, 1), kNow));
  EXPECT_EQ(*journal_->has_kept(), false) << "what was spent is nothing to go on from";
  ASSERT_TRUE(journal_->spawn({.parent = "main-0", .spec_hash = "x"}, kChildrenMax, kNow));
  EXPECT_EQ(*journal_->has_kept(), true);
  reopen();
  EXPECT_EQ(journal_->begin_session("s2", kNow), 2);
  EXPECT_EQ(journal_->report_resumed({{"child", "main-0/0.0"}}, kNow), true);
  EXPECT_EQ(events("resumed").size(), 1u);
  journal_.reset();
  const auto other = *Journal::open(folder_ / "other.db", Journal::Access::kReadWrite);
  ASSERT_TRUE(other->ask("deploy", "Deploy?", {}, kNow));
  EXPECT_EQ(*other->has_kept(), true);
  EXPECT_EQ(*(*Journal::open(folder_ / "other.db", Journal::Access::kReadOnly))->has_kept(), true);
}

// `pawl agentd` serves an episode for years: a bound on sessions must not end the service.
TEST_F(ReportedTest, RowsOfSessionsAreBoundedAndSessionsAreNot) {
  sql("UPDATE totals SET value = 9999 WHERE name = 'sessions'");
  EXPECT_EQ(journal_->begin_session("s1", kNow), 10'000);
  EXPECT_EQ(journal_->begin_session("s2", kNow), 10'001);
  EXPECT_EQ(journal_->begin_session("s1", kNow), 10'000);
  EXPECT_EQ(journal_->begin_session("s2", kNow), 10'002);
  reopen();
  EXPECT_EQ(journal_->begin_session("s3", kNow), 10'003);
}

}  // namespace
}  // namespace pawl::agent
