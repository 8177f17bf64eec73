// The plan room has a table of its own of report formats, because it must not call gates. Both must agree.
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
