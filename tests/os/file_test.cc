#include "os/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support/temp_folder.h"

namespace pawl::os {
namespace {

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/pawl-os-test.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).has_value()); }
  std::string at(const std::string& name) const { return join(folder_, name); }
  std::string folder_;
};

TEST_F(Folder, WriteDurablyReplacesAndLeavesNoTemporary) {
  ASSERT_TRUE(write_durably("test", at("a"), "one"));
  ASSERT_TRUE(write_durably("test", at("a"), "two", 0600));
  EXPECT_EQ(read_file(at("a"), 100).value(), "two");
  struct stat info {};
  ASSERT_EQ(stat(at("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(list_folder(folder_).value(), std::vector<std::string>{"a"});
}

TEST_F(Folder, AFailedWriteLeavesTheOldContent) {
  ASSERT_TRUE(make_folders(at("taken/below")));
  const auto status = write_durably("test", at("taken"), "x");
  EXPECT_FALSE(status.has_value());
  EXPECT_TRUE(is_folder(at("taken/below")));
  EXPECT_EQ(list_folder(folder_).value().size(), 1U);
}

TEST_F(Folder, ReadFileKeepsItsLimit) {
  ASSERT_TRUE(write_atomically(at("big"), std::string(1000, 'x')));
  EXPECT_EQ(read_file(at("big"), 999).error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(read_file(at("big"), 1000)->size(), 1000U);
  EXPECT_EQ(read_tail(at("big"), 10)->size(), 10U);
  EXPECT_EQ(read_file(at("none"), 10).error().kind, ErrorKind::kNotFound);
}

TEST_F(Folder, ACopyHasTheTimesAndTheHoles) {
  constexpr off_t kSize = 1 << 30, kAt = 512 << 20;
  const std::string from = at("from"), to = at("to");
  for (const bool ends_with_data : {false, true}) {
    UniqueFd file(open(from.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    ASSERT_EQ(pwrite(file.get(), "middle", 6, kAt), 6);
    if (ends_with_data)
      ASSERT_EQ(pwrite(file.get(), "end", 3, kSize - 3), 3);
    else
      ASSERT_EQ(ftruncate(file.get(), kSize), 0);
    const timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 5}, {.tv_sec = 2000, .tv_nsec = 7}};
    ASSERT_EQ(futimens(file.get(), times), 0);
    ASSERT_TRUE(copy_file(from, to, 0755));
    struct stat made {};
    ASSERT_EQ(stat(to.c_str(), &made), 0);
    EXPECT_EQ(made.st_size, kSize);
    EXPECT_LT(made.st_blocks, 1000) << "of 512 bytes";
    EXPECT_EQ(made.st_mtim.tv_sec, 2000);
    EXPECT_EQ(made.st_mtim.tv_nsec, 7);
    EXPECT_EQ(made.st_mode & 07777U, 0755U);
    char bytes[7] = {};
    const UniqueFd copy(open(to.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(pread(copy.get(), bytes, 6, kAt), 6);
    EXPECT_EQ(std::string(bytes), "middle");
    ASSERT_EQ(pread(copy.get(), bytes, 3, kSize - 3), 3);
    EXPECT_EQ(std::string(bytes, 3), ends_with_data ? "end" : std::string(3, '\0'));
    ASSERT_EQ(unlink(to.c_str()), 0);
  }
}

TEST_F(Folder, ACopyOfLittleIsTheSameByteForByte) {
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(70'000, 'y'), std::string(9000, '\0') + "z"}) {
    ASSERT_TRUE(write_atomically(at("from"), text));
    ASSERT_TRUE(copy_file(at("from"), at("to"), 0644));
    EXPECT_EQ(*read_file(at("to"), 1 << 20), text);
    ASSERT_EQ(unlink(at("to").c_str()), 0);
  }
}

TEST_F(Folder, OnlyARegularFileIsCopied) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  ASSERT_TRUE(make_folders(at("folder")));
  for (const std::string& from : {at("pipe"), at("folder"), std::string("/dev/null")}) {
    EXPECT_FALSE(copy_file(from, at("to"), 0644)) << from;
    EXPECT_FALSE(exists(at("to"))) << from;
  }
}

TEST_F(Folder, WhatTakesThePlaceOfARemovedTreeStays) {
  constexpr int kFiles = 1000;
  ASSERT_TRUE(make_folders(at("tree")));
  for (int i = 0; i < kFiles; ++i)
    ASSERT_GE(
        UniqueFd(open(at("tree/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).get(),
        0);
  std::thread other([&] {
    while (mkdir(at("tree").c_str(), 0700) != 0) std::this_thread::yield();
  });
  EXPECT_TRUE(remove_tree_at_once(at("tree")));
  other.join();
  EXPECT_EQ(list_folder(folder_).value(), std::vector<std::string>{"tree"});
  EXPECT_TRUE(remove_tree_at_once(at("tree")));
  EXPECT_TRUE(remove_tree_at_once(at("tree"))) << "what is not there is removed";
  EXPECT_FALSE(exists(at("tree")));
}

TEST_F(Folder, RemoveTreeDoesNotFollowSymlinksAndOpensLockedFolders) {
  ASSERT_TRUE(make_folders(at("outside")));
  ASSERT_TRUE(write_atomically(at("outside/kept"), "x"));
  ASSERT_TRUE(make_folders(at("tree/locked/deep")));
  ASSERT_EQ(symlink(at("outside").c_str(), at("tree/link").c_str()), 0);
  ASSERT_EQ(chmod(at("tree/locked").c_str(), 0000), 0);
  EXPECT_TRUE(remove_tree(at("tree")));
  EXPECT_FALSE(exists(at("tree")));
  EXPECT_TRUE(exists(at("outside/kept")));
  EXPECT_TRUE(remove_tree(at("tree")).has_value()) << "what is not there is removed";
}

TEST_F(Folder, RemoveTreeNeedsFewDescriptorsHoweverDeepTheTree) {
  ASSERT_TRUE(make_folders(at("tree/moved-up-0")));
  ASSERT_TRUE(write_atomically(at("tree/moved-up-0/kept"), "its name is what a folder moved up would get"));
  pawl::testing::nest_folders(at("tree"), 5000);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 128, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto removed = remove_tree(at("tree"));
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(exists(at("tree")));
}

TEST_F(Folder, ALockHasOneHolderAndDiesWithItsProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto held = FileLock::try_lock(at("lock"));
    [[maybe_unused]] const auto written = write(ready[1], held && *held ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_FALSE(FileLock::try_lock(at("lock")).value().has_value());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::try_lock(at("lock")).value().has_value());
}

TEST(Paths, JoinAndFolderOf) {
  EXPECT_EQ(join("a", "b"), "a/b");
  EXPECT_EQ(join("a/", "b"), "a/b");
  EXPECT_EQ(join("", "b"), "b");
  EXPECT_EQ(folder_of("a/b"), "a");
  EXPECT_EQ(folder_of("/a"), "/");
  EXPECT_EQ(folder_of("/"), "/");
  EXPECT_EQ(folder_of("a"), ".");
  EXPECT_EQ(folder_of("a//b/"), "a");
}

TEST(Paths, SafeRelativePaths) {
  for (const char* good : {"a", "a/b", "a b", ".hidden", "..a/b"})
    EXPECT_TRUE(is_safe_relative_path(good)) << good;
  const std::string with_nul("a\0b", 3);
  for (const std::string& bad :
       {std::string(""), std::string("/a"), std::string("a/"), std::string("a//b"), std::string(".."),
        std::string("a/../b"), std::string("./a"), std::string("a\nb"), with_nul, std::string(5000, 'a')})
    EXPECT_FALSE(is_safe_relative_path(bad)) << bad;
}

}  // namespace
}  // namespace pawl::os
