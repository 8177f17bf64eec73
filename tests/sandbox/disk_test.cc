// What changes while it is looked at, and what is too much to look at.
#include "sandbox/namespace/disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "os/file.h"
#include "sandbox/namespace/inside.h"
#include "support/temp_folder.h"

namespace pawl::sandbox {
namespace {

constexpr std::int64_t kMib = 1 << 20;

class DiskTest : public ::testing::Test {
 protected:
  // Each look while `change` happens once, at another moment of it.
  void is_never_over(std::int64_t limit, const std::function<void(int look)>& before,
                     const std::function<void(int look)>& change) {
    constexpr int kLooks = 200;
    const DiskWatch watch({{.outside = folder_.path(), .inside = folder_.path()}}, limit);
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

// 65,536 are looked at: more than one process may be allowed.
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
  // 65,530 are allowed (kernel: Documentation/admin-guide/sysctl/vm.rst, max_map_count); a line of proc(5)
  // has more than 340 bytes of each.
  for (int i = 0; i < 60'000; ++i) mapped.push_back(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd.get(), 0));
  EXPECT_NE(mapped.back(), MAP_FAILED);
  EXPECT_FALSE(nameless_files_inside(getpid(), {folder_.path()}).complete);
  for (void* at : mapped) munmap(at, 4096);
  EXPECT_TRUE(nameless_files_inside(getpid(), {folder_.path()}).complete);
}

}  // namespace
}  // namespace pawl::sandbox
