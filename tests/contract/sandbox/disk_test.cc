// The disk limit counts every byte that a sandbox holds on the host's disk, in whatever
// way, and each byte once.
#include <gtest/gtest.h>

#include <string>

#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

using testing::SandboxBox;

constexpr std::int64_t kLimitMib = 8;

class Disk : public ::testing::TestWithParam<std::string> {
 protected:
  Disk() { box_.spec.disk_limit_mib = kLimitMib; }

  // The script would run for longer than the test may take.
  Outcome python(const std::string& script) {
    box_.spec.cmd = {"python3", "-c", kFiles + script + "\ntime.sleep(600)\n"};
    box_.spec.time_budget_seconds = kBudgetSeconds;
    const auto run = box_.run();
    EXPECT_EQ(box_.err, "");
    return run.outcome;
  }

  static constexpr std::int64_t kBudgetSeconds = 60;
  // file() returns a descriptor of 3 MiB that have no name any more.
  static inline const std::string kFiles = R"(
import array, ctypes, mmap, os, socket, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def file():
  fd = os.open('one', os.O_RDWR | os.O_CREAT)
  os.write(fd, os.urandom(3 << 20))
  os.unlink('one')
  return fd
)";
  SandboxBox box_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Backends, Disk, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Disk, CountsWhatIsOpenAndHasNoName) {
  EXPECT_EQ(python("for i in range(4): file()"), Outcome::kDiskLimit);
}

TEST_P(Disk, CountsWhatIsOpenWhileItFits) {
  box_.spec.cmd = {"python3", "-c", kFiles + "for i in range(2): file()\ntime.sleep(0.5)"};
  const auto run = box_.run();
  EXPECT_TRUE(succeeded(run)) << name(run.outcome) << box_.err;
}

TEST_P(Disk, CountsWhatOneThreadAloneHasOpen) {
  constexpr const char* kOwnFiles = R"(
def hold():
  libc.unshare(0x400)  # CLONE_FILES
  for i in range(4): file()
  time.sleep(600)
threading.Thread(target=hold).start())";
  EXPECT_EQ(python(kOwnFiles), Outcome::kDiskLimit);
}

TEST_P(Disk, CountsWhatIsOpenInAProcessWhoseFirstThreadHasEnded) {
  constexpr const char* kLeaderEnds = R"(
def hold():
  time.sleep(0.2)
  for i in range(4): file()
  time.sleep(600)
threading.Thread(target=hold).start()
libc.syscall(60, 0)  # exit of this thread)";
  EXPECT_EQ(python(kLeaderEnds), Outcome::kDiskLimit);
}

TEST_P(Disk, CountsWhatIsOnlyMapped) {
  constexpr const char* kMapped = R"(
maps = []
for i in range(4):
  fd = file()
  maps.append(mmap.mmap(fd, 3 << 20, mmap.MAP_SHARED))
libc.close_range(3, 1 << 30, 0))";
  EXPECT_EQ(python(kMapped), Outcome::kDiskLimit);
}

// Only root can find out the length of a file that is mapped by one page. The loss of free space counts then.
// Other processes may free space meanwhile, so the script continues until it is stopped.
TEST_P(Disk, CountsWhatIsMappedByAPage) {
  constexpr const char* kMapped = R"(
maps = []
for i in range(300):
  fd = file()
  maps.append(mmap.mmap(fd, 4096, mmap.MAP_SHARED))
  libc.fsync(fd)
  libc.close_range(3, 1 << 30, 0))";
  EXPECT_EQ(python(kMapped), Outcome::kDiskLimit);
}

TEST_P(Disk, CountsWhatWaitsInASocket) {
  constexpr const char* kSent = R"(
left, right = socket.socketpair()
for i in range(300):
  fd = file()
  libc.fsync(fd)
  left.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd]))])
  os.close(fd))";
  EXPECT_EQ(python(kSent), Outcome::kDiskLimit);
}

// Deeper than the limit of the walk.
TEST_P(Disk, CountsWhatLiesDeep) {
  constexpr const char* kDeep = R"(
for i in range(300):
  os.mkdir('d')
  os.chdir('d')
for i in range(300):
  with open(str(i), 'wb') as one:
    one.write(os.urandom(3 << 20))
    os.fsync(one.fileno()))";
  EXPECT_EQ(python(kDeep), Outcome::kDiskLimit);
}

TEST_P(Disk, CountsWhatItsOwnerMayNotLookInto) {
  for (const char* mode : {"0", "0400", "0100"}) {
    SandboxBox box(GetParam());
    box.spec.disk_limit_mib = kLimitMib;
    const auto run = box.sh("mkdir -p a/b && head -c 9000000 /dev/zero > a/b/two && chmod " +
                            std::string(mode) + " a/b && chmod 0 a");
    EXPECT_EQ(run.outcome, Outcome::kDiskLimit) << mode << name(run.outcome) << box.err;
  }
}

TEST_P(Disk, LeavesAFolderAsItsOwnerWantsIt) {
  const auto run = box_.sh(
      "mkdir hidden; chmod 0 hidden; for i in $(seq 50); do sleep 0.01; stat -c %a hidden; done | sort -u");
  EXPECT_TRUE(succeeded(run)) << name(run.outcome) << box_.err;
  EXPECT_EQ(box_.out, "0\n");
}

TEST_P(Disk, CountsAPrivateCopy) {
  const std::string given = box_.temp / "given";
  ASSERT_TRUE(os::make_folders(given));
  box_.spec.copy_in = {{.src = given, .dst = "/given", .access = Access::kReadWrite}};
  EXPECT_EQ(python("open('/given/two', 'wb').write(os.urandom(9 << 20))"), Outcome::kDiskLimit);
  EXPECT_EQ(python("os.chdir('/given')\nfor i in range(4): file()"), Outcome::kDiskLimit);
}

TEST_P(Disk, CountsWhatWasThereBeforeOnlyForWhoMadeIt) {
  const std::string given = box_.temp / "given";
  ASSERT_TRUE(os::make_folders(given));
  ASSERT_TRUE(os::write_atomically(given + "/nine", std::string(9 << 20, 'x')));
  box_.spec.copy_in = {{.src = given, .dst = "/given", .access = Access::kReadWrite}};
  const auto run = box_.sh("head -c 6000000 /dev/zero > one; sleep 0.5");
  EXPECT_TRUE(succeeded(run)) << name(run.outcome) << box_.err;
}

TEST_P(Disk, CountsAFileWithManyNamesOnce) {
  const auto run =
      box_.sh("head -c 3000000 /dev/zero > one; for i in 1 2 3 4; do ln one one$i; done; sleep 0.5");
  EXPECT_TRUE(succeeded(run)) << name(run.outcome) << box_.err;
}

}  // namespace
}  // namespace pawl::sandbox
