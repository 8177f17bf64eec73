// Lines that put another program in place of a runner.
#include "gates/policy/runner_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;

TEST(Shadowing, SettingsThatReplaceARunnerAreFoundInAddedLines) {
  const auto adds = [](const std::string& path, const std::string& line, const std::string& allowed = "") {
    FileChange change{.path = path, .after = FileVersion(), .added = {{.number = 3, .text = line}}};
    return shadowing(change,
                     {.allowed = allowed.empty() ? std::vector<std::string>() : std::vector{allowed}});
  };
  const std::string cargo = ".cargo/config.toml";
  EXPECT_THAT(adds(cargo, "runner = 'sh forge.sh'"), HasSubstr("line 3 sets `runner` of cargo"));
  EXPECT_EQ(adds(cargo, "runner = 'qemu-arm'", ".cargo/**"), "");
  for (const auto* line : {"target.'cfg(unix)'.runner = [\"sh\"]", "x = { runner = \"sh\" }",
                           "rustc-wrapper=\"x\"", "\"runner\" = 'x'", "build = { jobs = 1, rustc = 'x' }"})
    EXPECT_NE(adds("sub/.cargo/config", line), "") << line;
  for (const auto* line : {"# runner = 'x'", "jobs = 4", "linker = 'mold'", "trunner = 1", "runner", ""})
    EXPECT_EQ(adds(cargo, line), "") << line;
  EXPECT_EQ(adds("docs/config.toml", "runner = 'x'"), "");
  EXPECT_NE(adds(".npmrc", "script-shell=/workspace/sh"), "");
  EXPECT_NE(adds("app/.npmrc", "  node-options = --require ./forge.js"), "");
  EXPECT_EQ(adds(".npmrc", "registry=https://npm.example.org/"), "");
  EXPECT_EQ(adds(".npmrc", "; script-shell=x"), "");
  for (const auto* line : {"-Dmaven.test.failure.ignore=true", "-B -fn",
                           "-Dskip"
                           "Tests",
                           "--fail-never"})
    EXPECT_NE(adds(".mvn/maven.config", line), "") << line;
  EXPECT_EQ(adds(".mvn/maven.config", "-T 4 -fnord"), "");
  EXPECT_TRUE(has_runner_settings(".npmrc"));
  EXPECT_FALSE(has_runner_settings("npmrc"));
  EXPECT_FALSE(has_runner_settings("x.npmrc"));
}

}  // namespace
}  // namespace pawl::gates
