// Each change below a shown path gives another content.
#include "sandbox/shown_content.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "support/temp_folder.h"

namespace pawl::sandbox {
namespace {

constexpr std::uint64_t kPlenty = 1 << 20;

std::string content(const std::string& path, std::uint64_t left = kPlenty) {
  return shown_content(path, left).value_or("");
}

void set_time(const std::string& path, std::int64_t seconds) {
  const timespec times[2] = {{.tv_sec = seconds, .tv_nsec = 0}, {.tv_sec = seconds, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

void write_old(const std::string& path, const std::string& bytes) {
  ASSERT_TRUE(os::write_atomically(path, bytes));
  set_time(path, 1000);
}

class ShownContentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(os::make_folders(root_ + "/bin"));
    write_old(root_ + "/bin/tool", "one");
    write_old(root_ + "/notes", "abc");
    ASSERT_EQ(symlink("bin/tool", (root_ + "/link").c_str()), 0);
    before_ = content(root_);
    ASSERT_EQ(before_.size(), 64U);
  }

  testing::TempFolder temp_;
  const std::string root_ = temp_ / "shown";
  std::string before_;
};

TEST_F(ShownContentTest, IsTheSameWhileNothingChanges) {
  EXPECT_EQ(content(root_), before_);
  ASSERT_TRUE(os::make_folders(temp_ / "other/bin"));
  EXPECT_NE(content(temp_ / "other"), before_);
  EXPECT_EQ(content(root_ + "/notes"), content(root_ + "/notes")) << "of one file";
}

TEST_F(ShownContentTest, SeesWhatChanged) {
  const auto expect_changed_by = [&](const char* what) { EXPECT_NE(content(root_), before_) << what; };
  write_old(root_ + "/notes", "abd");
  expect_changed_by("other bytes of the same size and time");
  write_old(root_ + "/notes", "abc");
  EXPECT_EQ(content(root_), before_);
  set_time(root_ + "/notes", 1001);
  expect_changed_by("another time");
  set_time(root_ + "/notes", 1000);
  ASSERT_EQ(chmod((root_ + "/notes").c_str(), 0755), 0);
  expect_changed_by("other permissions");
  ASSERT_EQ(chmod((root_ + "/notes").c_str(), 0644), 0);
  EXPECT_EQ(content(root_), before_);
  ASSERT_EQ(rename((root_ + "/notes").c_str(), (root_ + "/note").c_str()), 0);
  expect_changed_by("another name");
  ASSERT_EQ(rename((root_ + "/note").c_str(), (root_ + "/notes").c_str()), 0);
  ASSERT_EQ(unlink((root_ + "/link").c_str()), 0);
  expect_changed_by("a link that is gone");
  ASSERT_EQ(symlink("notes", (root_ + "/link").c_str()), 0);
  expect_changed_by("another target");
}

TEST_F(ShownContentTest, ReadsNoMoreThanItMay) {
  std::uint64_t left = 5;  // bin/tool comes first, and notes no longer fits
  const std::string named = shown_content(root_, left).value_or("");
  EXPECT_EQ(left, 2U);
  write_old(root_ + "/notes", "abd");
  EXPECT_EQ(content(root_, 5), named) << "its size and time are the same";
  write_old(root_ + "/bin/tool", "two");
  EXPECT_NE(content(root_, 5), named);
  write_old(root_ + "/bin/tool", "one");
  set_time(root_ + "/notes", 1001);
  EXPECT_NE(content(root_, 5), named);
}

}  // namespace
}  // namespace pawl::sandbox
