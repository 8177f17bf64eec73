// The holder of a file's lock.
#include "os/locks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/file.h"
#include "support/temp_folder.h"

namespace pawl::os {
namespace {

class LocksTest : public ::testing::Test {
 protected:
  testing::TempFolder temp_;
  const std::string path_ = temp_ / "lock";
};

TEST_F(LocksTest, WhoHasAFileAloneIsNamed) {
  EXPECT_EQ(lock_holder(path_, LockKind::kFlock), std::nullopt) << "there is no such file";
  {
    const auto lock = FileLock::lock(path_);
    const auto holder = lock_holder(path_, LockKind::kFlock);
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->pid, getpid());
    EXPECT_EQ(holder->program, "os_test");
    EXPECT_EQ(to_text(*holder), "process " + std::to_string(getpid()) + " (os_test)");
    EXPECT_EQ(lock_holder(path_, LockKind::kPosix), std::nullopt);
  }
  EXPECT_EQ(lock_holder(path_, LockKind::kFlock), std::nullopt);
  const auto shared = FileLock::lock_shared(path_);
  EXPECT_EQ(lock_holder(path_, LockKind::kFlock), std::nullopt) << "others may have it, too";
}

TEST_F(LocksTest, OfAPosixLockItsBytesCount) {
  ASSERT_TRUE(write_atomically(path_, ""));
  const UniqueFd fd(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 120;
  lock.l_len = 1;
  ASSERT_EQ(fcntl(fd.get(), F_SETLK, &lock), 0);
  EXPECT_EQ(lock_holder(path_, LockKind::kPosix, 119), std::nullopt);
  ASSERT_TRUE(lock_holder(path_, LockKind::kPosix, 120));
  EXPECT_EQ(lock_holder(path_, LockKind::kPosix, 120)->pid, getpid());
  EXPECT_EQ(lock_holder(path_, LockKind::kPosix, 121), std::nullopt);
}

TEST_F(LocksTest, OneThatIsNotSeenHasNoNumber) {
  EXPECT_EQ(to_text({}), "a process that is not seen from here");
  EXPECT_EQ(to_text({.pid = 7}), "process 7");
}

}  // namespace
}  // namespace pawl::os
