// The promises of the namespace backend beside the contract of every backend: how it makes a workspace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "os/file.h"
#include "sandbox/namespace/namespace_backend.h"
#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

TEST(NamespaceWorkspace, IsCopiedWhereOverlayIsNotToBeHad) {
  testing::SandboxBox box{std::string(kNamespaceBackend)};
  ASSERT_TRUE(os::make_folders(box.temp / "top"));
  ASSERT_TRUE(os::write_atomically(box.folders.lower[0] + "/a", "base"));
  ASSERT_TRUE(os::write_atomically(box.folders.lower[0] + "/b", "base"));
  ASSERT_TRUE(os::write_atomically(box.temp / "top/b", "top"));
  const std::string folder = box.folders.lower[0] + "/dir", link = folder + "/link";
  ASSERT_TRUE(os::make_folders(folder));
  ASSERT_EQ(symlink("../a", link.c_str()), 0);
  const timespec then[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  for (const auto& path : {link, folder})
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), then, AT_SYMLINK_NOFOLLOW), 0);
  box.folders.lower.insert(box.folders.lower.begin(), box.temp / "top");
  // overlayfs refuses a work folder that is a file.
  ASSERT_TRUE(os::remove_tree(box.folders.work));
  ASSERT_TRUE(os::write_atomically(box.folders.work, ""));
  const auto run = box.sh("cat a b; stat -c %Y dir dir/link; echo new > c");
  ASSERT_TRUE(succeeded(run)) << run.reason;
  EXPECT_TRUE(box.copied);
  EXPECT_THAT(run.degraded, ::testing::Contains("overlay"));
  EXPECT_EQ(box.out, "basetop1000\n1000\n");
  EXPECT_EQ(*os::read_file(box.folders.upper + "/c", 100), "new\n");
}

}  // namespace
}  // namespace pawl::sandbox
