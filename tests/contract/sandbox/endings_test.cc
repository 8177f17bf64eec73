// How a sandbox ended, and its usage. The outcome reports a measurement, which a program cannot fake.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

using testing::SandboxBox;

class Endings : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, Endings, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

constexpr std::int64_t kBurnMs = 300;
// Python code that uses this much CPU time and then continues.
const std::string kBurn =
    "import time\nwhile time.process_time() < " + std::to_string(kBurnMs / 1000.0) + ": pass\n";

TEST_P(Endings, ASignalOfItsOwnIsNoDiskLimit) {
  SandboxBox box(GetParam());
  const auto run = box.sh("kill -XFSZ $$");
  EXPECT_EQ(run.outcome, Outcome::kSignaled) << name(run.outcome);
  EXPECT_EQ(run.signal, SIGXFSZ);
}

TEST_P(Endings, AFileLimitThatAProgramSetsForItselfIsNoDiskLimit) {
  SandboxBox box(GetParam());
  box.spec.disk_limit_mib = 8;
  const auto run = box.sh("ulimit -f 10; dd if=/dev/zero of=one bs=1M count=1; echo on; exit 7");
  EXPECT_EQ(run.outcome, Outcome::kExited) << name(run.outcome) << box.err;
  EXPECT_EQ(run.exit_code, 7);
}

TEST_P(Endings, WhatFitsTheDiskLimitExactlyDoesNotMeetIt) {
  SandboxBox box(GetParam());
  box.spec.disk_limit_mib = 8;
  const auto run = box.sh("head -c 8384512 /dev/zero > one");  // a page less than 8 MiB
  EXPECT_TRUE(succeeded(run)) << name(run.outcome) << run.reason << box.err;
}

TEST_P(Endings, ADiskLimitThatAChildMeetsIsSaid) {
  for (const char* script : {"dd if=/dev/zero of=one bs=1M count=100; exit 0",
                             "python3 -c \"open('one', 'wb').write(b'x' * (20 << 20))\"; exit 0"}) {
    SandboxBox box(GetParam());
    box.spec.disk_limit_mib = 8;
    const auto run = box.sh(script);
    EXPECT_EQ(run.outcome, Outcome::kDiskLimit) << script << ": " << name(run.outcome) << box.err;
  }
}

TEST_P(Endings, AFileLongerThanTheDiskLimitMeetsItThoughItIsAllHoles) {
  SandboxBox box(GetParam());
  box.spec.disk_limit_mib = 8;
  const auto run = box.sh("truncate -s 9M one");
  EXPECT_EQ(run.outcome, Outcome::kDiskLimit) << name(run.outcome) << box.err;
}

// The kernel stops the write before there is a file to measure, and a program could send the signal itself.
TEST_P(Endings, AWriteFarPastTheDiskLimitIsASignalWithAWordAboutIt) {
  SandboxBox box(GetParam());
  box.spec.disk_limit_mib = 8;
  const auto run = box.sh("exec truncate -s 1T one");
  EXPECT_EQ(run.outcome, Outcome::kSignaled) << name(run.outcome) << box.err;
  EXPECT_EQ(run.signal, SIGXFSZ);
  EXPECT_NE(run.reason.find("disk_limit_mib"), std::string::npos) << run.reason;
}

TEST_P(Endings, AFullTmpIsAnErrorThatTheProgramSees) {
  SandboxBox box(GetParam());
  box.spec.disk_limit_mib = 8;
  const auto run = box.sh("exec dd if=/dev/zero of=/tmp/one bs=1M count=20");
  EXPECT_EQ(run.outcome, Outcome::kExited) << name(run.outcome);
  EXPECT_NE(box.err.find("No space left on device"), std::string::npos) << box.err;
}

TEST_P(Endings, CpuTimeCountsAProcessThatStillLives) {
  SandboxBox box(GetParam());
  const auto run = box.sh("python3 -c '" + kBurn +
                          "open(\"burnt\", \"w\")\ntime.sleep(60)' & "
                          "while ! [ -e burnt ]; do sleep 0.05; done");
  ASSERT_TRUE(succeeded(run)) << run.reason << box.err;
  EXPECT_GE(run.cpu_ms, kBurnMs - 10);
}

TEST_P(Endings, CpuTimeCountsAProcessThatNobodyWaitsFor) {
  SandboxBox box(GetParam());
  const auto run = box.sh(
      "python3 -c '"
      "import os, signal\n"
      "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
      "if os.fork() == 0:\n"
      "  exec(\"\"\"" +
      kBurn +
      "\"\"\")\n  os._exit(0)\n"
      "try: os.wait()\n"
      "except ChildProcessError: pass'");
  ASSERT_TRUE(succeeded(run)) << run.reason << box.err;
  // Without a cgroup the value comes from getrusage(2), which counts only processes that were waited for.
  const bool counts_all = std::ranges::find(run.degraded, "cpu") == run.degraded.end();
  EXPECT_GE(run.cpu_ms, counts_all ? kBurnMs - 10 : 1);
}

TEST_P(Endings, AChildThatIsKilledForMemoryIsSaidBeforeTheCommandsOwnExit) {
  SandboxBox box(GetParam());
  box.spec.memory_limit_mib = 64;
  box.spec.time_budget_seconds = 60;
  const auto run = box.sh("tail /dev/zero; exit 7");
  EXPECT_EQ(run.outcome, Outcome::kOomKilled) << name(run.outcome) << box.err;
  EXPECT_EQ(run.exit_code, -1) << "an exit code is of exited";
}

TEST_P(Endings, SpellsTheNameOfAProgramThatCantRun) {
  SandboxBox box(GetParam());
  box.spec.cmd = {"no-prüf"};
  box.run();
  EXPECT_NE(box.err.find("can't run no-prüf: "), std::string::npos);
  for (const auto* obeyed : {"no\x1b[35m\a", "no\x7f\n", "no\xc2\x9b", "no\x9b"}) {
    box.spec.cmd = {obeyed};
    box.run();
    EXPECT_NE(box.err.find("can't run no?"), std::string::npos) << box.err;
    EXPECT_EQ(box.err.find(obeyed), std::string::npos) << box.err;
  }
}

// The command still talks to the init and to the parent while they give up. Its broken pipe is not the cause.
TEST_P(Endings, AFailedSetupNamesItsCauseAndNotWhoMissedItNext) {
  constexpr int kTries = 60;
  for (const auto network : {Network::kNone, Network::kScoped}) {
    SandboxBox box(GetParam());
    box.folders.lower.push_back(box.temp / "is not there");
    box.spec.network = network;
    if (network == Network::kScoped) box.spec.egress_allowlist = {"one.example:443", "two.example:443"};
    box.spec.enable_trace = true;
    for (int i = 0; i < kTries; ++i) {
      const auto run = box.sh("true");
      ASSERT_EQ(run.outcome, Outcome::kSetupFailed);
      ASSERT_NE(run.reason.find("is not there"), std::string::npos) << run.reason << ", try " << i;
    }
  }
}

}  // namespace
}  // namespace pawl::sandbox
