// When hooks are called, and the effect of their responses.
#include "executor/hooks.h"

#include <gtest/gtest.h>

namespace pawl::executor {
namespace {

using store::Action;

class Hooks : public ::testing::Test {
 protected:
  Hooks() {
    plan_.doctor.emplace();
    plan_.replan.emplace();
    claim_.phase.max_attempts = 3;
    claim_.phase.attempts_used = 1;
    fail(gates::Verdict::Kind::kFailedRetryable);
  }
  void fail(gates::Verdict::Kind kind, bool approach_failed = false) {
    verdict_.kind = kind;
    verdict_.approach_failed = approach_failed;
  }
  HookFacts facts() {
    return {.plan = plan_,
            .claim = claim_,
            .verdict = verdict_,
            .backend_error = backend_error_,
            .failures = failures_,
            .doctor = doctor_,
            .replan = replan_};
  }
  std::optional<StepRole> due() { return hook_due(facts()); }
  Action action() { return consequence_of(facts()).action; }

  plan::Plan plan_;
  store::Claim claim_;
  gates::Verdict verdict_;
  bool backend_error_ = false;
  std::int64_t failures_ = 2;
  std::optional<store::Advice> doctor_, replan_;
};

TEST_F(Hooks, TheDoctorComesAfterItsFailuresWhileCallsAreLeft) {
  EXPECT_EQ(due(), StepRole::kDoctor);
  failures_ = 1;
  EXPECT_EQ(due(), std::nullopt);
  failures_ = 5;
  claim_.phase.doctor_calls = store::kDoctorCallsOfPhaseMax;
  EXPECT_EQ(due(), std::nullopt);
  claim_.phase.doctor_calls = 0;
  claim_.run.doctor_calls = store::kDoctorCallsOfRunMax;
  EXPECT_EQ(due(), std::nullopt);
  claim_.run.doctor_calls = 0;
  backend_error_ = true;
  EXPECT_EQ(due(), std::nullopt) << "no doctor mends a sandbox";
  backend_error_ = false;
  fail(gates::Verdict::Kind::kPassed);
  EXPECT_EQ(due(), std::nullopt);
}

TEST_F(Hooks, TheReplannerComesWhenTheApproachFailedOrTheDoctorSaysSo) {
  plan_.doctor.reset();
  EXPECT_EQ(due(), std::nullopt) << "attempts are left";
  fail(gates::Verdict::Kind::kEscalate);
  EXPECT_EQ(due(), std::nullopt) << "a person is asked for another reason";
  fail(gates::Verdict::Kind::kEscalate, true);
  EXPECT_EQ(due(), StepRole::kReplan);
  claim_.phase.replans = plan_.replan->max_replans;
  EXPECT_EQ(due(), std::nullopt);
  claim_.phase.replans = 0;
  doctor_ = doctor_advice("d", R"({"action":"mark_failed"})");
  EXPECT_EQ(due(), std::nullopt) << "the doctor has decided";
  doctor_ = doctor_advice("d", R"({"action":"replan"})");
  fail(gates::Verdict::Kind::kFailedRetryable);
  EXPECT_EQ(due(), StepRole::kReplan);
  replan_ = replan_advice("r", "");
  EXPECT_EQ(due(), std::nullopt) << "once an attempt";
  EXPECT_EQ(action(), Action::kNone);
  replan_ = replan_advice("r", R"({"goal":"another"})");
  EXPECT_EQ(action(), Action::kReplan);
  EXPECT_EQ(consequence_of(facts()).goal, "another");
}

TEST_F(Hooks, AnAnswerOfThePassedIsNoAnswer) {
  doctor_ = doctor_advice("d", R"({"action":"abort_run"})");
  fail(gates::Verdict::Kind::kPassed);
  EXPECT_EQ(action(), Action::kNone);
}

TEST(Advice, IsUnderstoodOrChangesNothing) {
  EXPECT_TRUE(doctor_advice("d", R"({"action":"skip_phase"})").understood);
  EXPECT_TRUE(doctor_advice("d", R"({"action":"retry_with_hint","hint":"h"})").understood);
  const std::vector<std::string> bad = {
      "",
      "null",
      "[]",
      "7",
      R"({"action":null})",
      R"({"action":"SKIP_PHASE"})",
      R"({"action":"retry_with_hint","hint":""})",
      R"({"action":"retry_with_hint","hint":"a\u0000b"})",
      R"({"action":"skip_phase","reason":1})",
      R"({"action":"skip_phase","reason":")" + std::string(501, 'x') + "\"}",
      std::string(100'000, '[')};
  for (const auto& answer : bad) EXPECT_FALSE(doctor_advice("d", answer).understood) << answer.substr(0, 60);
  EXPECT_FALSE(replan_advice("r", R"({"goal":""})").understood);
  EXPECT_FALSE(replan_advice("r", R"({"goal":"a\u0000"})").understood);
  EXPECT_FALSE(replan_advice("r", R"({"goal":")" + std::string((16 << 10) + 1, 'x') + "\"}").understood);
  EXPECT_EQ(replan_advice("r", R"({"goal":"g","reason":"a\nb"})").reason, "a b");
}

}  // namespace
}  // namespace pawl::executor
