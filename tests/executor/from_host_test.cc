// The variables, files and folders that a plan takes from the host.
#include "executor/from_host.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "os/file.h"
#include "os/process.h"
#include "support/temp_folder.h"

namespace pawl::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FromHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("HOME", (temp_ / "home").c_str(), 1);
    ASSERT_TRUE(os::make_folders(temp_ / "home/.nvm/bin"));
    ASSERT_TRUE(os::make_folders(temp_ / "tools/bin"));
    ASSERT_TRUE(os::write_atomically(temp_ / "tools/bin/tool", "tool"));
  }
  void TearDown() override {
    if (home_)
      setenv("HOME", home_->c_str(), 1);
    else
      unsetenv("HOME");
  }

  std::vector<std::string> messages_of(const std::vector<plan::Mount>& mounts) const {
    plan::Common plan;
    plan.mounts = mounts;
    std::vector<std::string> out;
    for (const auto& bad : bad_mounts(plan)) out.push_back(bad.message);
    return out;
  }

  testing::TempFolder temp_;
  const std::optional<std::string> home_ = os::environment_value("HOME");
};

plan::Mount shown(const std::string& src, const std::string& dst = "") {
  return {.src = src, .dst = dst, .at = {.line = 1, .column = 2}};
}

TEST_F(FromHostTest, ShowsAFolderAtItsOwnPlaceOrAtAnother) {
  plan::Common plan;
  plan.mounts = {shown("~/.nvm"), shown(temp_ / "tools", "/opt/tools")};
  EXPECT_TRUE(bad_mounts(plan).empty());
  const auto host = from_host(plan);
  ASSERT_TRUE(host) << host.error().message;
  ASSERT_EQ(host->mounts.size(), 2U);
  EXPECT_EQ(host->mounts[0].dst, temp_ / "home/.nvm");
  EXPECT_EQ(host->mounts[1].src, *os::absolute_path(temp_ / "tools"));
  EXPECT_EQ(host->mounts[1].dst, "/opt/tools");
  EXPECT_EQ(host->mounts[1].access, sandbox::Access::kReadOnly);
  EXPECT_EQ(host->mounts[1].content.size(), 64U);
  ASSERT_FALSE(host->env.empty());
  EXPECT_TRUE(
      host->env[0].starts_with("PATH=" + (temp_ / "home/.nvm/bin") + ":/opt/tools/bin:/usr/local/bin"))
      << host->env[0];
  const auto before = contents_of(host->mounts);
  ASSERT_TRUE(os::write_atomically(temp_ / "tools/bin/tool", "changed"));
  const auto after = contents_of(from_host(plan)->mounts);
  EXPECT_EQ(after.at(temp_ / "home/.nvm"), before.at(temp_ / "home/.nvm"));
  EXPECT_NE(after.at("/opt/tools"), before.at("/opt/tools"));
}

TEST_F(FromHostTest, RefusesWhatNoStepMaySee) {
  ASSERT_TRUE(os::write_atomically(temp_ / "tools/.env", "SECRET=1"));
  const auto messages = messages_of({shown(temp_ / "tools", "/opt/tools"), shown("~/absent"),
                                     shown("/usr/share", "/usr/x"), shown("/usr/share", "/run"),
                                     shown("/usr/share", "/pawl"), shown("/usr/share", "/pawl-acp/x")});
  EXPECT_THAT(messages, ElementsAre(HasSubstr("it has a .env in it"), HasSubstr("No such file"),
                                    HasSubstr("below a folder of the system"), HasSubstr("would hide /run"),
                                    HasSubstr("would hide /pawl"), HasSubstr("is below /pawl-acp")));
  plan::Common plan;
  plan.mounts = {shown(temp_ / "tools", "/opt/tools")};
  EXPECT_EQ(bad_mounts(plan)[0].at, (plan::Place{.line = 1, .column = 2}));
  EXPECT_EQ(from_host(plan).error().kind, ErrorKind::kInvalid);
  plan.mounts = {shown("~/absent")};
  EXPECT_EQ(from_host(plan).error().kind, ErrorKind::kNotFound);
}

TEST_F(FromHostTest, RefusesPlacesThatOverlap) {
  const std::string tools = temp_ / "tools";
  EXPECT_THAT(messages_of({shown(tools, "/opt/a"), shown(tools, "/opt/a")}),
              ElementsAre(HasSubstr("overlap")));
  EXPECT_THAT(messages_of({shown(tools, "/opt/a/b"), shown(tools, "/opt/a")}),
              ElementsAre(HasSubstr("overlap")));
  EXPECT_TRUE(messages_of({shown(tools, "/opt/a"), shown(tools, "/opt/ab")}).empty());
}

TEST_F(FromHostTest, NeedsAHomeForOneThatIsNamed) {
  unsetenv("HOME");
  EXPECT_THAT(messages_of({shown("~/.nvm")}), ElementsAre(HasSubstr("HOME does not name a folder")));
}

TEST(MountsSignal, SaysWhatChangedAndSinceWhen) {
  const sandbox::Mounts old = {{"/a", "1"}, {"/b", "1"}}, changed = {{"/a", "2"}, {"/b", "1"}};
  const SeenMounts before{.attempt_id = "fix.1", .mounts = old};
  EXPECT_FALSE(mounts_signal({}, before));
  EXPECT_FALSE(mounts_signal({old, {}, old}, before));
  EXPECT_FALSE(mounts_signal({changed, changed}, std::nullopt));
  const auto since = mounts_signal({changed, changed}, before);
  ASSERT_TRUE(since);
  EXPECT_TRUE(since->passed);
  EXPECT_EQ(text_in(since->details, "changed"), "/a");
  EXPECT_EQ(text_in(since->details, "problem"), "/a: another content than in attempt fix.1");
  const auto within = mounts_signal({{}, old, changed}, std::nullopt);
  ASSERT_TRUE(within);
  EXPECT_EQ(text_in(within->details, "problem"), "/a: changed while the attempt ran");
  const auto both = mounts_signal({old, changed}, before);
  ASSERT_TRUE(both);
  EXPECT_EQ(text_in(both->details, "changed"), "/a");
}

}  // namespace
}  // namespace pawl::executor
