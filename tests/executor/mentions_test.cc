// The files of a shared folder that /plan shows, selected by the commands of a plan.
#include "executor/mentions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace pawl::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Mentions : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(os::make_folders(os::folder_of(folder_ / path)));
    std::ofstream(folder_ / path) << text;
  }

  std::set<std::string> named_by(const std::string& text) {
    auto found = mentioned(folder_.path(), {text}, true);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::set<std::string>{});
  }

  testing::TempFolder folder_;
};

TEST_F(Mentions, AFileHasOneSpelling) {
  write("a/b/c.sh", "true\n");
  EXPECT_THAT(named_by("sh /plan/a/b/c.sh"), ElementsAre("a/b/c.sh"));
  EXPECT_THAT(named_by("sh /plan/a/./b/c.sh /plan/a//b/../b/c.sh"), ElementsAre("a/b/c.sh"));
  EXPECT_THAT(named_by("ls /plan/a /plan/a/ /plan/./a/b"), ElementsAre("a/b/c.sh"));
}

TEST_F(Mentions, WhatLeadsOutOfTheFolderIsNotNamed) {
  write("inner/a.sh", "sh ../../outside.sh ../b.sh\n");
  write("b.sh", "true\n");
  EXPECT_THAT(named_by("sh /plan/../outside.sh"), IsEmpty());
  EXPECT_THAT(named_by("sh /plan/inner/a.sh"), ElementsAre("b.sh", "inner/a.sh"));
}

TEST_F(Mentions, WhatOnlyAShellKnowsIsAnyName) {
  for (const char* variable : {"$1", "$@", "$*", "$name", "${name}", "${name%.*}", "$(cat names)"}) {
    const std::string named = std::string("sh /plan/checks/") + variable;
    EXPECT_THAT(patterns_in(named + ".sh"), ElementsAre("checks/*.sh")) << variable;
    EXPECT_THAT(patterns_in(named), ElementsAre("checks/*/**", "checks/*")) << variable;
  }
}

TEST_F(Mentions, ScriptsNameOthersByWordsAndPackagesAreWhole) {
  write("main.py", "import common\nfrom pkg import thing\n");
  write("common.py", "open('/plan/data/table.csv')\n");
  write("data/table.csv", "1\n");
  write("pkg/__init__.py", "");
  write("pkg/thing.py", "import late\n");
  write("late.py", "");
  write("other.py", "");
  EXPECT_THAT(named_by("python3 /plan/main.py"), ElementsAre("common.py", "data/table.csv", "late.py",
                                                             "main.py", "pkg/__init__.py", "pkg/thing.py"));
}

// Regression: the node_modules of an agent, 7,000 files with millions of words, took nine minutes.
TEST_F(Mentions, AFolderOfManyFilesIsNotSearchedForWords) {
  std::string words;
  for (int i = 0; i < 20'000; ++i) words += "w" + std::to_string(i) + " ";
  for (int i = 0; i < 300; ++i) write("lib/f" + std::to_string(i), words + "other.sh ./f1 .//f2\n");
  write("other.sh", "");
  write("lib/named", "sh /plan/third.sh\n");
  write("third.sh", "");
  const auto found = named_by("cp -r /plan/lib .");
  EXPECT_EQ(found.size(), 302U);
  EXPECT_FALSE(found.contains("other.sh"));
  EXPECT_TRUE(found.contains("third.sh"));
}

TEST_F(Mentions, TooManyFilesAreAnErrorThatSaysWhatToDo) {
  ASSERT_TRUE(os::make_folders(folder_ / "many"));
  for (int i = 0; i < 20'001; ++i) std::ofstream(folder_ / ("many/" + std::to_string(i)));
  const auto found = mentioned(folder_.path(), {"ls /plan/many"}, true);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kExhausted);
  EXPECT_THAT(found.error().message, ::testing::HasSubstr("`files`"));
}

}  // namespace
}  // namespace pawl::executor
