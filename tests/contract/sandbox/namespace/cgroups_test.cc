// The promises of the namespace backend beside the contract of every backend: how its sandboxes see cgroups.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "os/clock.h"
#include "os/random.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/namespace_backend.h"
#include "sandbox/probe.h"
#include "support/outside.h"
#include "support/sandbox_box.h"
#include "support/temp_folder.h"

namespace pawl::sandbox {
namespace {

std::string namespaces() { return std::string(kNamespaceBackend); }

TEST(Cgroups, OfVersion1LetTheCommandSayHowItEndedAfterAKillForMemory) {
  testing::SandboxBox box(namespaces());
  box.spec.memory_limit_mib = 64;
  box.spec.time_budget_seconds = 60;
  const auto run = box.sh("tail /dev/zero; exit 7");
  if (cgroup_home().kind == CgroupKind::kV1) {
    EXPECT_NE(run.reason.find("exited with 7"), std::string::npos) << run.reason;
  }
}

TEST(Cgroups, AreShownWhereProgramsLookForTheirLimits) {
  testing::SandboxBox box(namespaces());
  box.spec.memory_limit_mib = 300;
  box.spec.cpu_limit_millis = 500;
  const auto& home = cgroup_home();
  box.sh(
      "cd /sys/fs/cgroup && cat $(ls -d memory/memory.limit_in_bytes memory.max pids/pids.max pids.max "
      "2>/dev/null)");
  std::string expected;
  if (home.limits("memory")) expected += std::to_string(300 << 20) + "\n";
  if (home.limits("pids")) expected += std::to_string(box.spec.pids_limit) + "\n";
  if (home.kind != CgroupKind::kNone) {
    EXPECT_EQ(box.out, expected) << box.err;
  }
  box.sh(
      "cut -d: -f3 /proc/self/cgroup | sort -u; find /sys -type d | wc -l; find /sys -writable -type f | wc "
      "-l");
  const std::size_t below = home.kind == CgroupKind::kV2     ? 0
                            : home.kind == CgroupKind::kNone ? 1
                                                             : Cgroup(home, box.id, {}).size();
  // No cgroups of other processes are below: only /sys, /sys/fs, /sys/fs/cgroup and those of controllers.
  EXPECT_EQ(box.out, "/\n" + std::to_string(3 + below) + "\n0\n") << box.err;
  box.sh(
      "for f in $(find /sys/fs/cgroup/ -name '*.max' -o -name '*.limit_in_bytes' -o -name cgroup.procs); do "
      "(echo 0 >$f) 2>&1 | grep -v 'Read-only file system'; done; mkdir /sys/fs/cgroup/memory/x "
      "/sys/fs/cgroup/x");
  EXPECT_EQ(box.out, "") << "read-only, whoever owns them";
  EXPECT_NE(box.err.find("Read-only file system"), std::string::npos) << box.err;
}

TEST(Cgroups, HaveFilesOfTheEnforcedLimitsInTheirPlaceWhereThereAreNone) {
  testing::SandboxBox box(namespaces());
  box.spec.memory_limit_mib = 300;
  if (cgroup_home().kind != CgroupKind::kNone) {
    EXPECT_FALSE(
        succeeded(box.sh("test -e /sys/fs/cgroup/memory/memory.high || grep /proc/cgroups "
                         "/proc/self/mountinfo")));
    return;
  }
  const std::string bytes = std::to_string(300 << 20);
  box.sh("cd /sys/fs/cgroup && grep -r . * | LC_ALL=C sort");
  EXPECT_EQ(box.out, "cgroup.controllers:memory pids\nmemory.high:max\nmemory.max:" + bytes +
                         "\nmemory/memory.limit_in_bytes:" + bytes +
                         "\nmemory/memory.soft_limit_in_bytes:9223372036854771712\npids.max:" +
                         std::to_string(box.spec.pids_limit) + "\n")
      << box.err;
  box.sh("cut -f2,4 /proc/cgroups; (echo x >/proc/cgroups) 2>&1 | grep -o 'Read-only file system'");
  EXPECT_EQ(box.out, "hierarchy\tenabled\n0\t1\n0\t1\n0\t1\n0\t1\n0\t1\nRead-only file system\n") << box.err;
  // Where the kernel allows the mount: the command's own cgroup alone, read-only, below the files.
  box.sh("grep -E ' - cgroup2? ' /proc/self/mountinfo | cut -d' ' -f4-6 | cut -d, -f1");
  EXPECT_TRUE(box.out.empty() || box.out == "/ /sys/fs/cgroup ro\n") << box.out;
}

// A sweep may remove a cgroup between its making and its lock; a process cannot join a removed cgroup.
TEST(Cgroups, CanBeJoinedWhileOthersSweep) {
  CgroupHome home = cgroup_home();
  if (home.kind == CgroupKind::kV1) home.controllers = {home.controllers.back()};
  // Sweeps only the folder in which this test makes cgroups: frequent sweeps hit the moment sooner.
  const testing::TempFolder temp;
  for (const auto& each : home.controllers)
    ASSERT_EQ(symlink(each.folder.c_str(), (temp / each.name).c_str()), 0);
  const std::string root = home.kind == CgroupKind::kV2 ? home.controllers.front().folder : temp.path();
  std::atomic<bool> is_over = false;
  std::vector<std::thread> sweepers;
  for (int i = 0; i < 3; ++i)
    sweepers.emplace_back([&] {
      while (!is_over) sweep_cgroups(root);
    });
  os::SystemRandom random;
  int gone = 0;
  for (int turn = 0; turn < 3000 && !home.controllers.empty(); ++turn) {
    const std::string id = os::uuid7(os::SystemClock().wall(), random);
    Cgroup cgroup(home, id, {.memory_mib = 64, .pids = 64, .cpu_millis = 1'000'000});
    ASSERT_EQ(cgroup.size(), 1U);
    const auto made = cgroup.make(0);
    ASSERT_TRUE(made) << made.error().message;
    const auto joins = [&] {
      return cgroup.is_joined() ? join_cgroup(*made) : faccessat(*made, "cgroup.procs", W_OK, 0) == 0;
    };
    std::thread([&] { gone += joins() ? 0 : 1; }).join();  // a thread leaves its cgroup by ending
    cgroup.remove();
  }
  is_over = true;
  for (auto& sweeper : sweepers) sweeper.join();
  EXPECT_EQ(gone, 0);
}

TEST(Cgroups, AreGoneWithTheirSandbox) {
  testing::SandboxBox box(namespaces());
  const auto run = box.sh("setsid sleep 1000 >/dev/null 2>&1 & echo started");
  ASSERT_TRUE(succeeded(run)) << run.reason;
  EXPECT_EQ(testing::cgroups_of({box.id}), std::vector<std::string>());
}

// No marker names a probe. A sweep removes the cgroups of a killed probe and leaves those of living probes
// alone.
TEST(Cgroups, OfAKilledProbeAreTakenByASweep) {
  const auto backend = *make_backend(kNamespaceBackend);
  const pid_t prober = fork();
  if (prober == 0) {
    static_cast<void>(run_in_sandbox(*backend, {.cmd = {"sh", "-c", "exec sleep 25"}}));
    _exit(0);
  }
  // The pid of the first child. The parent of the command is the init, and the parent
  // of the init is the prober.
  const auto child_of = [](const std::string& pid) {
    const std::string children = testing::proc_text(pid + "/task/" + pid + "/children");
    return children.substr(0, children.find(' '));
  };
  std::string command;
  for (int i = 0; i < 30'000 && !testing::proc_text(command + "/cmdline").starts_with("sleep"); ++i) {
    os::SystemClock().sleep_ms(1);
    command = child_of(child_of(std::to_string(prober)));
  }
  std::set<std::string> ids;
  const std::string all = testing::proc_text(command + "/cgroup");
  if (const auto at = all.find("/pawl-"); at != std::string::npos) ids.insert(all.substr(at + 6, 36));
  const auto degraded = backend->degraded();
  if (std::ranges::find(degraded, "memory", &Mechanism::name) == degraded.end()) {
    ASSERT_FALSE(ids.empty());
  }
  const auto made = testing::cgroups_of(ids);
  backend->clean_up();
  EXPECT_EQ(testing::cgroups_of(ids), made) << "it lives";
  kill(prober, SIGKILL);
  waitpid(prober, nullptr, 0);
  EXPECT_EQ(testing::what_stays([&] {
              backend->clean_up();  // the probe's init may still be ending
              return testing::cgroups_of(ids);
            }),
            std::vector<std::string>());
}

}  // namespace
}  // namespace pawl::sandbox
