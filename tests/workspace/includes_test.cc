// Configuration from [include] and [includeIf]: git itself is the reference for its meaning.
#include "workspace/commits.h"
#include "workspace/own_mounts.h"

namespace pawl::workspace {
namespace {

class IncludesTest : public CommitsTest {
 protected:
  void SetUp() override {
    CommitsTest::SetUp();
    git("git remote add origin https://example.org/team/repo.git && cp .git/config ../own");
    write("crlf", "[core]\n\tautocrlf = true\n");
    write("nested", "[include]\n\tpath = crlf\n");
    write("attributes", "*.txt text\n");
    write("by-attributes", "[core]\n\tattributesFile = ~/attributes\n");
    write("lfs", "[filter \"lfs\"]\n\tclean = " + (temp_ / "clean") + "\n\tsmudge = cat\n");
    write("clean",
          "#!/bin/sh\nf=$(mktemp)\ncat >$f\nprintf 'version https://git-lfs.github.com/spec/v1\\noid "
          "sha256:%s\\nsize %s\\n' $(sha256sum <$f | cut -c1-64) $(stat -c %s $f)\nrm $f\n");
    sh("chmod +x " + (temp_ / "clean"));
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(os::write_atomically(temp_ / name, text));
  }

  // Compares the tree of our commit with the tree that `git add` makes in the same folder.
  void expect_as_git(const std::string& person, const std::string& own, const std::string& differs) {
    SCOPED_TRACE(person + own);
    write("gitconfig", person);
    git("cp ../own .git/config && printf '%s' '" + own + "' >> .git/config");
    const auto made = applied(layer_);
    ASSERT_NE(made, "") << refusal_;
    EXPECT_EQ(tree_of(made),
              git(script_ +
                  " && git add -A 2>/dev/null && git write-tree && git reset -q --hard && git clean -qfd"));
    EXPECT_EQ(git("git diff --name-only " + made + " " + raw_), differs);
    git("git branch -q -D $(git branch --list 'pawl/*')");
  }

  // Takes the folder and makes the layer, without any configuration.
  void take(const std::string& script) {
    take_folder();
    script_ = script;
    layer_ = layer(script);
    raw_ = applied(layer_);
    git("git branch -q -D $(git branch --list 'pawl/*')");
  }

  std::string script_, layer_, raw_;
};

TEST_F(IncludesTest, AreReadAsGitReadsThem) {
  take("printf 'a\\r\\n' > new.txt");
  const std::string path = "\tpath = " + (temp_ / "crlf") + "\n";
  const auto when = [&](const std::string& condition) {
    return "[includeIf \"" + condition + "\"]\n" + path;
  };
  for (const std::string& holds :
       {"[include]\n" + path, std::string("[include]\n\tpath = crlf\n"),
        std::string("[include]\n\tpath = ~/crlf\n"), std::string("[include]\n\tpath = nested\n"),
        std::string("[include]\n\tpath = ~/by-attributes\n"),
        std::string("[include]\n\tpath = not-there\n\tpath = ~/not-there\n\tpath = crlf\n"),
        std::string("[core]\n\tautocrlf = false\n[include]\n\tpath = ~/crlf\n"),
        when("gitdir:" + source_ + "/"), when("gitdir:" + source_ + "/.git"), when("gitdir:~/"),
        when("gitdir:~/source/"), when("gitdir:source/"), when("gitdir:./source/"),
        when("gitdir:**/s*e/.git"), when("gitdir/i:~/SOURCE/"), when("onbranch:main"), when("onbranch:m*"),
        when("hasconfig:remote.*.url:https://example.org/**"),
        when("hasconfig:remote.*.url:https://*/team/*.git")})
    expect_as_git(holds, "", "new.txt");
  for (const std::string& holds_not :
       {when("gitdir:~/elsewhere/"), when("gitdir:~/SOURCE/"), when("gitdir:~/sourc"), when("onbranch:other"),
        when("onbranch:main/"), when("hasconfig:remote.*.url:https://example.com/**"),
        when("hasconfig:remote.*.url:https://example.org/*"), when("something:new"),
        std::string("[include]\n\tpath = ~/crlf\n[core]\n\tautocrlf = false\n")})
    expect_as_git(holds_not, "", "");
  // The repository's own configuration wins over a person's.
  for (const std::string& own :
       {std::string("[include]\n\tpath = ~/crlf\n"), std::string("[include]\n\tpath = ../../crlf\n"),
        when("gitdir:~/source/"), when("onbranch:main")})
    expect_as_git("[core]\n\tautocrlf = false\n", own, "new.txt");
  expect_as_git("[include]\n\tpath = ~/crlf\n", "[core]\n\tautocrlf = false\n", "");
  expect_as_git("", "[core]\n\tautocrlf = true\n[include]\n\tpath = ~/not-there\n", "new.txt");
}

TEST_F(IncludesTest, OfAFilterAreSeenByAllWhoAskForIt) {
  git("printf '*.png filter=lfs -text\\n*.loud filter=shout\\n' > .gitattributes && echo l > a.loud && git "
      "add -A && git commit -q -m rules");
  take("echo picture > new.png");
  EXPECT_TRUE(Workspaces::check_source(source_));
  expect_as_git("[include]\n\tpath = ~/lfs\n", "", "new.png");
  expect_as_git("", "[includeIf \"gitdir:~/source/\"]\n\tpath = ~/lfs\n", "new.png");
  expect_as_git("[include]\n\tpath = ~/lfs\n[filter \"lfs\"]\n\tclean =\n", "", "");
  write("shout", "[filter \"shout\"]\n\tclean = tr a-z A-Z\n");
  write("gitconfig", "[includeIf \"onbranch:main\"]\n\tpath = shout\n");
  const auto refused = Workspaces::check_source(source_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a.loud has filter=shout"), std::string::npos)
      << refused.error().message;
  write("gitconfig", "[includeIf \"onbranch:elsewhere\"]\n\tpath = shout\n");
  EXPECT_TRUE(Workspaces::check_source(source_));
}

class MachineTest : public IncludesTest {
 protected:
  static void SetUpTestSuite() { testing::enter_namespaces(); }
};

// See gitattributes(5): the machine's file comes first, and a later rule wins.
TEST_F(MachineTest, AttributesAreReadAsGitReadsThem) {
  take("printf 'a\\r\\n' > new.txt && printf 'b\\r\\n' > new.other");
  sh("mkdir " + (temp_ / "etc"));
  ASSERT_EQ(mount((temp_ / "etc").c_str(), "/etc", nullptr, MS_BIND, nullptr), 0);
  write("etc/gitattributes", "*.txt text\n*.other -text\n*.loud filter=shout\n");
  expect_as_git("", "", "new.txt");
  expect_as_git("[core]\n\tautocrlf = true\n", "", "new.txt");
  write("mine", "*.other text\n*.txt -text\n");
  expect_as_git("[core]\n\tattributesFile = ~/mine\n", "", "new.other");
  setenv("GIT_ATTR_NOSYSTEM", "1", 1);
  expect_as_git("", "", "");
  unsetenv("GIT_ATTR_NOSYSTEM");
  git("echo l > a.loud && git add -A && git commit -q -m loud && git config filter.shout.clean cat");
  const auto refused = Workspaces::check_source(source_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a.loud has filter=shout"), std::string::npos);
  ASSERT_EQ(umount("/etc"), 0);
}

// libgit2 alone would read this repository without its configuration.
TEST_F(IncludesTest, DoNotHideWhatTheRepositoryIs) {
  git("git config include.path '~/anything'");
  EXPECT_EQ(workspaces_->snapshot_git(source_, "HEAD")->base_id, base_.base_id);
  git("git config core.repositoryformatversion 1 && git config extensions.objectFormat sha256");
  const auto refused = workspaces_->snapshot_git(source_, "HEAD");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("sha256"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace pawl::workspace
