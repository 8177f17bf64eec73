// The promises of every backend, tested from inside its sandboxes. The tests run as the calling user.
// CMakeLists.txt beside this file adds the same tests as an ordinary user and without cgroups.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "os/process.h"
#include "sandbox/inside.h"
#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

using testing::SandboxBox;

class Sandbox : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, Sandbox, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Sandbox, RunsTheCommandAndPassesOutputAndExitCodeThrough) {
  SandboxBox box(GetParam());
  const auto run = box.sh("echo out; echo err >&2; exit 7");
  EXPECT_EQ(run.outcome, Outcome::kExited) << run.reason;
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_EQ(box.out, "out\n");
  EXPECT_EQ(box.err, "err\n");
  EXPECT_EQ(run.backend, GetParam());
  EXPECT_EQ(run.gate_isolation_class, (*make_backend(GetParam()))->gate_isolation_class());
  EXPECT_EQ(run.gate_isolation_class, isolation_class_of(GetParam()));
}

TEST_P(Sandbox, ChangesGoToUpperAndTheLowerTreeStays) {
  SandboxBox box(GetParam());
  ASSERT_TRUE(os::make_folders(box.folders.lower[0] + "/dir"));
  for (const char* name : {"keep", "edit", "gone", "dir/inner"})
    ASSERT_TRUE(os::write_atomically(box.folders.lower[0] + "/" + name, "old\n"));
  const auto run =
      box.sh("cat edit; echo new > edit; rm gone; mkdir made; echo x > made/file; chmod 755 keep; ls");
  ASSERT_TRUE(succeeded(run)) << run.reason << box.err;
  EXPECT_EQ(*os::read_file(box.folders.lower[0] + "/edit", 100), "old\n");
  EXPECT_TRUE(os::exists(box.folders.lower[0] + "/gone"));
  EXPECT_EQ(*os::read_file(box.folders.upper + "/edit", 100), "new\n");
  EXPECT_EQ(*os::read_file(box.folders.upper + "/made/file", 100), "x\n");
  struct stat status {};
  ASSERT_EQ(stat((box.folders.upper + "/edit").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, geteuid()) << "what it made belongs to who runs Pawl";
  if (!box.copied) {
    ASSERT_EQ(lstat((box.folders.upper + "/gone").c_str(), &status), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode)) << "a whiteout";
  }
}

TEST_P(Sandbox, SeesLayersTopmostFirst) {
  SandboxBox box(GetParam());
  ASSERT_TRUE(os::make_folders(box.temp / "top"));
  ASSERT_TRUE(os::write_atomically(box.folders.lower[0] + "/file", "base"));
  ASSERT_TRUE(os::write_atomically(box.temp / "top/file", "top"));
  box.folders.lower.insert(box.folders.lower.begin(), box.temp / "top");
  const auto run = box.sh("cat file");
  EXPECT_TRUE(succeeded(run)) << run.reason;
  EXPECT_EQ(box.out, "top");
}

TEST_P(Sandbox, IsAnOrdinaryUserWithoutCapabilitiesOrNewPrivileges) {
  SandboxBox box(GetParam());
  const auto run =
      box.sh("id -u; grep -E 'CapEff|CapBnd|CapPrm|NoNewPrivs' /proc/self/status; cat /proc/self/uid_map");
  ASSERT_TRUE(succeeded(run)) << run.reason;
  EXPECT_NE(box.out.find(std::to_string(inside::kUid) + "\n"), std::string::npos);
  for (const char* line : {"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"})
    EXPECT_NE(box.out.find(line), std::string::npos) << box.out;
  EXPECT_EQ(box.out.find(" 0          1"), std::string::npos) << "not root outside: " << box.out;
}

TEST_P(Sandbox, HidesTheHost) {
  SandboxBox box(GetParam());
  const auto run = box.sh(
      "ls -a /root /home /mnt /srv /boot /sys 2>&1; ls /; ls /tmp; cat /etc/shadow 2>&1; ls /etc | head -50;"
      "test -w /usr && echo usr-writable; touch /x 2>&1; ls /proc | grep -c '^[0-9]'; echo x > "
      "/proc/sys/kernel/hostname");
  EXPECT_EQ(run.outcome, Outcome::kExited) << run.reason;
  EXPECT_EQ(box.out.find("usr-writable"), std::string::npos);
  EXPECT_NE(box.out.find("Read-only file system"), std::string::npos) << box.out;
  EXPECT_NE(box.out.find("cannot access '/root'"), std::string::npos) << box.out;
  EXPECT_NE(box.out.find("/home:\n.\n..\nagent\n"), std::string::npos) << "only its own" << box.out;
  EXPECT_EQ(box.out.find("pawl-test"), std::string::npos) << "its /tmp is its own";
  EXPECT_NE(box.out.find("/etc/shadow: No such file"), std::string::npos) << box.out;
  EXPECT_NE(run.exit_code, 0) << "/proc/sys is read-only";
}

TEST_P(Sandbox, HasTheSameUmaskForEveryCaller) {
  const mode_t before = umask(077);
  SandboxBox box(GetParam());
  box.sh("umask; touch /tmp/new; mkdir /tmp/folder; stat -c %a /tmp/new /tmp/folder /tmp /run");
  umask(before);
  EXPECT_EQ(box.out, "0022\n644\n755\n1777\n1777\n") << box.err;
}

TEST_P(Sandbox, ShowsNothingOfOpt) {
  SandboxBox box(GetParam());
  const auto run = box.sh("ls -d /opt");
  EXPECT_NE(run.exit_code, 0) << box.out;
  EXPECT_NE(box.err.find("cannot access '/opt'"), std::string::npos) << box.err;
}

// Folders below /usr that may be a home or a project. This user may read them on the host.
TEST_P(Sandbox, CoversAHomeAndWhatIsHiddenBelowWhatItShows) {
  const std::string home = os::environment_value("HOME").value_or("");
  SandboxBox box(GetParam());
  box.folders.hidden = {"/usr/share/doc", "/usr/sbin", "/absent", box.temp.path()};
  setenv("HOME", "/usr/include", 1);
  const auto run = box.sh(
      "ls -A /usr/include /usr/share/doc | grep -vE '^(/.*:|)$'; test -n \"$(ls /usr/sbin)\" && echo "
      "programs;"
      "touch /usr/include/x 2>&1; umount /usr/include 2>/dev/null && echo uncovered; ls /workspace");
  setenv("HOME", home.c_str(), 1);
  EXPECT_EQ(run.outcome, Outcome::kExited) << run.reason << box.err;
  EXPECT_TRUE(box.out.starts_with("programs\n")) << box.out << "what programs need stays";
  EXPECT_NE(box.out.find("Read-only file system"), std::string::npos) << box.out;
  EXPECT_EQ(box.out.find("uncovered"), std::string::npos) << box.out;
}

TEST_P(Sandbox, HasNoNetworkButLoopback) {
  SandboxBox box(GetParam());
  const auto run =
      box.sh("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '; cat /proc/net/route | wc -l");
  ASSERT_TRUE(succeeded(run)) << run.reason;
  EXPECT_EQ(box.out, "lo\n1\n");
}

TEST_P(Sandbox, HasItsOwnProcessesHostnameAndSession) {
  SandboxBox box(GetParam());
  const auto run = box.sh(
      "hostname; ls /proc | grep -E '^[0-9]+$' | wc -l; cut -d' ' -f7 /proc/self/stat; "
      "cat /proc/1/environ 2>&1 | head -c 100; kill -9 1; echo alive");
  ASSERT_TRUE(succeeded(run)) << run.reason;
  EXPECT_TRUE(box.out.starts_with("pawl\n")) << box.out;
  EXPECT_NE(box.out.find("\n0\n"), std::string::npos) << "no controlling terminal: " << box.out;
  EXPECT_NE(box.out.find("Permission denied"), std::string::npos) << "the init's memory is its own";
  EXPECT_NE(box.out.find("alive"), std::string::npos);
}

TEST_P(Sandbox, RunsOnTheProcessorsOfWhoeverStartsIt) {
  const auto outside = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Cpus_allowed:")) return line + "\n";
    return std::string();
  };
  cpu_set_t all{};
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  cpu_set_t one{};
  CPU_SET(sched_getcpu(), &one);
  for (const auto& mine : {all, one}) {
    ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
    for (int i = 0; i < 10; ++i) {  // the processor of a new process is a race
      SandboxBox box(GetParam());
      const auto run = box.sh("grep -h Cpus_allowed: /proc/self/status /proc/1/status");
      ASSERT_TRUE(succeeded(run)) << run.reason;
      EXPECT_EQ(box.out, outside() + outside());
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

TEST_P(Sandbox, InheritsNoDescriptorAndNoEnvironment) {
  SandboxBox box(GetParam());
  ASSERT_EQ(setenv("PAWL_TEST_LEAK", "leaked", 1), 0);
  box.spec.env = {"PAWL_GOAL=mend it"};
  const auto run = box.sh("ls /proc/self/fd | tr '\\n' ' '; env");
  ASSERT_TRUE(succeeded(run)) << run.reason;
  EXPECT_TRUE(box.out.starts_with("0 1 2 3 \n") || box.out.starts_with("0 1 2 3 "))
      << box.out;  // 3 belongs to ls
  EXPECT_EQ(box.out.find("leaked"), std::string::npos);
  EXPECT_NE(box.out.find("PAWL_GOAL=mend it"), std::string::npos);
  EXPECT_NE(box.out.find(inside::kUserEnvironment.front()), std::string::npos);
}

TEST_P(Sandbox, CopyInIsReadOnlyOrAPrivateCopy) {
  SandboxBox box(GetParam());
  ASSERT_TRUE(os::make_folders(box.temp / "plan"));
  ASSERT_TRUE(os::write_atomically(box.temp / "plan/agent.sh", "echo hello"));
  ASSERT_TRUE(os::write_atomically(box.temp / "feedback.json", "{}"));
  box.spec.copy_in = {
      {.src = box.temp / "plan", .dst = "/plan", .access = Access::kReadOnly},
      {.src = box.temp / "plan", .dst = "/mine/plan", .access = Access::kReadWrite},
      {.src = box.temp / "feedback.json", .dst = "/pawl/feedback.json", .access = Access::kReadOnly}};
  const auto run = box.sh(
      "sh /plan/agent.sh; cat /pawl/feedback.json; echo changed > /mine/plan/agent.sh && "
      "echo bad > /plan/agent.sh");
  EXPECT_EQ(run.outcome, Outcome::kExited) << run.reason;
  EXPECT_NE(run.exit_code, 0);
  EXPECT_EQ(box.out, "hello\n{}") << box.err;
  EXPECT_EQ(*os::read_file(box.temp / "plan/agent.sh", 100), "echo hello");
}

TEST_P(Sandbox, CopyInOfSeveralTreesIsOneFolder) {
  SandboxBox box(GetParam());
  for (const std::string tree : {"top", "middle", "last"})
    ASSERT_TRUE(os::make_folders(box.temp / (tree + "/dir")));
  ASSERT_TRUE(os::write_atomically(box.temp / "top/dir/a", "new"));
  ASSERT_EQ(mknod((box.temp / "middle/gone").c_str(), S_IFCHR, 0), 0);
  ASSERT_TRUE(os::write_atomically(box.temp / "last/dir/a", "old"));
  ASSERT_TRUE(os::write_atomically(box.temp / "last/dir/b", "kept"));
  ASSERT_TRUE(os::write_atomically(box.temp / "last/gone", "x"));
  box.spec.copy_in = {
      {.src = box.temp / "top", .below = {box.temp / "middle", box.temp / "last"}, .dst = "/plan"}};
  const auto run = box.sh("cat /plan/dir/a /plan/dir/b; ls /plan; echo bad > /plan/dir/b");
  EXPECT_EQ(run.outcome, Outcome::kExited) << run.reason;
  EXPECT_NE(run.exit_code, 0);
  EXPECT_EQ(box.out, "newkeptdir\n") << box.err;
  EXPECT_EQ(*os::read_file(box.temp / "last/dir/b", 100), "kept");
}

TEST_P(Sandbox, SaysWhyItEnded) {
  SandboxBox box(GetParam());
  box.spec.time_budget_seconds = 1;
  auto run = box.sh("sleep 60 & sleep 60");
  EXPECT_EQ(run.outcome, Outcome::kTimedOut) << run.reason;
  EXPECT_LT(run.duration_ms, 30'000) << "it did not wait for what it ended";
  box.spec.time_budget_seconds = 60;

  run = box.sh("kill -TERM $$");
  EXPECT_EQ(run.outcome, Outcome::kSignaled);
  EXPECT_EQ(run.signal, SIGTERM);

  box.spec.output_limit_bytes = 1000;
  run = box.sh("yes");
  EXPECT_EQ(run.outcome, Outcome::kOutputLimit);
  EXPECT_EQ(box.out.size(), 1000U);
  // The same when the command has ended before the watcher reads: output that was cut
  // must not pass for whole.
  for (int i = 0; i < 30; ++i) {
    run = box.sh("head -c 2000 /dev/zero");
    ASSERT_EQ(run.outcome, Outcome::kOutputLimit) << i;
    ASSERT_EQ(box.out.size(), 1000U);
  }
  box.spec.output_limit_bytes = 1 << 20;

  box.spec.cmd = {"no-such-program"};
  run = box.run();
  EXPECT_EQ(run.outcome, Outcome::kExited);
  EXPECT_EQ(run.exit_code, 127);
  EXPECT_NE(box.err.find("no-such-program"), std::string::npos);

  box.should_stop = [] { return true; };
  run = box.sh("sleep 60");
  EXPECT_EQ(run.outcome, Outcome::kSignaled);
  EXPECT_EQ(run.reason, "cancelled");
}

TEST_P(Sandbox, BoundsProcesses) {
  SandboxBox box(GetParam());
  box.spec.pids_limit = 16;
  box.spec.time_budget_seconds = 60;
  const auto run = box.sh("for i in $(seq 40); do sleep 30 & done; echo made; wait");
  EXPECT_EQ(box.out.find("made"), std::string::npos);
  EXPECT_NE(box.err.find("ork"), std::string::npos) << "Cannot fork: " << box.err << name(run.outcome);
}

TEST_P(Sandbox, BoundsDisk) {
  SandboxBox box(GetParam());
  box.spec.disk_limit_mib = 8;
  box.spec.time_budget_seconds = 60;
  auto run = box.sh("exec dd if=/dev/zero of=one bs=1M count=100");
  EXPECT_EQ(run.outcome, Outcome::kDiskLimit) << name(run.outcome) << box.err;
  SandboxBox many(GetParam());
  many.spec.disk_limit_mib = 8;
  many.spec.time_budget_seconds = 60;
  run = many.sh("for i in $(seq 100); do head -c 1000000 /dev/zero > f$i; done; sleep 30");
  EXPECT_EQ(run.outcome, Outcome::kDiskLimit) << name(run.outcome);
}

TEST_P(Sandbox, AWorkspaceInMemoryIsBoundedAndLeavesNothing) {
  SandboxBox box(GetParam());
  box.folders = {.in_memory = true};
  box.spec.disk_limit_mib = 8;
  const auto run = box.sh(
      "ls -A; echo x > /workspace/file && cat file; for i in $(seq 20); do head -c 1000000 /dev/zero > f$i; "
      "done");
  EXPECT_EQ(run.outcome, Outcome::kExited) << name(run.outcome) << box.err;
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(box.out, "x\n");
  EXPECT_NE(box.err.find("No space left on device"), std::string::npos) << box.err;
}

TEST_P(Sandbox, SetupFailedNamesTheMechanism) {
  SandboxBox box(GetParam());
  box.folders.lower.push_back(box.temp / "is not there");
  const auto run = box.sh("true");
  EXPECT_EQ(run.outcome, Outcome::kSetupFailed);
  ASSERT_TRUE(box.fault);
  EXPECT_EQ(box.fault->error.sys_errno, ENOENT);
  EXPECT_EQ(box.fault->error.message, run.reason);
  EXPECT_NE(run.reason.find("is not there"), std::string::npos) << run.reason;
}

TEST_P(Sandbox, LeavesNoProcess) {
  SandboxBox box(GetParam());
  const std::string mine = "sleep 1000." + std::to_string(getpid());  // other processes sleep, too
  const auto run = box.sh("setsid " + mine + " >/dev/null 2>&1 & setsid sh -c '" + mine + " & " + mine +
                          "' & echo started");
  ASSERT_TRUE(succeeded(run)) << run.reason;
  const auto processes = os::list_folder("/proc");
  for (const auto& pid : *processes) {
    auto command = os::read_file("/proc/" + pid + "/cmdline", 4096).value_or("");
    std::ranges::replace(command, '\0', ' ');
    EXPECT_NE(command, mine + " ") << pid;
  }
}

TEST_P(Sandbox, AsksBeforeItKills) {
  SandboxBox box(GetParam());
  box.spec.time_budget_seconds = 3;
  const auto run = box.sh("trap 'echo asked; exit 0' TERM; sleep 100 & wait");
  EXPECT_EQ(run.outcome, Outcome::kTimedOut);
  EXPECT_EQ(box.out, "asked\n");
  EXPECT_LT(run.duration_ms, 20'000) << "it was killed, after a grace";
}

// The shell around a command dies of the signal, and programs that it started may still save their work. The
// inner shell waits, because dash loses a signal that arrives while it starts a program.
TEST_P(Sandbox, GivesAllInThereTheirGrace) {
  SandboxBox box(GetParam());
  const std::string saves =
      "sh -c 'trap \"sleep 0.2; echo saved; exit 0\" TERM; sleep 100 & echo ready; wait'";
  box.should_stop = [&] { return box.out.find("ready") != std::string::npos; };
  SandboxRun run;
  // The grace is one second of wall time, and a busy machine may use it up: try again then.
  for (int i = 0; i < 5 && box.out != "ready\nsaved\n"; ++i) run = box.sh(saves + "; true");
  EXPECT_EQ(run.reason, "cancelled");
  EXPECT_EQ(box.out, "ready\nsaved\n");
  run = box.sh("(trap '' TERM; exec sleep 100) & echo ready; exec sleep 100");
  EXPECT_EQ(run.reason, "cancelled");
  EXPECT_LT(run.duration_ms, 20'000) << "who does not end is ended, after the grace";
}

// SIGTERM from inside must not end the step: otherwise a process could outlive its command.
TEST_P(Sandbox, LeavesNobodyWhenTheCommandAsksTheInitToEnd) {
  SandboxBox box(GetParam());
  box.spec.time_budget_seconds = 20;
  const auto run = box.sh("trap '' TERM; (sleep 100 >/dev/null 2>&1 &) ; kill -TERM 1; sleep 0.2; echo done");
  EXPECT_TRUE(succeeded(run)) << run.reason;
  EXPECT_EQ(box.out, "done\n");
}

}  // namespace
}  // namespace pawl::sandbox
