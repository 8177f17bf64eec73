// Files that change while DiskWatch examines them, and more files than it can examine.
#include "sandbox/namespace/disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "os/file.h"
#include "sandbox/namespace/processes.h"
#include "support/temp_folder.h"

namespace pawl::sandbox {
namespace {

constexpr std::int64_t kMib = 1 << 20;

class DiskTest : public ::testing::Test {
 protected:
  // Runs `change` once during each look, at another moment of the look each time.
  void is_never_over(std::int64_t limit, const std::function<void(int look)>& before,
                     const std::function<void(int look)>& change) {
    constexpr int kLooks = 200;
    DiskWatch watch({{.outside = folder_.path(), .inside = folder_.path()}}, limit);
    fill_with_8_mib();
    int over = 0;
    for (int look = 0; look < kLooks; ++look) {
      before(look);
      std::thread changes([&] {
        usleep(static_cast<useconds_t>(look) * 30);
        change(look);
      });
      over += watch.is_over(getpid()) ? 1 : 0;
      changes.join();
    }
    EXPECT_EQ(over, 0);
  }

  void fill_with_8_mib() {
    for (const char* name : {"a", "b", "a/x"}) ASSERT_TRUE(os::make_folders(folder_ / name));
    for (int i = 0; i < 2000; ++i)
      ASSERT_TRUE(
          os::UniqueFd(open((folder_ / ("a/x/" + std::to_string(i))).c_str(), O_CREAT | O_WRONLY, 0644)));
  }

  const testing::TempFolder folder_;
};

TEST_F(DiskTest, CountsAFolderThatIsMovedOnce) {
  is_never_over(
      12 * kMib, [](int) {},
      [this](int look) {
        const std::string a = folder_ / "a/x", b = folder_ / "b/x";
        EXPECT_EQ(look % 2 == 0 ? rename(a.c_str(), b.c_str()) : rename(b.c_str(), a.c_str()), 0);
      });
}

TEST_F(DiskTest, CountsAFileThatLosesItsNameOnce) {
  const std::string file = folder_ / "file";
  os::UniqueFd held;
  is_never_over(
      16 * kMib,
      [&](int) {
        ASSERT_TRUE(os::write_atomically(file, std::string(6 * kMib, 'x')));
        held = os::UniqueFd(open(file.c_str(), O_RDONLY));
      },
      [&](int) { EXPECT_EQ(unlink(file.c_str()), 0); });
}

// Files in a file system of their own, to which no other process writes.
class HiddenFiles {
 public:
  explicit HiddenFiles(const std::string& folder) : folder_(folder) {
    PAWL_CHECK(unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) == 0);
    PAWL_CHECK(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    PAWL_CHECK(mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=256m") == 0);
    PAWL_CHECK(mkdir((folder + "/mine").c_str(), 0700) == 0 &&
               mkdir((folder + "/others").c_str(), 0700) == 0);
    PAWL_CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets_.data()) == 0);
  }
  std::string mine() const { return folder_ + "/mine"; }
  void write_beside(std::int64_t mib) const {
    PAWL_CHECK(
        os::write_atomically(folder_ + "/others/x", std::string(static_cast<std::size_t>(mib * kMib), 'x'))
            .has_value());
  }
  // Sends a file without a name into a socket, where no process can examine it.
  void hide(std::int64_t mib) const {
    const std::string path = mine() + "/hidden";
    PAWL_CHECK(
        os::write_atomically(path, std::string(static_cast<std::size_t>(mib * kMib), 'x')).has_value());
    const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    PAWL_CHECK(unlink(path.c_str()) == 0);
    char byte = 'x';
    iovec text{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
    msghdr message{
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = space.data(), .msg_controllen = space.size()};
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    *header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    const int number = fd.get();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
    PAWL_CHECK(sendmsg(sockets_[0], &message, 0) == 1);
  }

 private:
  std::string folder_;
  std::array<int, 2> sockets_{};
};

// Another process that fills the disk ends no step, even when a look is incomplete.
TEST_F(DiskTest, CountsWhatTheDiskLostOnlySinceItSawAll) {
  const pid_t child = fork();
  if (child == 0) {
    const HiddenFiles files(folder_.path());
    DiskWatch watch({{.outside = files.mine(), .inside = files.mine()}}, 16 * kMib);
    files.write_beside(40);
    bool good = !watch.is_over(getpid());
    files.hide(0);
    good = good && !watch.is_over(getpid());
    files.hide(10);
    good = good && !watch.is_over(getpid());
    files.hide(10);
    _exit(good && watch.is_over(getpid()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// 65,536 descriptors are examined, and one process may not be allowed so many.
TEST_F(DiskTest, SaysWhenThereAreTooManyDescriptors) {
  constexpr int kOfEach = 17'000, kChildren = 3;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit raised{.rlim_cur = kOfEach + 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &raised), 0) << "of " << before.rlim_max;
  std::vector<os::UniqueFd> held;
  for (int i = 0; i < kOfEach; ++i) held.emplace_back(open("/dev/null", O_RDONLY));
  EXPECT_TRUE(held.back());
  std::vector<pid_t> children;
  for (int i = 0; i < kChildren; ++i) {
    EXPECT_TRUE(nameless_files_inside(getpid(), {folder_.path()}).complete);
    children.push_back(fork());
    if (children.back() == 0) {
      pause();
      _exit(0);
    }
  }
  EXPECT_FALSE(nameless_files_inside(getpid(), {folder_.path()}).complete);
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  }
  held.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(DiskTest, SaysWhenThereAreTooManyMappings) {
  const std::string file = folder_ / std::string(250, 'n');
  const os::UniqueFd fd(open(file.c_str(), O_CREAT | O_RDWR, 0644));
  ASSERT_EQ(ftruncate(fd.get(), 4096), 0);
  ASSERT_EQ(unlink(file.c_str()), 0);
  std::vector<void*> mapped;
  // 65,530 mappings are allowed (kernel: Documentation/admin-guide/sysctl/vm.rst, max_map_count). A line of
  // proc(5) for each of them has more than 340 bytes.
  for (int i = 0; i < 60'000; ++i) mapped.push_back(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd.get(), 0));
  EXPECT_NE(mapped.back(), MAP_FAILED);
  EXPECT_FALSE(nameless_files_inside(getpid(), {folder_.path()}).complete);
  for (void* at : mapped) munmap(at, 4096);
  EXPECT_TRUE(nameless_files_inside(getpid(), {folder_.path()}).complete);
}

}  // namespace
}  // namespace pawl::sandbox
