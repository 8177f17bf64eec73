#include "os/held_tree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temp_folder.h"

namespace pawl::os {
namespace {

class HeldTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_folders(temp_ / "root/a/b"));
    ASSERT_TRUE(make_folders(temp_ / "outside/b"));
    ASSERT_TRUE(write_atomically(temp_ / "outside/precious", "x"));
    for (const std::string link : {"root/link", "root/a/link"})
      ASSERT_EQ(symlink((temp_ / "outside").c_str(), (temp_ / link).c_str()), 0);
    ASSERT_EQ(symlink("../a", (temp_ / "root/a/inside").c_str()), 0);
    tree_.emplace(*HeldTree::open(temp_ / "root", HeldTree::Mounts::kAny));
  }

  testing::TempFolder temp_;
  std::optional<HeldTree> tree_;
};

TEST_F(HeldTreeTest, ListsNothingBehindALinkWhereverItIs) {
  EXPECT_EQ(*tree_->list(""), (std::vector<std::string>{"a", "link"}));
  EXPECT_EQ(*tree_->list("a"), (std::vector<std::string>{"b", "inside", "link"}));
  for (const std::string path : {"link", "link/b", "a/link", "a/link/b", "a/inside", "a/inside/b"}) {
    const auto names = tree_->list(path);
    ASSERT_FALSE(names) << path;
    EXPECT_EQ(names.error().kind, ErrorKind::kDenied) << path;
  }
  EXPECT_EQ(tree_->list("nobody").error().kind, ErrorKind::kNotFound);
}

TEST_F(HeldTreeTest, LeadsNowhereAboveItsRoot) {
  for (const std::string path : {"../outside/precious", "a/../../outside/precious", "/etc/passwd"})
    EXPECT_FALSE(tree_->find(path)) << path;
  EXPECT_TRUE(tree_->find("a/../a/b"));
}

TEST_F(HeldTreeTest, MakesFoldersInItsTreeAlone) {
  EXPECT_TRUE(tree_->make_folders("a/b/c/d", 0700));
  EXPECT_TRUE(tree_->make_folders("a/b/c/d", 0700)) << "they are there";
  EXPECT_TRUE(is_folder(temp_ / "root/a/b/c/d"));
  for (const std::string path : {"link", "link/new", "a/link/new/folder", "a/inside/new"}) {
    const auto made = tree_->make_folders(path, 0700);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(made.error().kind, ErrorKind::kDenied) << path;
  }
  EXPECT_EQ(*list_folder(temp_ / "outside"), (std::vector<std::string>{"b", "precious"}));
  EXPECT_FALSE(exists(temp_ / "root/a/new"));
}

}  // namespace
}  // namespace pawl::os
