// Probes, on every backend.
#include "sandbox/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "os/file.h"
#include "support/temp_folder.h"

namespace pawl::sandbox {
namespace {

class Probe : public ::testing::TestWithParam<std::string> {
 protected:
  Probed sh(const std::string& script) {
    spec.cmd = {"sh", "-c", script};
    auto probed = run_in_sandbox(*backend, spec);
    return probed ? *std::move(probed) : Probed{.run = {}, .output = probed.error().message};
  }

  testing::TempFolder temp;
  std::unique_ptr<Backend> backend = *make_backend(GetParam());
  ProbeSpec spec;
};
INSTANTIATE_TEST_SUITE_P(Backends, Probe, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Probe, SeesTheWorkspaceAndCanNotChangeIt) {
  spec.lower = {temp / "base"};
  ASSERT_TRUE(os::make_folders(temp / "base/sub"));
  ASSERT_TRUE(os::write_atomically(temp / "base/a", "content\n"));
  // One stream is used, because two pipes have no common order.
  const auto probed =
      sh("exec 2>&1; cat a; touch a b sub/c; rm a; mkdir d; echo x > /tmp/x && cat /tmp/x; exit 3");
  EXPECT_EQ(probed.run.exit_code, 3) << probed.run.reason;
  EXPECT_EQ(probed.output.substr(0, 8), "content\n");
  EXPECT_TRUE(probed.output.ends_with("x\n")) << probed.output;
  EXPECT_EQ(*os::read_file(temp / "base/a", 100), "content\n");
  EXPECT_FALSE(os::exists(temp / "base/b"));
}

TEST_P(Probe, SeesLayersOverTheBase) {
  ASSERT_TRUE(os::make_folders(temp / "base"));
  ASSERT_TRUE(os::make_folders(temp / "layer"));
  ASSERT_TRUE(os::write_atomically(temp / "base/a", "old\n"));
  ASSERT_TRUE(os::write_atomically(temp / "layer/a", "new\n"));
  spec.lower = {temp / "layer", temp / "base"};
  EXPECT_EQ(sh("cat a; touch b 2>/dev/null || echo read-only").output, "new\nread-only\n");
}

TEST_P(Probe, HasTheWallsOfAStep) {
  EXPECT_EQ(
      sh("id -u; grep -c : /proc/net/dev; grep ^Seccomp: /proc/self/status | cut -f2; ls /workspace").output,
      "1000\n1\n2\n");
}

TEST_P(Probe, HasAtMostThirtySecondsAndABoundedOutput) {
  spec.time_budget_seconds = 31;
  EXPECT_EQ(sh("true").output, "time_budget_seconds: a probe has at most 30, not 31");
  spec.time_budget_seconds = 1;
  EXPECT_EQ(sh("sleep 20").run.outcome, Outcome::kTimedOut);
  spec.time_budget_seconds = 10;
  const auto flood = sh("yes");
  EXPECT_EQ(flood.run.outcome, Outcome::kOutputLimit);
  EXPECT_EQ(flood.output.size(), static_cast<std::size_t>(kProbeOutputBytesMax));
  spec.cmd.clear();
  EXPECT_FALSE(run_in_sandbox(*backend, spec));
}

// A slow probe must not keep the descriptors of a quick one open, and no lock of a thread may stay held.
TEST_P(Probe, RunsInManyThreadsAtOnce) {
  constexpr int kTurns = 10;
  ASSERT_TRUE(os::make_folders(temp / "base"));
  Probed slow;
  std::thread until_told([&] {
    const ProbeSpec mine{.cmd = {"sh", "-c", "echo slow; until [ -e told ]; do sleep 0.05; done"},
                         .lower = {temp / "base"}};
    if (auto probed = run_in_sandbox(*backend, mine)) slow = *std::move(probed);
  });
  std::vector<std::thread> threads;
  std::vector<std::string> outputs(7);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    threads.emplace_back([&, i] {
      const ProbeSpec mine{.cmd = {"sh", "-c", "echo " + std::to_string(i)}};
      for (int turn = 0; turn < kTurns; ++turn) {
        const auto probed = run_in_sandbox(*backend, mine);
        outputs[i] += probed ? probed->output : probed.error().message;
      }
    });
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(os::write_atomically(temp / "base/told", ""));
  until_told.join();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string expected;
    for (int turn = 0; turn < kTurns; ++turn) expected += std::to_string(i) + "\n";
    EXPECT_EQ(outputs[i], expected);
  }
  EXPECT_EQ(slow.output, "slow\n");
  EXPECT_EQ(slow.run.outcome, Outcome::kExited) << "the quick ones waited until its time was over";
}

// Descriptors that the child of one thread inherits from another must delay neither.
TEST_P(Probe, IsAskedForInManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<std::string> refused;  // the reasons
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn)
        if (const auto usable = backend->check({}); !usable) {
          const std::lock_guard guard(mutex);
          refused.push_back(usable.error().message);
        }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(refused, ::testing::IsEmpty());
}

}  // namespace
}  // namespace pawl::sandbox
