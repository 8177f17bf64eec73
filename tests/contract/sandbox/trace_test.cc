// A trace's lines of the programs of a sandbox, and of the calls that are denied to them.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/json.h"
#include "base/lines.h"
#include "sandbox/trace_bounds.h"
#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

using testing::SandboxBox;

class Trace : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, Trace, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Trace, TracesWhatIsExecutedConnectedToAndDenied) {
  SandboxBox box(GetParam());
  box.spec.enable_trace = true;
  const auto run = box.sh(
      "env --token=abc /bin/echo hi; echo x > /dev/tcp 2>/dev/null; unshare -m true; mount -t tmpfs t /tmp; "
      "python3 -c \"import socket; socket.socket(40)\" 2>&1 | grep -q 'Errno 97' && echo no family; "
      "python3 -c \"import socket; socket.socket(16, 3, 12)\" 2>&1 | grep -q 'Errno 1]' && echo no protocol; "
      "python3 -c \"import mmap; mmap.mmap(-1, 2 << 20, 0x40022)\" 2>&1 | grep -q 'Errno 1]' && echo no huge "
      "page; "
      "python3 -c \"import socket; s = socket.socket(); s.connect_ex(('127.0.0.1', 9))\"; true");
  ASSERT_TRUE(succeeded(run)) << run.reason << box.err;
  EXPECT_NE(box.trace.find(R"("argv":["sh","-c")"), std::string::npos);
  EXPECT_NE(box.trace.find(R"("call":"mount","event":"denied")"), std::string::npos) << box.trace;
  EXPECT_NE(box.trace.find(R"("call":"unshare","event":"denied")"), std::string::npos) << "by argument";
  EXPECT_NE(box.trace.find(R"("call":"socket","event":"denied")"), std::string::npos) << "by argument";
  EXPECT_NE(box.out.find("no family\n"), std::string::npos) << "the error is the filter's: EAFNOSUPPORT";
  EXPECT_NE(box.out.find("no protocol\nno huge page\n"), std::string::npos) << "and EPERM";
  EXPECT_NE(box.trace.find(R"("call":"mmap","event":"denied")"), std::string::npos) << "by argument";
  EXPECT_NE(box.trace.find(R"("address":"127.0.0.1")"), std::string::npos);
  EXPECT_NE(box.trace.find("--token=[redacted]"), std::string::npos);
  EXPECT_EQ(box.trace.find("--token=abc\""), std::string::npos);
}

// The paths of the lines with an event.
std::set<std::string> traced(const std::string& trace, const std::string& event) {
  std::set<std::string> out;
  for (const auto line : TextLines(trace))
    if (const auto json = parse_json(line); json && text_in(*json, "event") == event)
      out.insert(text_in(*json, "path"));
  return out;
}

TEST_P(Trace, ATraceTellsApartWhatCouldNotBeStarted) {
  SandboxBox box(GetParam());
  box.spec.enable_trace = true;
  const auto run = box.sh(
      "printf '#!/no/interpreter\\n' >bad; printf x >plain; chmod +x bad; ./bad; ./plain; sh -c 'kill -9 "
      "$$'; "
      "exec python3 -c \"\nimport os, subprocess, threading\n"
      "for name in '/no/such', '/workspace/plain':\n  try: subprocess.run([name])\n  except OSError: pass\n"
      "subprocess.run(['true'], env={'PATH': '/nowhere:/usr/bin'})\n"
      "def ask(path):\n  try: os.execv(path, ['x'])\n  except OSError: pass\n"
      // The thread asks once more, because its end may come after the exec of the main thread.
      "def twice():\n  ask('/no/exec')\n  ask('/no/later')\n"
      "one = threading.Thread(target=twice); one.start(); one.join()\n"
      "os.execv('/bin/echo', ['echo', 'end'])\"");
  ASSERT_TRUE(succeeded(run)) << run.reason << box.err;
  EXPECT_EQ(box.out, "end\n");
  const auto started = traced(box.trace, "exec"), failed = traced(box.trace, "exec_failed");
  for (const char* path : {"./bad", "/no/such", "/workspace/plain", "/nowhere/true", "/no/exec"}) {
    EXPECT_TRUE(failed.contains(path)) << path << box.trace;
    EXPECT_FALSE(started.contains(path)) << path;
  }
  for (const char* path : {"/usr/bin/true", "/bin/echo"}) {
    EXPECT_TRUE(started.contains(path)) << path << box.trace;
    EXPECT_FALSE(failed.contains(path)) << path;
  }
}

TEST_P(Trace, ATraceEndsAtItsBoundAndTheStepGoesOn) {
  SandboxBox box(GetParam());
  box.spec.enable_trace = true;
  const auto run = box.sh(
      "set --; for i in $(seq 60); do set -- \"$@\" $(printf '%0250d' 0); done; "
      "for i in $(seq 1300); do /bin/true \"$@\"; done; echo went on");
  ASSERT_TRUE(succeeded(run)) << run.reason << box.err;
  EXPECT_EQ(box.out, "went on\n");
  EXPECT_GT(box.trace.size(), kTraceBytesMax - (20 << 10));
  EXPECT_LE(box.trace.size(), kTraceBytesMax + 100);
  EXPECT_EQ(box.trace.substr(box.trace.rfind('\n', box.trace.size() - 2) + 1),
            "{\"event\":\"cut\",\"reason\":\"a trace has 16 MiB at most\"}\n");
  EXPECT_EQ(box.trace.find("\"cut\""), box.trace.rfind("\"cut\""));
}

TEST_P(Trace, ASecretThatGoesOverTheEndOfWhatIsToldOfAnArgumentIsNotTold) {
  SandboxBox box(GetParam());
  box.spec.enable_trace = true;
  const auto run = box.sh(
      "/bin/true a https://user:$(printf 'p%.0s' $(seq 300))@h/; "
      "/bin/true b https://user:$(printf 'q%.0s' $(seq 9000))@h/; "
      "/bin/true c $(printf 'x%.0s' $(seq 300))");
  ASSERT_TRUE(succeeded(run)) << run.reason << box.err;
  EXPECT_NE(box.trace.find(R"("argv":["/bin/true","a","[redacted]"])"), std::string::npos);
  EXPECT_NE(box.trace.find(R"("argv":["/bin/true","b","[redacted]"])"), std::string::npos);
  EXPECT_NE(box.trace.find("\"c\",\"" + std::string(kTraceArgumentBytesMax, 'x') + "\""), std::string::npos);
}

// Like a container whose runtime listens: the kernel gives a process no second listener.
void be_listened_to() {
  sock_filter let_all_through{.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
  const sock_fprog program{.len = 1, .filter = &let_all_through};
  PAWL_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  PAWL_CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) >= 0);
}

TEST_P(Trace, SaysThatATraceCantBeHadAndWhatToDo) {
  // Runs in a child process, because the filter cannot be removed.
  const auto try_it = [&] {
    be_listened_to();
    SandboxBox box(GetParam());
    if (!succeeded(box.sh("true"))) std::exit(1);
    box.spec.enable_trace = true;
    const auto run = box.sh("echo ran");
    std::fprintf(stderr, "%s; %s\n", run.reason.c_str(), box.out.c_str());
    if (!box.fault || box.fault->mechanism != "trace") std::exit(3);
    for (const auto& mechanism : (*make_backend(GetParam()))->health(egress::closed_outlets()).mechanisms)
      std::fprintf(stderr, "%s is %s: %s\n", mechanism.name.c_str(),
                   std::string(name(mechanism.status)).c_str(), mechanism.detail.c_str());
    std::exit(run.outcome == Outcome::kSetupFailed && box.out.empty() ? 0 : 2);
  };
  EXPECT_EXIT(try_it(), ::testing::ExitedWithCode(0),
              "^trace_unavailable: .*without `trace: true`(.|\n)*egress is works(.|\n)*trace is missing: "
              "trace_unavailable: ");
}

}  // namespace
}  // namespace pawl::sandbox
