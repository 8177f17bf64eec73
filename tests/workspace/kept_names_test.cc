// Names that no collected tree has.
#include <gtest/gtest.h>

#include <algorithm>

#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

// Each twin is a name of .git, .pawl or .gitmodules to some file system, and to git.
TEST_F(WorkspaceTest, NoTwinOfAFolderThatMeansSomethingIsKept) {
  const std::vector<std::string> twins = {".Git",
                                          ".git.",
                                          ".git ",
                                          ".git. .",
                                          ".git:x",
                                          ".git::$INDEX_ALLOCATION",
                                          ".git\\hooks",
                                          "a\\.GIT",
                                          "git~1",
                                          "GIT~1",
                                          "git~1.",
                                          "GIT~2:x",
                                          ".g\u200Cit",
                                          ".gi\u206At",
                                          "\uFEFF.git\u202E",
                                          ".PAWL",
                                          ".pawl ",
                                          "Pawl~1",
                                          ".GitModules",
                                          ".gitmodules.",
                                          ".gitmodules:x",
                                          "gitmod~4",
                                          "GI7EBA~1",
                                          "gi7eb~12",
                                          ".gitm\u200Dodules",
                                          "b\\.gitmodules"};
  std::vector<std::string> others = {"..git",  ".git-hooks", ".gitignore", ".gitmodules", ".gitmodulesx",
                                     ".pawls", ".\u00E9git", "g~1",        "git",         "git x",
                                     "git~",   "git~0",      "git~1x",     "git~x",       "gitmodx~1",
                                     "pawl",   "x.git",      "x\\git"};
  std::string script;
  for (const auto& name : twins) script += "echo x > '" + name + "';";
  for (const auto& name : others) script += "echo x > '" + name + "';";
  std::ranges::sort(others);
  EXPECT_EQ(paths_of(layer(script)), others);
  for (const auto& name : twins) EXPECT_TRUE(std::ranges::find(refused_, name) != refused_.end()) << name;
}

// git refuses a tree with such a link, so nobody could check out a commit of it.
TEST_F(WorkspaceTest, NoLinkNamedGitmodulesIsKept) {
  EXPECT_EQ(
      paths_of(layer("mkdir d; echo x > d/a; ln -s a d/.gitmodules; ln -s text .gitmodules; ln -s a d/b")),
      (std::vector<std::string>{"d", "d/a", "d/b"}));
  EXPECT_EQ(refused_, (std::vector<std::string>{".gitmodules", "d/.gitmodules"}));
}

}  // namespace
}  // namespace pawl::workspace
