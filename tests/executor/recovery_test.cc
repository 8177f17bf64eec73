// Every row of the recovery decision.
#include "executor/recovery.h"

#include <gtest/gtest.h>

#include "store/store.h"

namespace pawl::executor {
namespace {

using plan::ResumePolicy;
using supervisor::Found;

TEST(Recovery, NeverPaysForWhatStillRunsOrIsSpooled) {
  for (const auto policy :
       {ResumePolicy::kReExecute, ResumePolicy::kSkip, ResumePolicy::kEscalate, ResumePolicy::kProbe}) {
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

TEST(Recovery, AProbeIsBelievedForTwoExitCodes) {
  EXPECT_EQ(decide_recovery(Found::kNothing, ResumePolicy::kProbe, 1), Recovery::kProbe);
  EXPECT_EQ(after_probe(0, 1), Recovery::kProbed);
  EXPECT_EQ(after_probe(0, store::kExecutionsPerStepMax), Recovery::kProbed);
  EXPECT_EQ(after_probe(1, 1), Recovery::kReExecute);
  EXPECT_EQ(after_probe(1, store::kExecutionsPerStepMax), Recovery::kCrashLoop);
  for (const int code : {2, 126, 127, -1}) EXPECT_EQ(after_probe(code, 1), Recovery::kEscalate) << code;
  EXPECT_EQ(after_probe(std::nullopt, 1), Recovery::kEscalate) << "killed, or out of time";
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
