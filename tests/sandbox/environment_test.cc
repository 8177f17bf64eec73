// The variables that pass from the host into a sandbox, and those that a plan sets.
#include "sandbox/environment.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "os/process.h"
#include "sandbox/spec.h"

namespace pawl::sandbox {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Environment, AValueOfThePlanComesBeforeThatOfTheHost) {
  const auto lang = os::environment_value("LANG");
  setenv("LANG", "de_DE.UTF-8", 1);
  setenv("CI", "1", 1);
  const auto passed = allowed_environment({"CI", "ABSENT"});
  EXPECT_THAT(passed, Contains("LANG=de_DE.UTF-8"));
  EXPECT_THAT(passed, Contains("CI=1"));
  EXPECT_THAT(passed, Not(Contains(StartsWith("ABSENT="))));
  const auto set = allowed_environment({"CI"}, {{"LANG", "C.UTF-8"}, {"MODE", "a=b c"}, {"EMPTY", ""}});
  for (const char* entry : {"LANG=C.UTF-8", "CI=1", "MODE=a=b c", "EMPTY="})
    EXPECT_THAT(set, Contains(entry).Times(1)) << entry;
  EXPECT_THAT(set, Contains(StartsWith("LANG=")).Times(1));
  unsetenv("CI");
  if (lang)
    setenv("LANG", lang->c_str(), 1);
  else
    unsetenv("LANG");
}

TEST(Environment, NamesASpec) {
  SandboxSpec spec{.cmd = {"true"}};
  spec.env = allowed_environment({}, {{"MODE", "a"}});
  const std::string hash = spec_hash(spec);
  spec.env = allowed_environment({}, {{"MODE", "a"}});
  EXPECT_EQ(spec_hash(spec), hash);
  spec.env = allowed_environment({}, {{"MODE", "b"}});
  EXPECT_NE(spec_hash(spec), hash);
}

}  // namespace
}  // namespace pawl::sandbox
