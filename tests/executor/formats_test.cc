// The signal that a plan takes for each report format is that of the gates room, which plan must not call.
#include <gtest/gtest.h>

#include "gates/gates.h"
#include "plan/keys.h"

namespace pawl::executor {
namespace {

TEST(Formats, EachHasTheSignalThatAPlanTakesForIt) {
  for (const auto format : gates::report_formats())
    EXPECT_EQ(gates::evidence_of(plan::signal_of_format(format)), gates::family_of(format)) << format;
}

}  // namespace
}  // namespace pawl::executor
