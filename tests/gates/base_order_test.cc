// The step of base that is named when a gate has no result there.
#include <gtest/gtest.h>

#include "gates/base.h"
#include "gates/gates.h"

namespace pawl::gates {
namespace {

StepFacts ended(std::string name, std::int64_t exit_code) {
  return {.step_name = std::move(name), .outcome = Outcome::kExited, .exit_code = exit_code};
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

StepFacts without(const std::string& program, std::int64_t exit_code = 127) {
  auto out = ended("lint", exit_code);
  out.program = program;
  return out;
}

TEST(OnBase, AProgramThatIsAbsentBehindAFailedStepIsForAPersonOnceAnAttemptReachesIt) {
  const auto base = on_base("g", {"build"}, {ended("unit", 1), without("ruff")});
  EXPECT_EQ(base.stop, "") << "the step before may make it";
  const auto still = [&](const StepFacts& step) { return absent_still("g", base, step); };
  EXPECT_TRUE(still(without("ruff")).starts_with("gate g, step lint: `ruff` is not in the sandbox (127)"));
  EXPECT_EQ(still(ended("lint", 0)), "");
  EXPECT_EQ(still(ended("lint", 1)), "") << "it is there now";
  EXPECT_EQ(still(without("other")), "") << "base did not lack that one";
  auto work = without("ruff");
  work.program_is_work = true;
  EXPECT_EQ(still(work), "");
  EXPECT_EQ(absent_still("g", on_base("g", {"build"}, {ended("unit", 1), work}), without("ruff")), "");
  EXPECT_EQ(absent_still("g", on_base("g", {"build"}, {ended("unit", 0), ended("lint", 1)}), without("ruff")),
            "")
      << "base had it";
  EXPECT_EQ(absent_still("g", on_base("g", {"build"}, {ended("unit", 1), without("")}), without("")), "");
  auto allowed = without("ruff", 1);
  allowed.program_missing = allowed.may_fail = true;
  EXPECT_EQ(still(allowed), "") << "it holds";
}

}  // namespace
}  // namespace pawl::gates
