// The memory that counts as a sandbox's, by its cgroup or by its processes.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

using testing::SandboxBox;

class Memory : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, Memory, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Memory, IsBounded) {
  SandboxBox box(GetParam());
  box.spec.memory_limit_mib = 64;
  box.spec.time_budget_seconds = 60;
  // tail keeps all bytes that it reads. A small program is used: the pages of a large, cold one
  // would compete for the limit.
  const auto run = box.sh("exec tail /dev/zero");
  EXPECT_EQ(run.outcome, Outcome::kOomKilled) << name(run.outcome) << box.err;
}

TEST_P(Memory, IsBoundedWhereItIsShared) {
  SandboxBox box(GetParam());
  box.spec.memory_limit_mib = 64;
  box.spec.time_budget_seconds = 240;  // v2 first reclaims the program's own pages, again and again
  const std::string take =
      "import mmap, os, time; m = mmap.mmap(-1, %d << 20)\n"
      "for i in range(0, len(m), 4096): m[i] = 1\n"
      "os.fork(); os.fork(); time.sleep(%s)";
  const auto python = [&](int mib, const char* seconds) {
    char text[512];
    std::snprintf(text, sizeof text, take.c_str(), mib, seconds);
    return box.sh("exec python3 -c '" + std::string(text) + "'");
  };
  const auto run = python(300, "240");
  EXPECT_EQ(run.outcome, Outcome::kOomKilled) << name(run.outcome) << run.reason << box.err;
  const auto within = python(20, "0.5");  // counted once, though four processes map it
  EXPECT_EQ(within.outcome, Outcome::kExited) << name(within.outcome) << within.reason << box.err;
}

// The init is a fork, so it has the memory of the process that started it.
TEST_P(Memory, IsNotWhatTheInitInherits) {
  const std::vector<char> held(100 << 20, 'x');
  SandboxBox box(GetParam());
  box.spec.memory_limit_mib = 64;
  const auto run = box.sh("sleep 0.5");
  EXPECT_EQ(run.outcome, Outcome::kExited) << name(run.outcome) << run.reason << box.err << held.back();
}

TEST_P(Memory, IsBoundedInAProcessThatClosesItself) {
  SandboxBox box(GetParam());
  box.spec.memory_limit_mib = 64;
  box.spec.time_budget_seconds = 240;
  box.spec.cmd = {"python3", "-c", R"(
import ctypes, mmap, time
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
m = mmap.mmap(-1, 300 << 20)
for i in range(0, len(m), 4096): m[i] = 1
time.sleep(240))"};
  const auto run = box.run();
  EXPECT_EQ(run.outcome, Outcome::kOomKilled) << name(run.outcome) << run.reason << box.err;
}

TEST_P(Memory, IsBoundedInAProcessWhoseFirstThreadHasEnded) {
  SandboxBox box(GetParam());
  box.spec.memory_limit_mib = 64;
  box.spec.time_budget_seconds = 240;
  box.spec.cmd = {"python3", "-c", R"(
import ctypes, mmap, threading, time
def take():
  time.sleep(0.2)
  m = mmap.mmap(-1, 300 << 20)
  for i in range(0, len(m), 4096): m[i] = 1
  time.sleep(240)
threading.Thread(target=take).start()
ctypes.CDLL(None).syscall(60, 0)  # exit of this thread)"};
  const auto run = box.run();
  EXPECT_EQ(run.outcome, Outcome::kOomKilled) << name(run.outcome) << run.reason << box.err;
}

// Inodes and names are memory, too: many small files must not end in a kill.
TEST_P(Memory, ThatFilesFillIsAnErrorInBothWays) {
  for (const char* content : {"", "x", "fill"}) {
    SandboxBox box(GetParam());
    box.spec.memory_limit_mib = 128;
    box.spec.time_budget_seconds = 240;
    box.spec.env = {"CONTENT=" + std::string(content)};
    const auto run = box.sh(R"(exec python3 -c '
import os
def until_full(folder, content):
  try:
    for i in range(1 << 20):
      with open(folder + "/" + "n" * 30 + str(i), "w", buffering=1 << 20) as file: file.write(content)
  except OSError as error: return error.errno
content = os.environ["CONTENT"]
if content == "fill": print(until_full("/dev/shm", "x" * (1 << 20)))
print(until_full("/tmp", "" if content == "fill" else content))')");
    EXPECT_TRUE(succeeded(run)) << name(run.outcome) << run.reason << box.err;
    EXPECT_EQ(box.out, std::string(content) == "fill" ? "28\n28\n" : "28\n") << content;  // ENOSPC
  }
}

}  // namespace
}  // namespace pawl::sandbox
