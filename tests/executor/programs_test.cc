// Programs that no step will have, and the mounts that would show them.
#include "executor/programs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "os/file.h"
#include "os/process.h"
#include "support/temp_folder.h"

namespace pawl::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ProgramsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("HOME", home_.c_str(), 1);
    setenv("PATH", (home_ + "/tools/bin:/usr/bin:/bin").c_str(), 1);
    plan_.tiers.resize(1);
    plan_.tiers[0].phases.resize(1);
    plan_.tiers[0].phases[0].id = "fix";
  }
  void TearDown() override {
    for (const auto& [name, value] : {std::pair("HOME", old_home_), std::pair("PATH", old_path_)})
      if (value)
        setenv(name, value->c_str(), 1);
      else
        unsetenv(name);
  }

  // A folder `bin` is of an installation, which has more.
  void make_program(const std::string& below_home) {
    const std::string path = os::join(home_, below_home), folder = os::folder_of(path);
    ASSERT_TRUE(os::make_folders(folder));
    if (folder.ends_with("/bin")) {
      ASSERT_TRUE(os::make_folders(os::folder_of(folder) + "/lib"));
    }
    ASSERT_TRUE(os::write_atomically(path, "#!/bin/sh\n", 0755));
  }
  std::vector<UnseenProgram> unseen(const std::vector<std::string>& argv) {
    plan_.tiers[0].phases[0].agent.argv = argv;
    return unseen_programs(plan_, "");
  }
  void mount(const std::string& src) {
    plan_.mounts.push_back({.src = src, .dst = "", .at = {.line = 1, .column = 1}});
  }

  testing::TempFolder temp_;
  const std::string home_ = temp_ / "home";
  const std::optional<std::string> old_home_ = os::environment_value("HOME");
  const std::optional<std::string> old_path_ = os::environment_value("PATH");
  plan::Plan plan_;
};

TEST_F(ProgramsTest, OfEverySandboxAreSeen) {
  for (const char* name : {"sh", "/usr/bin/env", "./run.sh", "/plan/run.sh", "/workspace/a", "/tmp/b"})
    EXPECT_THAT(unseen({name}), IsEmpty()) << name;
}

TEST_F(ProgramsTest, AreNamedWhereTheHostHasNone) {
  const auto found = unseen({"no-such-program", "-x"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "no-such-program");
  EXPECT_EQ(found[0].user, "agent of phase fix");
  EXPECT_EQ(found[0].place.host_path, "");
  EXPECT_THAT(found[0].place.mounts, IsEmpty());
  EXPECT_EQ(unseen({"/no/such/program"}).size(), 1U);
}

// Each step has a /tmp of its own, and the host's is another one.
TEST_F(ProgramsTest, BelowTmpOfTheHostAreNamedWhereNothingBeforeThemCouldMakeThem) {
  char folder[] = "/var/tmp/programs-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string name = std::string(folder) + "/t";
  EXPECT_THAT(unseen({name}), IsEmpty()) << "the host does not have it either";
  ASSERT_TRUE(os::write_atomically(name, "#!/bin/sh\n", 0755));
  const auto found = unseen({name, "--x"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place.host_path, name);
  EXPECT_THAT(found[0].place.mounts, ElementsAre(folder));
  EXPECT_EQ(unseen({"sh", "-e", "-c", name + " --x; ls"}).size(), 1U);
  EXPECT_THAT(unseen({"sh", "-e", "-c", "ls; " + name}), IsEmpty());
  mount(folder);
  EXPECT_THAT(unseen({name}), IsEmpty());
  ASSERT_TRUE(os::remove_tree(folder));
}

TEST_F(ProgramsTest, AreShownByTheFolderAroundBin) {
  make_program(".nvm/versions/node/v20.1.0/bin/nodeish");
  make_program(".nvm/versions/node/v22.1.0/bin/nodeish");
  const auto found = unseen({"nodeish"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place.host_path, home_ + "/.nvm/versions/node/v22.1.0/bin/nodeish");
  EXPECT_THAT(found[0].place.mounts, ElementsAre("~/.nvm/versions/node/v22.1.0"));
  EXPECT_TRUE(found[0].place.is_in_path);
  mount("~/.nvm/versions/node/v22.1.0");
  EXPECT_THAT(unseen({"nodeish"}), IsEmpty());
}

TEST_F(ProgramsTest, BehindALinkNeedWhatItLeadsTo) {
  make_program(".local/share/tool/v1/tool");
  ASSERT_TRUE(os::make_folders(home_ + "/.local/bin"));
  ASSERT_EQ(symlink("../share/tool/v1/tool", (home_ + "/.local/bin/tool").c_str()), 0);
  const auto found = unseen({"tool"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].place.mounts, ElementsAre("~/.local/bin", "~/.local/share/tool/v1"));
  mount("~/.local/bin");
  EXPECT_EQ(unseen({"tool"}).size(), 1U) << "the link leads nowhere inside";
  mount("~/.local/share/tool/v1");
  EXPECT_THAT(unseen({"tool"}), IsEmpty());
}

// npm makes the middle link; a user's installer, or the user, the first.
TEST_F(ProgramsTest, BehindSeveralLinksNeedThemAll) {
  make_program("opt/app/node_modules/pkg/cli/tool.js");
  for (const auto& [target, link] : {std::pair("../pkg/cli/tool.js", "opt/app/node_modules/.bin/tool-2"),
                                     std::pair("../../opt/links/tool", "first/bin/tool"),
                                     std::pair("../app/node_modules/.bin/tool-2", "opt/links/tool")}) {
    ASSERT_TRUE(os::make_folders(os::folder_of(os::join(home_, link))));
    ASSERT_EQ(symlink(target, os::join(home_, link).c_str()), 0);
  }
  setenv("PATH", (home_ + "/first/bin:/usr/bin:/bin").c_str(), 1);
  const auto found = unseen({"tool"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].place.mounts, ElementsAre("~/first/bin", "~/opt/links", "~/opt/app/node_modules"));
  mount("~/first");
  mount("~/opt/app/node_modules");
  EXPECT_EQ(unseen({"tool"}).size(), 1U) << "the second link is missing";
  mount("~/opt/links");
  EXPECT_THAT(unseen({"tool"}), IsEmpty());
}

// A package of npm may start the program of a package beside it.
TEST_F(ProgramsTest, OfNpmAreShownWithTheirNeighbours) {
  make_program("lib/node_modules/@scope/tool/bin/tool.js");
  make_program("lib/node_modules/@scope/tool-linux-x64/bin/tool");
  ASSERT_TRUE(os::make_folders(home_ + "/bin"));
  ASSERT_EQ(symlink("../lib/node_modules/@scope/tool/bin/tool.js", (home_ + "/bin/tool").c_str()), 0);
  const auto found = unseen({"tool"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].place.mounts, ElementsAre("~/bin", "~/lib/node_modules"));
}

TEST_F(ProgramsTest, BesideKeysAreShownAlone) {
  make_program("tools/bin/tool");
  ASSERT_TRUE(os::write_atomically(home_ + "/tools/.env", "KEY=1"));
  EXPECT_THAT(unseen({"tool"})[0].place.mounts, ElementsAre("~/tools/bin"));
  ASSERT_TRUE(os::write_atomically(home_ + "/tools/bin/.netrc", "key"));
  const auto found = unseen({"tool"});
  EXPECT_THAT(found[0].place.mounts, ElementsAre("~/tools/bin/tool"));
  EXPECT_FALSE(found[0].place.is_in_path);
}

// A login may come after the plan, and sessions are there before.
TEST_F(ProgramsTest, BelowTheFolderOfAnAgentAreShownWithoutIt) {
  for (const std::string folder : {".codex", ".gemini", ".qwen", ".claude", ".pi/agent"}) {
    make_program(folder + "/bin/tool");
    setenv("PATH", os::join(home_, folder + "/bin:/usr/bin").c_str(), 1);
    EXPECT_THAT(unseen({"tool"})[0].place.mounts, ElementsAre("~/" + folder + "/bin"));
  }
}

TEST_F(ProgramsTest, ThatOnlyAServiceOfTheHostStartsArePassedOver) {
  make_program("snapd/snap");
  ASSERT_TRUE(os::make_folders(home_ + "/bin"));
  ASSERT_EQ(symlink("../snapd/snap", (home_ + "/bin/tool").c_str()), 0);
  EXPECT_EQ(unseen({"tool"})[0].place.host_path, "");
  make_program("go/bin/tool");
  EXPECT_THAT(unseen({"tool"})[0].place.mounts, ElementsAre("~/go/bin"));
}

TEST_F(ProgramsTest, StartedByAScriptAreShownWithWhatTheyNeed) {
  make_program(".nvm/versions/node/v22.1.0/bin/nodeish");
  const auto write = [&](const std::string& below_home, const std::string& text) {
    ASSERT_TRUE(os::make_folders(os::folder_of(os::join(home_, below_home))));
    ASSERT_TRUE(os::write_atomically(os::join(home_, below_home), text, 0755));
  };
  write("app/node_modules/.bin/tool", "#!/usr/bin/env nodeish\n");
  const auto starts = [&](const std::string& words) {
    write(".local/bin/tool", "#!/bin/bash\n" + words + "\n");
    return unseen({"tool"})[0].place.mounts;
  };
  const std::string at = home_ + "/app/node_modules/.bin/tool";
  for (const auto& words : {"exec \"" + at + "\" \"$@\"", "exec '" + at + "'", "exec " + at + " \"$@\""})
    EXPECT_THAT(starts(words),
                ElementsAre("~/.local/bin", "~/app/node_modules", "~/.nvm/versions/node/v22.1.0"))
        << words;
  for (const std::string words : {"exec \"$HOME/app/node_modules/.bin/tool\"", "exec /no/such/tool", "exec ",
                                  "exec \"", "exec nodeish"})
    EXPECT_THAT(starts(words), ElementsAre("~/.local/bin")) << words;
  EXPECT_THAT(starts("exec " + home_ + "/.local/bin/tool"), ElementsAre("~/.local/bin")) << "itself";
}

// Libraries of Conda lie anywhere below its prefix, those of Nix anywhere in the store.
TEST_F(ProgramsTest, OfCondaAndNixAreShownWithAllThatMayBeALibrary) {
  make_program("miniforge3/envs/own/bin/tool");
  ASSERT_TRUE(os::make_folders(home_ + "/miniforge3/envs/own/conda-meta"));
  EXPECT_THAT(unseen({"tool"})[0].place.mounts, ElementsAre("~/miniforge3/envs/own"));
  ASSERT_TRUE(os::write_atomically(home_ + "/miniforge3/envs/own/.env", "KEY=1"));
  EXPECT_THAT(unseen({"tool"})[0].place.mounts, IsEmpty()) << "a part of it does not start";
  make_program("nix/store/one-tool/bin/tool");
  ASSERT_EQ(symlink((home_ + "/nix/store/one-tool").c_str(), (home_ + "/.nix-profile").c_str()), 0);
  EXPECT_THAT(unseen({"tool"})[0].place.mounts, ElementsAre("~/.nix-profile", "~/nix/store"));
}

TEST_F(ProgramsTest, ThatAreScriptsNeedTheirInterpreter) {
  make_program("node/bin/nodeish");
  make_program(".local/bin/tool");
  for (const std::string line :
       {"#!/usr/bin/env nodeish", "#!/usr/bin/env -S nodeish --flag", "#!NODE", "#! NODE -x"}) {
    std::string first = line;
    if (const auto at = first.find("NODE"); at != std::string::npos)
      first.replace(at, 4, home_ + "/node/bin/nodeish");
    ASSERT_TRUE(os::write_atomically(home_ + "/.local/bin/tool", first + "\n", 0755));
    ASSERT_EQ(setenv("PATH", (home_ + "/node/bin:/usr/bin").c_str(), 1), 0);
    const auto found = find_programs({"tool", "sh", "no-such-program"}, "");
    EXPECT_THAT(found[0].mounts, ElementsAre("~/.local/bin", "~/node")) << line;
    EXPECT_TRUE(found[1].is_seen);
    EXPECT_EQ(found[2].host_path, "");
  }
  for (const char* line : {"#!/bin/sh", "#!/usr/bin/env no-such-program", "#!", "x"}) {
    ASSERT_TRUE(os::write_atomically(home_ + "/.local/bin/tool", std::string(line) + "\n", 0755));
    EXPECT_THAT(find_programs({"tool"}, "")[0].mounts, ElementsAre("~/.local/bin")) << line;
  }
}

TEST_F(ProgramsTest, OfGatesHaveThePlaceOfTheirGate) {
  plan::Gate gate{.name = "check", .steps = {{.name = "unit", .argv = {"no-such-runner"}}}};
  gate.signals_at = {.line = 3, .column = 4};
  plan_.gates["check"] = gate;
  const auto found = unseen({"no-such-runner"});
  ASSERT_EQ(found.size(), 1U) << "each program once";
  plan_.tiers[0].phases[0].agent.argv = {"true"};
  const auto of_gate = unseen_programs(plan_, "");
  ASSERT_EQ(of_gate.size(), 1U);
  EXPECT_EQ(of_gate[0].user, "step unit of gate check");
  EXPECT_EQ(of_gate[0].at, (plan::Place{.line = 3, .column = 4}));
}

}  // namespace
}  // namespace pawl::executor
