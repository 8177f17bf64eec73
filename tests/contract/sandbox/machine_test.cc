// The view of a program that examines its sandbox like a machine: its user, terminals, file owners, and
// memory that is full or only reserved.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "sandbox/inside.h"
#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

using testing::SandboxBox;

class Machine : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, Machine, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

std::string python(const std::string& program) { return "exec python3 - <<'END'\n" + program + "\nEND\n"; }

TEST_P(Machine, SaysTheSameOfItsUserEverywhere) {
  SandboxBox box(GetParam());
  box.sh("echo $USER $LOGNAME $HOME $(id -un) $(id -gn); cd ~agent && pwd");
  EXPECT_EQ(box.out, "agent agent /home/agent agent agent\n/home/agent\n") << box.err;
  box.spec.env = {"USER=somebody"};
  box.sh("echo $USER $LOGNAME");
  EXPECT_EQ(box.out, "somebody agent\n") << "what the plan passes stands";
}

TEST_P(Machine, HasTheFilesThatEveryBackendGives) {
  SandboxBox box(GetParam());
  for (const auto& [name, content] : inside::kEtcFiles) {
    box.sh(std::string("cat /etc/") + name);
    EXPECT_EQ(box.out, content) << name << box.err;
  }
  for (const char* entry : inside::kUserEnvironment) {
    box.sh(std::string("env | grep -Fx ") + entry);
    EXPECT_EQ(box.out, std::string(entry) + "\n") << box.err;
  }
}

TEST_P(Machine, HasTheTerminalThatAProgramMakesForItself) {
  SandboxBox box(GetParam());
  box.sh("(: </dev/tty) 2>&1 | grep -o 'No such device or address'; test -c /dev/tty && echo device");
  EXPECT_EQ(box.out, "No such device or address\ndevice\n") << "not the caller's" << box.err;
  box.sh(python(R"(
import os, pty
child, master = pty.fork()
if child == 0:
  with open("/dev/tty", "r+b", buffering=0) as tty: tty.write(b"asks"); os._exit(tty.read(3) != b"yes")
assert os.read(master, 4) == b"asks"
os.write(master, b"yes\n")
print(os.waitpid(child, 0)[1]))"));
  EXPECT_EQ(box.out, "0\n") << box.err;
}

TEST_P(Machine, HasTheSocketsThatProgramsUse) {
  SandboxBox box(GetParam());
  box.sh(python(R"(
import socket
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_STREAM, 0), (socket.AF_INET, socket.SOCK_STREAM, 6), (socket.AF_INET6, socket.SOCK_STREAM, 6),
                               (socket.AF_INET, socket.SOCK_DGRAM, 0), (socket.AF_INET6, socket.SOCK_DGRAM, 17), (socket.AF_NETLINK, socket.SOCK_RAW, 0),
                               (socket.AF_NETLINK, socket.SOCK_DGRAM, 0), (socket.AF_UNIX, socket.SOCK_SEQPACKET, 0)):
  socket.socket(family, kind | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, protocol).close()
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET: socket.socketpair(socket.AF_UNIX, kind)
print(socket.getaddrinfo("localhost", 80)[0][4][1], socket.if_nameindex())
server = socket.create_server(("127.0.0.1", 0)); print(socket.create_connection(server.getsockname()).getpeername()[0]))"));
  EXPECT_EQ(box.out, "80 [(1, 'lo')]\n127.0.0.1\n") << box.err;
}

TEST_P(Machine, StartsRuntimesThatLookAtTheKernel) {
  SandboxBox box(GetParam());
  // For a runtime that the host lacks, the script prints the expected line.
  box.sh(R"(
cd /tmp
if command -v java >/dev/null; then echo 'class A { public static void main(String[] a) throws Exception { var s = new java.net.ServerSocket(0);
  new java.net.Socket("localhost", s.getLocalPort()).close(); System.out.println("java " + java.net.NetworkInterface.getByName("lo").isUp()); } }' >A.java
  java -XX:+UseLargePages A.java 2>&1 | grep '^java'; else echo java true; fi
if command -v node >/dev/null; then node -e 'const s = require("net").createServer(c => c.end("x")).listen(0, "localhost", () =>
  require("net").connect(s.address().port, "localhost").on("data", d => { console.log("node", Object.keys(require("os").networkInterfaces())[0]); s.close(); }))'
else echo node lo; fi)");
  EXPECT_EQ(box.out, "java true\nnode lo\n") << box.err;
}

// A runtime that takes the machine's memory for its own is killed before it collects garbage. For a runtime
// that the host lacks, the script prints the expected line. Without cgroups a JVM that reads
// cgroup.controllers looks at the type of the folder, too.
TEST_P(Machine, TellsRuntimesItsMemoryLimit) {
  SandboxBox box(GetParam());
  box.spec.memory_limit_mib = 600;
  box.sh(R"sh(
jvm=$(dirname "$(readlink -f "$(command -v java)")")/../lib/server/libjvm.so
if command -v java >/dev/null && ! { [ -f /sys/fs/cgroup/memory/memory.limit_in_bytes ] && [ -f /sys/fs/cgroup/memory.max ] &&
  grep -qF /cgroup.controllers "$jvm"; }
then java -XX:+PrintFlagsFinal -version 2>/dev/null | awk '$2 == "MaxHeapSize" { print "java", ($4 <= 600 * 1048576) }'
else echo java 1; fi
if command -v node >/dev/null; then node -p '"node " + process.constrainedMemory() / 1048576'
else echo node 600; fi)sh");
  EXPECT_EQ(box.out, "java 1\nnode 600\n") << box.err;
}

// Resources that one step takes are not available to other programs of the user.
TEST_P(Machine, HasAPartOnlyOfWhatTheKernelCountsByUser) {
  SandboxBox box(GetParam());
  const auto number = [](const std::string& path) {
    const auto text = os::read_file(path, 64);
    return text ? std::stoll(*text) : 0;
  };
  std::string expected;
  for (const std::string of : {"instances", "watches"}) {
    const auto own = number("/proc/sys/user/max_inotify_" + of);
    const auto machine = number("/proc/sys/fs/inotify/max_user_" + of);
    expected += std::to_string(std::min(own, machine) / 8) + "\n";
  }
  box.sh("cat /proc/sys/user/max_inotify_instances /proc/sys/user/max_inotify_watches");
  EXPECT_EQ(box.out, expected) << box.err;
  box.sh("(echo 100000 >/proc/sys/user/max_inotify_instances) 2>/dev/null || echo stays");
  EXPECT_EQ(box.out, "stays\n") << "the step can't take it back";
  rlimit signals{}, queues{};
  getrlimit(RLIMIT_SIGPENDING, &signals);
  getrlimit(RLIMIT_MSGQUEUE, &queues);
  box.sh(python(
      "import resource as r; print(*r.getrlimit(r.RLIMIT_SIGPENDING), *r.getrlimit(r.RLIMIT_MSGQUEUE))"));
  const auto pending = std::to_string(std::min<rlim_t>(signals.rlim_max / 8, 4096));
  const auto bytes = std::to_string(std::min<rlim_t>(queues.rlim_max / 4, 200 << 10));
  EXPECT_EQ(box.out, pending + " " + pending + " " + bytes + " " + bytes + "\n") << box.err;
}

// fakeroot(1), tar(1) and many tests expect EPERM; the kernel returns EINVAL for an id that is not mapped.
TEST_P(Machine, RefusesTheIdsOfOthersAsAnOrdinaryUserIsRefused) {
  SandboxBox box(GetParam());
  const std::string program = R"(
import errno, os
open("f", "w"); fd = os.open("f", os.O_RDWR); os.symlink("f", "l")
def word(call, *ids):
  try: call(*ids); return "ok"
  except OSError as error: return errno.errorcode[error.errno]
def each(*ids):
  return [word(os.chown, "f", *ids), word(os.lchown, "l", *ids), word(os.fchown, fd, *ids),
          word(lambda *i: os.chown("f", *i, dir_fd=os.open(".", os.O_RDONLY)), *ids)]
for ids in (0, 0), (0, -1), (-1, 0), (1000, 33), (65534, 1000): print(*set(each(*ids)))
for ids in (1000, 1000), (-1, 1000), (1000, -1), (-1, -1): print(*set(each(*ids)))
for call in os.setuid, os.setgid, os.seteuid, os.setegid: print(word(call, 0), word(call, 1000))
for call in os.setreuid, os.setregid: print(word(call, -1, 0), word(call, 1000, -1))
for call in os.setresuid, os.setresgid: print(word(call, -1, -1, 0), word(call, 1000, 1000, 1000)))";
  std::string expected;
  for (int i = 0; i < 5; ++i) expected += "EPERM\n";
  for (int i = 0; i < 4; ++i) expected += "ok\n";
  for (int i = 0; i < 8; ++i) expected += "EPERM ok\n";
  for (const bool traced : {false, true}) {
    box.spec.enable_trace = traced;
    box.sh("rm -f f l; " + python(program));
    EXPECT_EQ(box.out, expected) << box.err;
  }
  box.sh(
      "echo x > one && touch -d 2001-01-01 one && cp -p one two && tar -cf t one && rm one && tar -xpf t && "
      "stat -c '%U %G %y' one two | cut -c1-22");
  EXPECT_EQ(box.out, "agent agent 2001-01-01\nagent agent 2001-01-01\n") << box.err;
}

TEST_P(Machine, AFullTmpIsAnErrorWhateverItsShareOfTheMemory) {
  SandboxBox box(GetParam());
  for (const std::int64_t mib : {64, 256}) {
    box.spec.memory_limit_mib = mib;
    for (const char* folder : {"/tmp", "/dev/shm", "/run"}) {
      const auto run = box.sh(std::string("dd if=/dev/zero bs=1M count=400 of=") + folder + "/x; echo seen");
      EXPECT_EQ(run.outcome, Outcome::kExited) << name(run.outcome) << folder;
      EXPECT_EQ(box.out, "seen\n");
      EXPECT_NE(box.err.find("No space left on device"), std::string::npos) << box.err;
    }
  }
}

TEST_P(Machine, HasRoomForLargeTemporaryFilesOnDisk) {
  const testing::TempFolder disk("/var/tmp");
  SandboxBox box(GetParam());
  box.folders.scratch = disk.path();
  box.spec.memory_limit_mib = 64;
  box.spec.disk_limit_mib = 200;
  auto run = box.sh(
      "f=$(mktemp) && echo ${f%/*} && dd if=/dev/zero bs=1M count=150 of=$f && stat -c %a /var/tmp && rm $f");
  EXPECT_EQ(run.outcome, Outcome::kExited) << name(run.outcome);
  EXPECT_EQ(box.out, "/var/tmp\n1777\n") << box.err;
  run = box.sh(
      "exec 3>/var/tmp/x; rm /var/tmp/x; dd if=/dev/zero bs=1M count=190 of=/var/tmp/y; cat /var/tmp/y >&3; "
      "sleep 9");
  EXPECT_EQ(run.outcome, Outcome::kDiskLimit) << "with a name or not" << box.err;
  box.spec.env = {"TMPDIR=/workspace"};
  box.sh("echo $TMPDIR");
  EXPECT_EQ(box.out, std::string(inside::kWorkspace) + "\n");
  box.folders = {.in_memory = true};
  box.spec.env.clear();
  box.sh("echo $TMPDIR; echo x >/tmp/x; cat /var/tmp/x");
  EXPECT_EQ(box.out, "\nx\n") << "without a place on disk it is /tmp" << box.err;
}

// Sanitizers, garbage collectors and databases reserve far more memory than they use.
TEST_P(Machine, MemoryThatIsOnlyReservedIsNoMemory) {
  SandboxBox box(GetParam());
  box.spec.memory_limit_mib = 64;
  const auto run = box.sh(python(R"(
import mmap
for flags in mmap.MAP_PRIVATE, mmap.MAP_SHARED:
  mmap.mmap(-1, 1 << 44, flags=flags | mmap.MAP_ANONYMOUS | 0x4000)[0] = 1  # MAP_NORESERVE
print("reserved"))"));
  EXPECT_EQ(run.outcome, Outcome::kExited) << name(run.outcome);
  EXPECT_EQ(box.out, "reserved\n") << box.err;
}

TEST_P(Machine, ShowsOfEtcWhatPackagesPutThere) {
  SandboxBox box(GetParam());
  // A file that a user puts there, even into a package's folder, must not show in the sandbox.
  const std::vector<std::string> secrets = {"/etc/pawl-test-secret",
                                            "/etc/fonts/conf.d/pawl-test-secret.conf"};
  const bool may_write = geteuid() == 0;
  for (const auto& secret : secrets) ASSERT_EQ(os::write_atomically(secret, "x").has_value(), may_write);
  box.sh(
      "test -r /etc/ssl/openssl.cnf && test -r /etc/fonts/fonts.conf && ls /etc/fonts/conf.d/*.conf "
      ">/dev/null && "
      "cat /etc/passwd | wc -l; find /etc -name 'pawl-test*' -o -name 'shadow*' -o -name 'ssh_host*' -o "
      "-name machine-id;"
      "find /etc -type f ! -readable; touch /etc/x /etc/fonts/x");
  for (const auto& secret : secrets) unlink(secret.c_str());
  EXPECT_EQ(box.out, "3\n") << box.err;
  EXPECT_NE(box.err.find("Read-only file system"), std::string::npos) << box.err;
}

TEST_P(Machine, ShowsOfVarThePackagesDataAndNothingElse) {
  SandboxBox box(GetParam());
  // Only dpkg's data exists on every host that has packages. All data of packages is read-only.
  box.sh(R"(
if [ -e /usr/bin/dpkg-query ]; then dpkg-query -W -f '${Package}\n' dpkg; else echo dpkg; fi
echo x 2>/dev/null >/var/lib/dpkg/x || echo read-only
for shown in /var/lib/*; do case $shown in
*/aspell | */dictionaries-common | */dpkg | */gems | */ghc | */hunspell | */ispell | */php | */sgml-base | */texmf | */xml-core) ;;
*) echo "$shown"; esac; done
ls /var)");
  EXPECT_EQ(box.out, "dpkg\nread-only\ncache\nlib\ntmp\n") << box.err;
}

TEST_P(Machine, OpensItsStreamsByName) {
  SandboxBox box(GetParam());
  box.sh("cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr");
  EXPECT_EQ(box.out, "out\n") << "without an input, stdin is empty";
  EXPECT_EQ(box.err, "err\n");
}

TEST_P(Machine, ReadsItsInputWholeAndToItsEnd) {
  SandboxBox box(GetParam());
  std::string all;
  for (int i = 0; i < 3'000'000; ++i) all += static_cast<char>(i % 251);
  ASSERT_TRUE(os::write_atomically(box.temp / "all", all));
  const os::UniqueFd file(open((box.temp / "all").c_str(), O_RDWR | O_CLOEXEC));
  box.input = file.get();
  box.sh("sleep 0.1; cat /dev/stdin");
  EXPECT_EQ(box.out.size(), all.size());
  EXPECT_TRUE(box.out == all) << box.err;
  // The input is a copy: the file behind the caller's descriptor is out of reach.
  ASSERT_EQ(lseek(file.get(), 0, SEEK_SET), 0);
  box.sh(
      "readlink /proc/self/fd/0 | cut -c1-5; (: >>/dev/stdin) 2>/dev/null; echo x >&0; ls -l /proc/self/fd | "
      "grep -c all");
  EXPECT_EQ(box.out, "pipe:\n0\n") << box.err;
  EXPECT_TRUE(*os::read_file(box.temp / "all", 1 << 22) == all);
}

// Ignored signals, soft limits and personality flags of this process, which programs inherit. Restores them.
class UnusualCaller {
 public:
  UnusualCaller() {
    for (int number = 1; number <= SIGRTMAX; ++number)
      if (number != SIGCHLD) std::signal(number, SIG_IGN);
    for (const auto resource : {RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA, RLIMIT_RSS, RLIMIT_STACK}) {
      rlimit limit{};
      getrlimit(resource, &limit);
      limits_.emplace_back(resource, limit);
      limit.rlim_cur = resource == RLIMIT_STACK ? 7 << 20 : rlim_t{1} << 50;  // a sanitizer reserves 16 TiB
      setrlimit(resource, &limit);
    }
    personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC);
  }
  ~UnusualCaller() {
    for (int number = 1; number <= SIGRTMAX; ++number) std::signal(number, SIG_DFL);
    for (const auto& [resource, limit] : limits_) setrlimit(resource, &limit);
    personality(PER_LINUX);
  }

 private:
  std::vector<std::pair<__rlimit_resource, rlimit>> limits_;
};

TEST_P(Machine, IsTheSameWhoeverCalls) {
  SandboxBox box(GetParam());
  const std::string look =
      "grep -E '^Sig(Ign|Blk)' /proc/self/status; cat /proc/self/personality; "
      "ulimit -S -t; ulimit -S -v; ulimit -S -d; ulimit -S -m; ulimit -S -s";
  for (const bool traced : {false, true}) {
    box.spec.enable_trace = traced;
    box.sh(look);
    const std::string usual = box.out;
    EXPECT_TRUE(usual.starts_with("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n00000000\n"))
        << usual;
    const UnusualCaller caller;
    box.sh(look);
    EXPECT_EQ(box.out, usual) << box.err;
  }
}

TEST_P(Machine, AnInputThatNobodyReadsOrThatNeverEndsHoldsNothingUp) {
  SandboxBox box(GetParam());
  box.spec.time_budget_seconds = 20;
  const os::UniqueFd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const os::UniqueFd silent(ends[0]), held(ends[1]);
  for (const int input : {zero.get(), silent.get()}) {
    box.input = input;
    EXPECT_TRUE(succeeded(box.sh("true")));
    EXPECT_TRUE(succeeded(box.sh("exec <&-; sleep 0.1; echo on")));
    EXPECT_EQ(box.out, "on\n");
  }
  box.input = zero.get();
  EXPECT_TRUE(succeeded(box.sh("head -c 200000 | wc -c")));
  EXPECT_EQ(box.out, "200000\n");
  ASSERT_EQ(write(held.get(), "one\n", 4), 4);
  box.input = silent.get();
  EXPECT_TRUE(succeeded(box.sh("read line; echo $line")));
  EXPECT_EQ(box.out, "one\n") << "before its end";
}

}  // namespace
}  // namespace pawl::sandbox
