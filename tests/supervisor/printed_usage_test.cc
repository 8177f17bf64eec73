// The use of an agent whose supervisor died, under real supervisors.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "agent/journal.h"
#include "agent/server.h"
#include "agent/usage_reader.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "supervisor/supervisor.h"
#include "support/supervisor_program.h"
#include "support/temp_folder.h"
#include "workspace/workspace.h"

namespace pawl::supervisor {
namespace {

constexpr int kBegunWithinMs = 60'000;
constexpr char kFirstCall[] =
    R"(echo '{"type":"step_finish","part":{"cost":0.01,"tokens":{"input":10,"output":1}}}')";
constexpr char kSecondCall[] =
    R"(echo '{"type":"step_finish","part":{"cost":0.02,"tokens":{"input":20,"output":2}}}')";

class PrintedUsageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(os::write_atomically(source_ / "file", "of base\n"));
    base_ = workspaces_.keep_files(source_.path(), {"file"}).value();
  }

  sandbox::SandboxSpec spec(const std::string& script) const {
    sandbox::SandboxSpec out{.copy_in = {{.src = "", .dst = "/pawl"}}, .cmd = {"sh", "-c", script}};
    out.workspace.base_id = base_;
    return out;
  }
  std::string start(const std::string& script) {
    const auto id = os::uuid7(os::SystemClock().wall(), random_);
    const AgentStep agent{
        .context = {.key = key_, .phase_id = "fix", .goal = "g", .model = "m", .usage = "opencode"}};
    EXPECT_TRUE(runner_->start(id, sandbox::default_backend(), spec(script), {}, agent));
    return id;
  }
  std::string file_of(const std::string& id, const char* name) const {
    return os::read_tail(os::join(spool_folder(temp_.path(), id), name), 4096).value_or("");
  }
  // An execution that is killed with its supervisor when the script has ended.
  std::string kill_after(const std::string& script) {
    const auto id = start(script + "; echo begun; exec sleep 300");
    for (int i = 0; i < kBegunWithinMs && !file_of(id, "output").ends_with("begun\n"); ++i)
      os::SystemClock().sleep_ms(1);
    EXPECT_TRUE(os::kill_process(os::parse_identity(file_of(id, "supervisor")).value(), kBegunWithinMs));
    EXPECT_TRUE(runner_->abandon(id));
    return id;
  }
  Status report(const std::string& id, bool same_boot = true) {
    return runner_->report_usage(
        {.sandbox_run_id = id, .key = key_, .reader = "opencode", .model = "m", .same_boot = same_boot});
  }
  std::unique_ptr<agent::Journal> journal() const {
    return agent::Journal::open(agent::episode_path(temp_.path(), key_).value(),
                                agent::Journal::Access::kReadWrite)
        .value();
  }
  // Input tokens of each usage of the episode; -1: unknown.
  std::vector<std::int64_t> told() const {
    std::vector<std::int64_t> out;
    const auto reported = journal()->reported_since(0).value();
    for (const auto& row : reported.usage)
      out.push_back(agent::is_unknown(row.usage) ? -1 : row.usage.input_tokens);
    return out;
  }
  using Told = std::vector<std::int64_t>;

  const agent::EpisodeKey key_{.run_id = "run", .goal_id = "fix", .episode_id = "fix.1"};
  testing::TempFolder temp_, source_;
  os::SystemRandom random_;
  workspace::Workspaces workspaces_ = workspace::Workspaces::open(temp_.path()).value();
  std::string base_;
  std::unique_ptr<StepRunner> runner_ = make_step_runner(testing::runner_options(temp_.path()));
};

TEST_F(PrintedUsageTest, WhatWasPrintedCountsOnceAndTheRestIsUnknown) {
  const auto id = kill_after(std::string(kFirstCall) + "; " + kSecondCall);
  for (int crashes = 0; crashes < 3; ++crashes) {
    ASSERT_TRUE(report(id));
    EXPECT_EQ(told(), (Told{30, -1})) << "a crash may come before a row has it";
  }
  EXPECT_EQ(journal()->spent()->tokens, 33);
  const auto mute = kill_after("true");
  ASSERT_TRUE(report(mute));
  EXPECT_EQ(told(), (Told{30, -1, -1}));
}

// The supervisor had reported, then it was killed. What it had heard was more than what it had written.
TEST_F(PrintedUsageTest, WhatTheSupervisorReportedStands) {
  const auto id = kill_after(std::string(kFirstCall) + "; " + kSecondCall);
  const agent::Usage heard{.id = id + ".1",
                           .model = "m",
                           .input_tokens = 12,
                           .output_tokens = 1,
                           .usd_micros = 10'000,
                           .source = "opencode"};
  ASSERT_TRUE(journal()->add_usage(heard, os::SystemClock().wall()));
  ASSERT_TRUE(report(id));
  EXPECT_EQ(told(), (Told{12, -1}));
}

TEST_F(PrintedUsageTest, ASupervisorThatLeftAResultReportedAll) {
  const auto ends = [&](const std::string& script) {
    const auto id = start(script);
    EXPECT_TRUE(runner_->wait(id, [] { return false; }));
    EXPECT_TRUE(runner_->abandon(id));
    EXPECT_TRUE(report(id));
  };
  ends(kFirstCall);
  EXPECT_EQ(told(), (Told{10}));
  ends("echo nothing; exit 3");
  EXPECT_EQ(told(), (Told{10, -1})) << "it ended without a word of its use";
  ends(std::string(kFirstCall) + "; kill -9 $$");
  EXPECT_EQ(told(), (Told{10, -1, 10, -1})) << "it was killed in the middle of its work";
  ends("sh -c '" + std::string("kill -9 $$") + "'; exit 137");
  EXPECT_EQ(told(), (Told{10, -1, 10, -1, -1}));
  ends(std::string(kSecondCall) + "; exit 255");
  EXPECT_EQ(told(), (Told{10, -1, 10, -1, -1, 20}));
}

TEST_F(PrintedUsageTest, AStepThatNeverBeganUsedNothing) {
  const auto id = os::uuid7(os::SystemClock().wall(), random_);
  ASSERT_TRUE(runner_->abandon(id));
  ASSERT_TRUE(report(id));
  EXPECT_EQ(told(), Told());
  ASSERT_TRUE(report(id, false));
  EXPECT_EQ(told(), (Told{-1})) << "the machine restarted: what it had written may be lost";
}

// Its output stays for people. An executor that lost its lease may still give it up.
TEST_F(PrintedUsageTest, NothingIsReportedOfAnExecutionWhoseEndIsRecorded) {
  const auto id = kill_after(kFirstCall);
  runner_->forget_lost(id);
  EXPECT_NE(file_of(id, "output"), "");
  ASSERT_TRUE(runner_->abandon(id));
  ASSERT_TRUE(report(id));
  EXPECT_EQ(told(), Told());
}

TEST_F(PrintedUsageTest, TheEndOfALargeOutputIsRead) {
  const auto id = kill_after(std::string(kFirstCall) + "; yes | head -c 5000000; " + kSecondCall);
  ASSERT_TRUE(report(id));
  EXPECT_EQ(told(), (Told{20, -1}));
}

// An agent may report as much as it likes over its socket.
TEST_F(PrintedUsageTest, AFullJournalTakesIt) {
  const auto id = kill_after(kFirstCall);
  {
    const auto journal = this->journal();
    ASSERT_TRUE(journal->begin_group());
    for (std::int64_t i = 0; i < agent::kUsageRowsMax; ++i)
      ASSERT_TRUE(
          journal->add_usage({.id = std::to_string(i), .model = "m", .source = agent::kToldByAgent}, {}));
    ASSERT_TRUE(journal->commit());
  }
  ASSERT_TRUE(report(id));
  const auto all = told();
  EXPECT_EQ((Told{all.end() - 2, all.end()}), (Told{10, -1}));
}

}  // namespace
}  // namespace pawl::supervisor
