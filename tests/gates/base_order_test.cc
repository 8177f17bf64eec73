// The step of base that is named when a gate has no result there.
#include <gtest/gtest.h>

#include "gates/base.h"
#include "gates/gates.h"

namespace pawl::gates {
namespace {

StepFacts ended(std::string name, std::int64_t exit_code) {
  return {.step_name = std::move(name), .outcome = "exited", .exit_code = exit_code};
}

TEST(OnBase, TheStepThatFailedFirstIsWhyTestsAreNotKnown) {
  for (const std::int64_t code : {1, 2, 127}) {
    auto unit = ended("unit", code);
    unit.declared.insert("tests");
    const auto found = on_base("g", {"build", "tests"}, {ended("build", 2), unit});
    const auto& reason = found.inventories.at("tests").reason;
    EXPECT_NE(reason.find("build exited with 2 on base"), std::string::npos) << reason;
    EXPECT_EQ(reason.find("127"), std::string::npos) << reason;
    EXPECT_NE(found.stop.find("build exited with 2 on base"), std::string::npos) << found.stop;
  }
}

TEST(OnBase, AStepThatFailedAloneIsNamed) {
  auto unit = ended("unit", 1);
  unit.declared.insert("tests");
  EXPECT_TRUE(on_base("g", {"tests"}, {ended("build", 0), unit})
                  .inventories.at("tests")
                  .reason.starts_with("unit exited with 1"));
  EXPECT_TRUE(on_base("g", {"tests"}, {unit, ended("lint", 2)})
                  .inventories.at("tests")
                  .reason.starts_with("unit exited with 1"));
}

}  // namespace
}  // namespace pawl::gates
