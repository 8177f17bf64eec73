// A second look at a folder: it finds each change, and reads only files that may have changed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "os/file.h"
#include "support/temp_folder.h"
#include "workspace/repository.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

class FolderLookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sh("mkdir -p " + source_ + "/pad " + source_ + "/a " + source_ + "/c && cd " + source_ +
       " && for i in $(seq 200); do echo $i > pad/$i; done; echo top > top; echo 1 > a/one; echo 4 > c/four; "
       "ln -s top link && find . -exec touch -h -d 2020-01-01 {} +");
    take();
  }

  std::string take() {
    const auto base = workspaces_.snapshot_directory(source_);
    EXPECT_TRUE(base) << base.error().message;
    return base ? base->base_id : "";
  }

  std::string object(const std::string& path) { return temp_ / ("pawl/objects/" + path); }

  TempFolder temp_;
  const std::string source_ = temp_ / "source";
  Workspaces workspaces_ = *Workspaces::open(temp_ / "pawl");
};

// Each change is in a folder whose other entries are as they were, and are remembered with sure times.
TEST_F(FolderLookTest, AChangeAmongEntriesThatAreAsRememberedIsFoundAndTheyAreNotReadAgain) {
  constexpr std::int64_t kSomeFiles = 50;  // The folder has 203.
  sh("sleep 2.1");                         // Recent writes are looked at again.
  take();
  for (const std::string script : {"true",
                                   "echo 2 > pad/7",
                                   "echo 3 > pad/7 && touch -d 2020-01-01 pad/7",
                                   "rm pad/8",
                                   "rm pad/1 pad/200",
                                   "echo 0 > pad/0 && echo z > pad/zz",
                                   "mv pad/9 pad/9a",
                                   "mv pad/10 a/10",
                                   "mkdir pad/100d a/new",
                                   "chmod 700 pad/11",
                                   "chmod 700 pad a",
                                   "touch -d 2001-01-01 pad/12",
                                   "ln -sf top pad/13",
                                   "rm pad/13 && ln -s link pad/13",
                                   "rm -r c && ln -s a c",
                                   "rm c && mkdir c && echo 4 > c/four",
                                   "ln pad/14 pad/14a",
                                   "mkfifo pad/pipe",
                                   "rm pad/15 && mkdir pad/15",
                                   "mkdir pad/.git && touch pad/.git/x",
                                   "truncate -s 1 pad/16 && touch -d 2020-01-01 pad/16",
                                   "echo 8 > pad/16",
                                   "mv a b",
                                   "mv b a",
                                   "rm -r a c"}) {
    SCOPED_TRACE(script);
    sh("cd " + source_ + " && " + script);
    const std::int64_t before = workspaces_.so_far().files;
    const auto base = take();
    EXPECT_LT(workspaces_.so_far().files - before, kSomeFiles);
    EXPECT_EQ(base, *workspaces_.content_id(source_));
  }
}

TEST_F(FolderLookTest, StampsAreRememberedAnewOnlyWhenTheyDiffer) {
  const auto at = [&] { return object("folders/" + os::list_folder(object("folders"))->front()); };
  const auto inode_of = [](const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_ino;
  };
  sh("chmod 700 " + source_ + "/a && sleep 2.1");
  take();
  const auto kept = inode_of(at());
  take();
  EXPECT_EQ(inode_of(at()), kept);
  sh("chmod 755 " + source_ + "/a && chmod 700 " + source_ + "/a");
  const auto base = take();
  EXPECT_NE(inode_of(at()), kept);
  EXPECT_EQ(base, *workspaces_.content_id(source_));
}

}  // namespace
}  // namespace pawl::workspace
