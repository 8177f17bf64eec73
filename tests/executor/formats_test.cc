// What a plan knows of the room that judges, which it must not ask.
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
