#include "os/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_folder.h"

namespace pawl::os {
namespace {

TEST(TemporaryFolder, IsGoneWithItsMakerAndSweptWhenThatWasKilled) {
  testing::TempFolder temp;
  const std::string stem = temp / "stem";
  std::string path;
  {
    const auto folder = TemporaryFolder::make(stem);
    ASSERT_TRUE(folder);
    path = folder->path();
    ASSERT_TRUE(write_atomically(join(path, "file"), "x"));
    if (const pid_t killed = fork(); killed == 0) {
      const auto left = TemporaryFolder::make(stem);
      _exit(left && make_folders(join(left->path(), "a/b")) ? 7 : 1);  // no destructor runs
    } else {
      int status = 0;
      waitpid(killed, &status, 0);
      ASSERT_EQ(WEXITSTATUS(status), 7);
    }
    const auto two = *list_folder(temp.path());
    ASSERT_EQ(two.size(), 2U);
    for (const auto& name : two) EXPECT_EQ(is_in_use(temp / name), temp / name == path) << name;
    sweep_temporary_folders(stem);
    EXPECT_EQ(*list_folder(temp.path()), std::vector<std::string>{path.substr(path.rfind('/') + 1)})
        << "it lives";
    EXPECT_TRUE(exists(join(path, "file")));
  }
  EXPECT_FALSE(exists(path));
}

TEST(TemporaryFolder, IsHeldByWhoeverHasItsLock) {
  testing::TempFolder temp;
  const std::string stem = temp / "stem";
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t heir = fork();
  if (heir == 0) {
    close(go[1]);
    const auto made = TemporaryFolder::make(stem);
    char byte = 0;
    if (fork() == 0) _exit(made && read(go[0], &byte, 1) == 0 ? 0 : 1);  // until the test closes the pipe
    _exit(0);
  }
  waitpid(heir, nullptr, 0);
  sweep_temporary_folders(stem);
  EXPECT_EQ(list_folder(temp.path())->size(), 1U);
  close(go[0]);
  close(go[1]);
  for (int i = 0; i < 5000 && !list_folder(temp.path())->empty(); ++i) {
    sweep_temporary_folders(stem);
    usleep(1000);
  }
  EXPECT_EQ(*list_folder(temp.path()), std::vector<std::string>());
}

TEST(TemporaryFolder, StaysWhereItWasRenamedTo) {
  testing::TempFolder temp;
  {
    auto folder = TemporaryFolder::make(temp / "stem");
    ASSERT_TRUE(folder);
    ASSERT_TRUE(write_atomically(join(folder->path(), "file"), "x"));
    ASSERT_EQ(rename(folder->path().c_str(), (temp / "stem.kept12").c_str()), 0);
    EXPECT_TRUE(is_in_use(temp / "stem.kept12"));
    // Another process may make a folder of the old name.
    ASSERT_TRUE(make_folders(join(folder->path(), "of another")));
    folder->release();
  }
  EXPECT_EQ(list_folder(temp.path())->size(), 2U);
  EXPECT_TRUE(exists(temp / "stem.kept12/file"));
}

TEST(TemporaryFolder, IsItsOwnersWhateverTheUmask) {
  testing::TempFolder temp;
  const mode_t before = umask(0777);
  const auto folder = TemporaryFolder::make(temp / "stem");
  umask(before);
  ASSERT_TRUE(folder);
  struct stat status {};
  ASSERT_EQ(stat(folder->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

TEST(TemporaryFolder, NothingElseIsSwept) {
  testing::TempFolder temp;
  ASSERT_TRUE(make_folders(temp / "target/precious"));
  for (const char* name : {"stem", "stem.abc", "stem.abcdefg", "other.abcdef"})
    ASSERT_TRUE(make_folders(temp / name));
  ASSERT_TRUE(write_atomically(temp / "stem.file12", "x"));
  ASSERT_EQ(symlink("target", (temp / "stem.link12").c_str()), 0);
  const auto names = *list_folder(temp.path());
  for (const auto& name : names) EXPECT_FALSE(is_in_use(temp / name)) << name;
  sweep_temporary_folders(temp / "stem");
  EXPECT_EQ(list_folder(temp.path())->size(), 7U);
  EXPECT_TRUE(exists(temp / "target/precious"));
  sweep_temporary_folders(temp / "no/such/stem");
}

}  // namespace
}  // namespace pawl::os
