// Design, section 4, row by row.
#include "executor/recovery.h"

#include <gtest/gtest.h>

#include "store/store.h"

namespace pawl::executor {
namespace {

using plan::ResumePolicy;
using sandbox::Found;

TEST(Recovery, NeverPaysForWhatStillRunsOrIsSpooled) {
  for (const auto policy : {ResumePolicy::kReExecute, ResumePolicy::kSkip, ResumePolicy::kEscalate}) {
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

}  // namespace
}  // namespace pawl::executor
