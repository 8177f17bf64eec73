#include "workspace/tracked.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

// Compares the files in git's index, as git lists them, with the bytes of the index.
class TrackedTest : public ::testing::Test {
 protected:
  static constexpr int kFiles = 400;

  std::string path(int number) const { return tree_ + "/" + name(number); }
  // These names give a bitmap of removed entries both runs and literal words.
  static std::string name(int number) {
    return "folder" + std::to_string(number / 150) + "/file" + std::to_string(1000 + number);
  }

  void make(const std::string& objects) {
    tree_ = temp_ / objects;
    sh("git init -q --object-format=" + objects + " " + tree_);
    std::string script = "cd " + tree_ + " && mkdir folder0 folder1 folder2";
    for (int i = 0; i < kFiles; ++i) script += " && : >" + name(i);
    sh(script + " && git add -A");
  }

  void expect_as_git_says(const std::string& what) {
    std::set<std::string> tracked;
    std::istringstream lines(sh("cd " + tree_ + " && git ls-files"));
    for (std::string line; std::getline(lines, line);) tracked.insert(line);
    for (int i = 0; i < kFiles; ++i) {
      const auto index = index_that_tracks(path(i));
      ASSERT_TRUE(index) << what << ": " << index.error().message;
      EXPECT_EQ(!index->empty(), tracked.contains(name(i))) << what << ": " << name(i);
    }
    for (const std::string folder : {"folder0", "folder1", "folder2"}) {
      const auto first = tracked.lower_bound(folder + "/");
      const bool has_some = first != tracked.end() && first->starts_with(folder + "/");
      EXPECT_EQ(!index_that_tracks(tree_ + "/" + folder)->empty(), has_some) << what << ": " << folder;
    }
  }

  TempFolder temp_;
  std::string tree_;
  std::mt19937 random_{7};
};

TEST_F(TrackedTest, EachEntryOfEachFormatIsAsGitSays) {
  for (const std::string objects : {"sha1", "sha256"}) {
    make(objects);
    expect_as_git_says(objects + ", added");
    for (const std::string version : {"2", "4"})
      for (const std::string split : {"--no-split-index", "--split-index"}) {
        const std::string what = objects + ", version " + version + ", " + split;
        const std::string git = "cd " + tree_ + " && git -c splitIndex.maxPercentChange=100 ";
        sh(git + "add -A && git update-index --index-version " + version + " && git update-index " + split);
        expect_as_git_says(what);
        const int first = static_cast<int>(random_() % kFiles);
        std::string gone;
        for (int i = 0; i < kFiles; ++i)
          if ((i >= first && i < first + 150) || random_() % 5 == 0) gone += " " + name(i);
        sh(git + "rm -q --cached" + gone);
        expect_as_git_says(what + ", some gone");
        sh(git + "rm -r -q --cached folder1 --ignore-unmatch");
        expect_as_git_says(what + ", a folder gone");
      }
  }
}

TEST_F(TrackedTest, NoBytesOfAnIndexLeadAnywhere) {
  make("sha1");
  for (const std::string how :
       {"git update-index --index-version 4", "git update-index --index-version 2 --split-index"}) {
    sh("cd " + tree_ + " && " + how + " && git rm -q --cached " + name(3) + " && git add " + name(3));
    const std::string index = tree_ + "/.git/index", whole = *os::read_file(index, 1 << 20);
    for (int i = 0; i < 2000; ++i) {
      std::string bytes = whole.substr(0, i % 2 == 0 ? whole.size() : random_() % whole.size());
      for (int changes = i % 4; changes > 0 && !bytes.empty(); --changes)
        bytes[random_() % bytes.size()] = static_cast<char>(random_());
      ASSERT_TRUE(os::write_atomically(index, bytes));
      const auto found = index_that_tracks(path(7));
      EXPECT_TRUE(found || found.error().kind == ErrorKind::kCorrupt ||
                  found.error().kind == ErrorKind::kNotFound)
          << found.error().message;
    }
    ASSERT_TRUE(os::write_atomically(index, whole));
  }
}

}  // namespace
}  // namespace pawl::workspace
