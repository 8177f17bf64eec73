// The files of a plan's patterns that a step changed.
#include <gtest/gtest.h>

#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

using Paths = std::vector<std::string>;

class ChangedFilesTest : public WorkspaceTest {
 protected:
  ChangedFilesTest() {
    sh("mkdir -p " + lower_ + "/tests/deep " + lower_ + "/src && cd " + lower_ +
       " && echo one > tests/a && echo two > tests/deep/b && echo x > src/c && ln -s a tests/link");
  }
  // Takes what a step's script leaves, in overlayfs form.
  Paths changed(const std::string& script, const Paths& patterns = {"tests/**"}) {
    const std::string upper = temp_ / "held-upper";
    sh("rm -rf " + upper + " && mkdir " + upper + " && cd " + upper + " && " + script);
    const auto found = changed_files(upper, {lower_}, patterns);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Paths{"error"});
  }
  const std::string lower_ = temp_ / "held-lower";
};

TEST_F(ChangedFilesTest, OnlyChangedOrRemovedFilesOfThePatternsCount) {
  EXPECT_EQ(changed("mkdir tests src && echo 1ne > tests/a && echo y > src/c && echo n > tests/new"),
            Paths{"tests/a"});
  EXPECT_EQ(
      changed("mkdir -p tests/deep && echo one > tests/a && echo two > tests/deep/b && ln -s a tests/link"),
      Paths())
      << "the same content";
  EXPECT_EQ(changed("mkdir tests && echo one > tests/a && chmod 755 tests/a && touch -d @1 tests/a"),
            Paths());
  EXPECT_EQ(changed("mkdir tests && ln -s b tests/link && ln -s x tests/a"),
            (Paths{"tests/a", "tests/link"}));
  EXPECT_EQ(changed("mkdir tests && mkdir tests/a"), Paths{"tests/a"});
  EXPECT_EQ(changed("mkdir tests && mkfifo tests/a"), Paths{"tests/a"});
  EXPECT_EQ(changed("echo x > tests"), (Paths{"tests/a", "tests/deep/b", "tests/link"}));
  EXPECT_EQ(changed("mkdir src && echo y > src/c", {"*/c"}), Paths{"src/c"});
  EXPECT_EQ(changed("mkdir src && echo y > src/c", {"src"}), Paths{"src/c"});
}

TEST_F(ChangedFilesTest, WhiteoutsAndOpaqueFoldersRemove) {
  EXPECT_EQ(changed("mkdir tests && mknod tests/a c 0 0"), Paths{"tests/a"});
  EXPECT_EQ(changed("mknod tests c 0 0"), (Paths{"tests/a", "tests/deep/b", "tests/link"}));
  EXPECT_EQ(changed("mkdir -p tests/deep && python3 -c \"import os; os.setxattr('tests', "
                    "'user.overlay.opaque', b'y')\" && echo two > tests/deep/b"),
            (Paths{"tests/a", "tests/link"}));
}

TEST_F(ChangedFilesTest, RightsThatAStepTookAreGivenBack) {
  EXPECT_EQ(changed("mkdir tests && echo x > tests/a && chmod 0 tests/a tests ."), Paths{"tests/a"});
}

}  // namespace
}  // namespace pawl::workspace
