// HOME: the sandbox user's own folder, which a caller may bring with what earlier sandboxes left in it.
#include <gtest/gtest.h>

#include <string>

#include "sandbox/inside.h"
#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

using testing::SandboxBox;

class Home : public ::testing::TestWithParam<std::string> {
 protected:
  // From now on HOME is this folder of the test.
  std::string bring_home() {
    box_.folders.home = box_.temp / "home";
    EXPECT_TRUE(os::make_folders(box_.folders.home));
    return box_.folders.home;
  }

  SandboxBox box_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Backends, Home, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Home, IsItsUsersOwnAndEmpty) {
  box_.sh("cd && pwd && stat -c '%U %G %a' . && ls -A; ls -A /home; test $HOME -ef /tmp || echo another");
  EXPECT_EQ(box_.out, "/home/agent\nagent agent 755\nagent\nanother\n") << box_.err;
}

TEST_P(Home, LiesOnDiskAndHasPrograms) {
  box_.sh(
      "mkdir -p ~/.local/bin && printf '#!/bin/sh\\necho runs' >~/.local/bin/mine && chmod 755 "
      "~/.local/bin/mine && "
      "~/.local/bin/mine && ln -s /etc ~/link && mkfifo ~/fifo");
  EXPECT_EQ(box_.out, "runs\n") << box_.err;
  EXPECT_TRUE(os::is_regular_file(box_.folders.scratch + "/home/.local/bin/mine"));
  EXPECT_TRUE(os::list_folder(box_.folders.upper)->empty()) << "it is no work";
}

TEST_P(Home, IsInMemoryWithoutAPlaceOnDisk) {
  box_.folders.scratch.clear();
  box_.sh("stat -f -c %T ~ && stat -c '%U %a' ~ && echo x >~/file && cat ~/file");
  EXPECT_EQ(box_.out, "tmpfs\nagent 755\nx\n") << box_.err;
}

TEST_P(Home, OfItsCallerHasWhatEarlierSandboxesLeft) {
  const std::string home = bring_home();
  box_.sh("echo first >~/file; mkdir -p ~/closed/below; chmod 0 ~/closed; chmod 700 ~");
  EXPECT_EQ(*os::read_file(home + "/file", 100), "first\n") << box_.err;
  box_.sh(
      "cat ~/file && stat -c '%U %a' ~ ~/file ~/closed && echo second >>~/file && rm ~/file && chmod 700 "
      "~/closed");
  EXPECT_EQ(box_.out, "first\nagent 700\nagent 644\nagent 0\n") << box_.err;
  EXPECT_EQ(*os::list_folder(home), std::vector<std::string>{"closed"});
  EXPECT_TRUE(os::remove_tree(home));
}

TEST_P(Home, OfItsCallerShowsNoOtherFile) {
  const std::string given = box_.temp / "given";
  ASSERT_TRUE(os::write_atomically(given, "given\n"));
  box_.spec.copy_in = {{.src = given, .dst = "/home/agent/.config/given"}};
  box_.sh("cat ~/.config/given");
  EXPECT_EQ(box_.out, "given\n") << "in an empty HOME no link can lead elsewhere" << box_.err;
  const std::string home = bring_home();
  const auto run = box_.sh("true");
  EXPECT_EQ(run.outcome, Outcome::kSetupFailed);
  EXPECT_TRUE(os::list_folder(home)->empty());
}

TEST_P(Home, CountsAgainstTheDiskLimit) {
  box_.spec.disk_limit_mib = 8;
  constexpr const char* kTooMuch = "head -c 9000000 /dev/zero >~/nine; sleep 600";
  EXPECT_EQ(box_.sh(kTooMuch).outcome, Outcome::kDiskLimit) << box_.err;
  EXPECT_EQ(box_.sh("exec 3>~/held; rm ~/held; head -c 9000000 /dev/zero >&3; sleep 600").outcome,
            Outcome::kDiskLimit)
      << box_.err;
  bring_home();
  EXPECT_EQ(box_.sh(kTooMuch).outcome, Outcome::kDiskLimit) << box_.err;
}

// Otherwise each execution of an agent could add as much as the limit.
TEST_P(Home, CountsWithWhatEarlierSandboxesLeft) {
  const std::string home = bring_home();
  box_.spec.disk_limit_mib = 8;
  const auto first = box_.sh("head -c 5000000 /dev/zero >~/five; sleep 0.5");
  EXPECT_TRUE(succeeded(first)) << name(first.outcome) << box_.err;
  EXPECT_EQ(box_.sh("head -c 5000000 /dev/zero >~/more; sleep 600").outcome, Outcome::kDiskLimit) << box_.err;
  ASSERT_TRUE(os::remove_tree(home + "/more"));
  const auto second = box_.sh("head -c 2000000 /dev/zero >~/two; sleep 0.5");
  EXPECT_TRUE(succeeded(second)) << name(second.outcome) << box_.err;
}

}  // namespace
}  // namespace pawl::sandbox
