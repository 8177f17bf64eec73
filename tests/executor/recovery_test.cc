// Every row of the recovery decision.
#include "executor/recovery.h"

#include <gtest/gtest.h>

#include "store/store.h"

namespace pawl::executor {
namespace {

using plan::ResumePolicy;
using supervisor::Found;

TEST(Recovery, NeverPaysForWhatStillRunsOrIsSpooled) {
  for (const auto policy : {ResumePolicy::kReExecute, ResumePolicy::kSkip, ResumePolicy::kEscalate,
                            ResumePolicy::kProbe, ResumePolicy::kContinue}) {
    EXPECT_EQ(decide_recovery(Found::kRunning, policy, 1), Recovery::kReattach);
    EXPECT_EQ(decide_recovery(Found::kSpooled, policy, 1), Recovery::kAdopt);
    EXPECT_EQ(decide_recovery(Found::kSpooled, policy, store::kExecutionsPerStepMax), Recovery::kAdopt);
  }
}

TEST(Recovery, ALostResultIsThePolicysBusiness) {
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kReExecute, 1), Recovery::kReExecute);
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kReExecute, 2), Recovery::kReExecute);
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kReExecute, store::kExecutionsPerStepMax),
            Recovery::kCrashLoop);
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kSkip, 1), Recovery::kSkip);
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kEscalate, 1), Recovery::kEscalate);
}

TEST(Recovery, AStepIsContinuedWhenItsWorkIsThere) {
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kContinue, 1), Recovery::kContinue);
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kContinue, store::kExecutionsPerStepMax),
            Recovery::kCrashLoop);
  const supervisor::KeptWork unchanged{.layer = "", .missing = {}}, gone{.layer = {}, .missing = "home"},
      unbegun{.began = false, .layer = {}, .missing = {}};
  EXPECT_EQ(after_keeping(kept_by(unchanged, std::nullopt, true)), Recovery::kContinue);
  EXPECT_EQ(kept_by(unchanged, "before", true).layer, "") << "it has undone what was before";
  EXPECT_EQ(after_keeping(kept_by(gone, "before", true)), Recovery::kReExecute);
  EXPECT_EQ(kept_by(gone, "before", true).missing, "home");
  EXPECT_EQ(kept_by(unbegun, "before", true).layer, "before") << "it changed nothing";
  EXPECT_EQ(kept_by(unbegun, "before", false).missing, "restart");
  EXPECT_EQ(kept_by(unbegun, std::nullopt, true).missing, "workspace");
}

TEST(Recovery, AProbeIsBelievedForTwoExitCodes) {
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kProbe, 1), Recovery::kProbe);
  EXPECT_EQ(after_probe(0, 1), Recovery::kProbed);
  EXPECT_EQ(after_probe(0, store::kExecutionsPerStepMax), Recovery::kProbed);
  EXPECT_EQ(after_probe(1, 1), Recovery::kReExecute);
  EXPECT_EQ(after_probe(1, store::kExecutionsPerStepMax), Recovery::kCrashLoop);
  for (const int code : {2, 126, 127, -1}) EXPECT_EQ(after_probe(code, 1), Recovery::kEscalate) << code;
  EXPECT_EQ(after_probe(std::nullopt, 1), Recovery::kEscalate) << "killed, or out of time";
}

TEST(Recovery, ARefusedAgentWaitsAsLongAsAWaitIsLeft) {
  EXPECT_EQ(after_refusal(store::Wait{.number = 1}), Recovery::kWait);
  EXPECT_EQ(after_refusal(std::nullopt), Recovery::kEscalate);
  EXPECT_EQ(decision_of(after_refusal(store::Wait{})), store::RecoveryDecision::kWait);
}

TEST(Recovery, OnlyThePlanOfAnAgentSaysOtherwise) {
  plan::Phase phase;
  phase.resume.policy = ResumePolicy::kEscalate;
  EXPECT_EQ(policy_of(StepRole::kAgent, phase), ResumePolicy::kEscalate);
  for (const auto role : {StepRole::kBaseline, StepRole::kGate, StepRole::kDoctor, StepRole::kReplan})
    EXPECT_EQ(policy_of(role, phase), ResumePolicy::kReExecute);
}

TEST(Recovery, AnAgentThatASignalEndedMayContinueWhileAnExecutionIsLeft) {
  const plan::Phase phase;
  const PlannedStep agent{.role = StepRole::kAgent}, gate{.role = StepRole::kGate};
  sandbox::SandboxRun killed;
  killed.outcome = sandbox::Outcome::kSignaled;
  EXPECT_TRUE(may_continue(killed, agent, phase, 1));
  EXPECT_FALSE(may_continue(killed, agent, phase, store::kExecutionsPerStepMax));
  EXPECT_FALSE(may_continue(killed, gate, phase, 1));
  plan::Phase skips;
  skips.resume.policy = ResumePolicy::kSkip;
  EXPECT_FALSE(may_continue(killed, agent, skips, 1));
  plan::Phase goes_on;
  goes_on.resume.policy = ResumePolicy::kContinue;
  EXPECT_TRUE(may_continue(killed, agent, goes_on, 1));
  sandbox::SandboxRun exited;
  exited.outcome = sandbox::Outcome::kExited;
  exited.exit_code = 1;
  EXPECT_FALSE(may_continue(exited, agent, phase, 1));
  exited.exit_code = 137;
  EXPECT_TRUE(may_continue(exited, agent, phase, 1)) << "a shell reports SIGKILL so";
}

TEST(Recovery, ItContinuesFromStoredStateWhenItsOwnWorkDidNotEndIt) {
  EXPECT_FALSE(continues({.killed = true, .budget_is_spent = true, .stopped_unsaved = true}));
  EXPECT_FALSE(continues({.has_state = true}));
  EXPECT_TRUE(continues({.killed = true, .has_state = true}));
  EXPECT_TRUE(continues({.budget_is_spent = true, .has_state = true}));
  EXPECT_TRUE(continues({.stopped_unsaved = true, .has_state = true}));
}

TEST(Recovery, ARowTellsTheDecisionThatClosedItsMarker) {
  for (const auto recovery :
       {Recovery::kReattach, Recovery::kAdopt, Recovery::kReExecute, Recovery::kSkip, Recovery::kEscalate,
        Recovery::kCancelled, Recovery::kProbed, Recovery::kWait, Recovery::kContinue})
    EXPECT_EQ(recorded_recovery(name(decision_of(recovery)), 1), recovery);
  EXPECT_EQ(recorded_recovery("skip", store::kExecutionsPerStepMax), Recovery::kCrashLoop);
  EXPECT_EQ(recorded_recovery("", 1), std::nullopt);
  EXPECT_TRUE(lost_by(Recovery::kEscalate, store::RecoveryFound::kNothing, "agent").escalate);
  EXPECT_EQ(lost_by(Recovery::kCrashLoop, store::RecoveryFound::kNothing, "agent").outcome,
            LostOutcome::kCrashLoop);
  EXPECT_EQ(lost_by(Recovery::kSkip, store::RecoveryFound::kNothing, "agent").outcome, LostOutcome::kLost);
  EXPECT_EQ(lost_by(Recovery::kEscalate, store::RecoveryFound::kLimited, "agent").outcome,
            LostOutcome::kLimited);
  EXPECT_EQ(name(LostOutcome::kCrashLoop), "crash_loop")
      << "a word of the signals, which `pawl stats` counts";
  EXPECT_FALSE(ends_episode(Recovery::kCancelled));
  EXPECT_FALSE(ends_episode(Recovery::kWait));
}

// A power cut loses unsynced data: then a step without traces may still have run.
TEST(Recovery, AStepWithoutASignDidNotBeginUnlessTheMachineWentDownSince) {
  EXPECT_EQ(answer_of({.began = false}, true), 1);
  EXPECT_EQ(answer_of({.began = false}, false), std::nullopt);
  EXPECT_EQ(answer_of({.exit_code = 0}, false), 0);
  EXPECT_TRUE(of_one_boot("host/boot/1/2/0", "host/boot/3/4/5"));
  EXPECT_FALSE(of_one_boot("host/boot/1/2/0", "host/other/1/2/0"));
  EXPECT_TRUE(of_one_boot("host/boot/1/2/0", "host+4026532001/boot/1/2/0")) << "a container of it";
  EXPECT_FALSE(of_one_boot("host/unknown/1/2/0", "host/unknown/1/2/0"));
  EXPECT_FALSE(of_one_boot("me", "me"));
}

}  // namespace
}  // namespace pawl::executor
