// The source's history in the repository that a step finds, as git itself reads it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "workspace/step_repository.h"

namespace pawl::workspace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HistoryTest : public RepositoryForTest {
 protected:
  void SetUp() override {
    RepositoryForTest::SetUp();
    in_source(
        "echo four >> text && git commit -qam second && git branch other && echo five >> text && git commit "
        "-qam third");
    base_ = *workspaces_->snapshot_git(source_, "HEAD");
  }

  std::string in_source(const std::string& command) {
    return sh("cd " + source_ +
              " && export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow "
              "GIT_CONFIG_VALUE_0=always && " +
              command);
  }
  // Makes the source this one, with its HEAD as the base.
  void take(const std::string& path) {
    from_ = path;
    const auto taken = workspaces_->snapshot_git(path, "HEAD");
    ASSERT_TRUE(taken) << taken.error().message;
    base_ = *taken;
  }

  Result<Workspaces::Repository> try_history(const std::vector<std::string>& layers = {}) {
    return workspaces_->repository_for({.path = from_, .base = base_}, layers, shown_);
  }
  Workspaces::Repository with_history(const std::vector<std::string>& layers = {}) {
    const auto out = try_history(layers);
    EXPECT_TRUE(out) << out.error().message;
    return out.value_or(Workspaces::Repository());
  }
  // A copy of the workspace. The links do what a sandbox does with Repository::objects.
  std::string workspace_with_history(const std::vector<std::string>& layers = {}) {
    const auto repository = with_history(layers);
    sh("rm -rf " + shown_ + " && mkdir " + shown_);
    for (std::size_t i = 0; i < repository.objects.size(); ++i)
      sh("mkdir " + shown_ + "/" + std::to_string(i) + " && cp -r " + repository.objects[i] + "/* " + shown_ +
         "/" + std::to_string(i) + " && rm -rf " + shown_ + "/" + std::to_string(i) + "/info");
    return workspace(layers, repository);
  }
  std::string refusal() {
    const auto out = try_history();
    EXPECT_FALSE(out);
    if (!out) {
      EXPECT_EQ(out.error().kind, ErrorKind::kInvalid);
    }
    return out ? "" : out.error().message;
  }
  static std::string subjects(const std::string& tree) { return git(tree, "log --format=%s"); }

  std::string from_ = source_;
  const std::string shown_ = temp_ / "shown";
  const std::string all_ = "The workspace at the start of this step\nthird\nsecond\nbase\n";
};

TEST_F(HistoryTest, TheCommitOfTheStateLiesOnTheSourcesCommit) {
  const std::string tree = workspace_with_history({layer("echo six >> text && echo n > new")});
  EXPECT_EQ(subjects(tree), all_);
  EXPECT_EQ(git(tree, "rev-parse HEAD~1"), in_source("git rev-parse HEAD"));
  EXPECT_EQ(git(tree, "diff --stat HEAD~1 --format="),
            " new  | 1 +\n text | 1 +\n 2 files changed, 2 insertions(+)\n");
  EXPECT_EQ(git(tree, "show HEAD~3:text"), "one\ntwo\nthree\n");
  EXPECT_EQ(git(tree, "blame -s --abbrev=4 text | cut -d' ' -f1 | uniq -c | wc -l"), "4\n");
  EXPECT_EQ(git(tree, "log --oneline --since=2001-01-01 | wc -l"), "4\n") << "the date is that of the parent";
  EXPECT_EQ(git(tree, "branch -a"), "* pawl\n");
  EXPECT_EQ(git(tree, "remote; git tag"), "");
  expect_clean(tree, "with a history");
}

TEST_F(HistoryTest, TheIndexIsThatOfTheRepositoryWithoutHistory) {
  const auto work = layer("echo six >> text");
  const auto without = made({work}), with = with_history({work});
  EXPECT_EQ(std::vector(with.layers.begin() + 1, with.layers.end()), without.layers);
  EXPECT_EQ(with.tree, without.tree);
  EXPECT_EQ(sh("cd " + workspaces_->layer_tree(with.layers.front()) +
               " && find .git ! -type d | sed s/-.*[.]/-X./ | sort"),
            ".git/objects/info/alternates\n.git/objects/pack/pack-X.idx\n.git/objects/pack/pack-X.pack\n"
            ".git/packed-refs\n");
}

TEST_F(HistoryTest, EqualStatesOnEqualParentsHaveEqualCommits) {
  const auto first = with_history();
  EXPECT_EQ(with_history().layers, first.layers);
  auto elsewhere = *Workspaces::open(temp_ / "other");
  const auto again = *elsewhere.snapshot_git(source_, "HEAD");
  EXPECT_EQ(elsewhere.repository_for({.path = source_, .base = again}, {}, shown_)->commit, first.commit);
  in_source("git commit -q --allow-empty -m empty");
  take(source_);
  ASSERT_EQ(base_.base_id, again.base_id) << "one tree";
  EXPECT_NE(with_history().commit, first.commit) << "of two commits";
  EXPECT_EQ(made().commit, made().commit);
}

TEST_F(HistoryTest, TheParentIsTheCommitOfTheRunAndNotHead) {
  const auto first = with_history();
  in_source("echo more >> text && git commit -qam later && git gc -q");
  const auto same = with_history();
  EXPECT_EQ(same.commit, first.commit);
  EXPECT_EQ(same.layers, first.layers);
  EXPECT_EQ(subjects(workspace_with_history()), all_);
}

TEST_F(HistoryTest, AFolderHasTheCommitThatIsCheckedOut) {
  sh("echo uncommitted >> " + source_ + "/text");
  take_folder();
  const std::string tree = workspace_with_history();
  EXPECT_EQ(subjects(tree), all_);
  EXPECT_THAT(git(tree, "show HEAD --format="), HasSubstr("+uncommitted\n"));
  expect_clean(tree, "a folder");
}

TEST_F(HistoryTest, ALinkedWorktreeHasTheObjectsOfTheMainOne) {
  in_source("git worktree add -q ../linked other");
  take(temp_ / "linked");
  EXPECT_THAT(with_history().objects, ElementsAre(source_ + "/.git/objects"));
  EXPECT_EQ(subjects(workspace_with_history()), "The workspace at the start of this step\nsecond\nbase\n");
}

TEST_F(HistoryTest, ABareSource) {
  sh("git clone -q --bare " + source_ + " " + (temp_ / "bare"));
  take(temp_ / "bare");
  EXPECT_EQ(subjects(workspace_with_history()), all_);
}

TEST_F(HistoryTest, EachDatabaseThatTheSourceBorrowsFromIsThere) {
  sh("git clone -q --shared " + source_ + " " + clone_ + " && git clone -q --shared " + clone_ + " " +
     clone_ + "2 && cd " + clone_ +
     "2 && git -c user.name=t -c user.email=t@e commit -q --allow-empty -m own");
  take(clone_ + "2");
  EXPECT_THAT(with_history().objects,
              ElementsAre(clone_ + "2/.git/objects", clone_ + "/.git/objects", source_ + "/.git/objects"));
  const std::string tree = workspace_with_history();
  EXPECT_THAT(subjects(tree), HasSubstr("step\nown\nthird\nsecond\nbase\n"));
  EXPECT_EQ(git(tree, "fsck --no-dangling"), "");
}

TEST_F(HistoryTest, APathToABorrowedDatabaseCanBeRelative) {
  sh("git clone -q --shared " + source_ + " " + clone_ + " && echo ../../../source/.git/objects > " + clone_ +
     "/.git/objects/info/alternates");
  take(clone_);
  EXPECT_THAT(with_history().objects, ElementsAre(clone_ + "/.git/objects", source_ + "/.git/objects"));
}

TEST_F(HistoryTest, ABorrowedFolderThatIsNoDatabaseIsRefused) {
  sh("git clone -q --shared " + source_ + " " + clone_ + " && mkdir -p " + (temp_ / "home/pack") +
     " && touch " + (temp_ / "home/id_rsa"));
  take(clone_);
  const std::string list = clone_ + "/.git/objects/info/alternates";
  sh("echo " + (temp_ / "home") + " >> " + list);
  EXPECT_THAT(refusal(), HasSubstr("home/id_rsa is no part of a database of git's objects"));
  sh("rm -r " + (temp_ / "home/pack"));
  EXPECT_THAT(refusal(), HasSubstr("it has no folder `pack`"));
  sh("rm -r " + (temp_ / "home"));
  EXPECT_THAT(refusal(), HasSubstr("home, which is not there; remove that line"));
  sh("echo '\"/a b\"' > " + list);
  EXPECT_THAT(refusal(), HasSubstr("in quotes"));
  sh("yes . | head -20000 > " + list);
  EXPECT_THAT(refusal(), HasSubstr("has too many lines"));
  sh("rm " + list + " && mkfifo " + clone_ + "/.git/shallow");
  EXPECT_THAT(refusal(), HasSubstr("shallow is no regular file"));
}

TEST_F(HistoryTest, AShallowCloneEndsWhereItEnds) {
  sh("git clone -q --depth 2 file://" + source_ + " " + clone_);
  take(clone_);
  const std::string tree = workspace_with_history();
  EXPECT_EQ(subjects(tree), "The workspace at the start of this step\nthird\nsecond\n");
  EXPECT_EQ(git(tree, "fsck --no-dangling"), "");
  const auto shallow = with_history();
  sh("cd " + clone_ + " && git fetch -q --unshallow");
  EXPECT_EQ(with_history().commit, shallow.commit);
  EXPECT_EQ(subjects(workspace_with_history()), all_);
  sh("echo x > " + clone_ + "/.git/shallow");
  EXPECT_THAT(refusal(), HasSubstr("shallow can't be read"));
}

TEST_F(HistoryTest, PackedAndLooseObjects) {
  in_source("git repack -qad && git prune-packed && echo loose >> text && git commit -qam loose");
  take(source_);
  EXPECT_THAT(subjects(workspace_with_history()), HasSubstr("step\nloose\nthird\n"));
  in_source("git gc -q --prune=now && git multi-pack-index write && git commit-graph write");
  EXPECT_THAT(subjects(workspace_with_history()), HasSubstr("step\nloose\nthird\n"));
}

TEST_F(HistoryTest, ReplacementsAndGraftsStayOutside) {
  in_source("git replace HEAD~1 HEAD~2 && git replace --graft HEAD");
  EXPECT_EQ(subjects(workspace_with_history()), all_);
  sh("git -C " + source_ + " rev-parse HEAD > " + source_ + "/.git/info/grafts");
  EXPECT_EQ(subjects(workspace_with_history()), all_);
}

TEST_F(HistoryTest, SubmodulesAreWhatTheyAreInTheCommit) {
  sh("cp -a " + source_ + " " + (temp_ / "module"));
  in_source("git submodule --quiet add " + (temp_ / "module") + " sub && git commit -qm submodule");
  take(source_);
  const std::string tree = workspace_with_history();
  EXPECT_THAT(subjects(tree), HasSubstr("step\nsubmodule\nthird\n"));
  EXPECT_EQ(status(tree), "");
  EXPECT_EQ(with_history().objects.size(), 1U) << "not those of the submodule";
}

TEST_F(HistoryTest, ACommitThatIsGoneIsNamed) {
  const auto first = with_history();
  in_source(
      "git checkout -q other && git branch -qD main && git reflog expire --expire=now --all && git gc -q "
      "--prune=now");
  EXPECT_THAT(refusal(),
              HasSubstr("the commit " + base_.git_commit + ", with which the run began, is not in"));
  sh("rm -rf " + source_ + "/.git/objects");
  EXPECT_THAT(refusal(), HasSubstr("git: history: "));
  sh("rm -rf " + source_ + "/.git");
  EXPECT_THAT(refusal(), HasSubstr("is in no git repository; `git: snapshot`"));
  EXPECT_EQ(made().layers, std::vector(first.layers.begin() + 1, first.layers.end()))
      << "the rest needs no source";
}

TEST_F(HistoryTest, SourcesWithoutAHistoryAreRefused) {
  const auto expect_refused = [&](const std::string& words) {
    take_folder();
    EXPECT_THAT(refusal(), HasSubstr(words));
    const auto found = Workspaces::history_of(source_, std::nullopt);
    ASSERT_FALSE(found) << words;
    EXPECT_THAT(found.error().message, HasSubstr(words));
  };
  sh("rm -rf " + source_ + "/.git");
  expect_refused("is in no git repository; `git: snapshot`");
  in_source("git init -q");
  expect_refused("has no commit; `git: snapshot`");
  in_source(
      "rm -rf .git && git init -q --object-format=sha256 && git add text && git -c user.name=t -c "
      "user.email=t@e commit -qm x");
  expect_refused("objects of the format sha256, and only sha1 can be read; `git: snapshot`");
}

TEST_F(HistoryTest, AsRootADatabaseOfAnotherUserMustBeForAll) {
  if (geteuid() != 0) return;  // only root can give files away
  in_source("chown -R 1234:1234 .git/objects");
  EXPECT_EQ(subjects(workspace_with_history()), all_);
  in_source("chmod 700 .git/objects/pack");
  EXPECT_THAT(refusal(), HasSubstr("/pack is for its owner alone"));
  in_source("chown -R 0:0 .git/objects");
  EXPECT_EQ(subjects(workspace_with_history()), all_);
}

TEST_F(HistoryTest, AFolderBelowTheRootIsNamedInItsHistory) {
  take(source_ + "/dir");
  const std::string tree = workspace_with_history();
  EXPECT_EQ(subjects(tree), all_);
  EXPECT_EQ(git(tree, "show HEAD~1:dir/inner"), "in\n");
  EXPECT_THAT(git(tree, "blame -f inner"), HasSubstr("dir/inner")) << "git follows the rename";
  EXPECT_EQ(Workspaces::history_of(from_, std::nullopt)->prefix, "dir/");
  EXPECT_EQ(Workspaces::history_of(source_, "other")->prefix, "");
}

TEST_F(HistoryTest, GcKeepsThatOfAKeptBase) {
  const auto base = with_history();
  const auto kept = *workspaces_->garbage({base_.base_id});
  EXPECT_EQ(std::ranges::find(kept.layers, "objects/layers/" + base.layers.front()), kept.layers.end());
  const auto all = *workspaces_->garbage({});
  EXPECT_NE(std::ranges::find(all.layers, "objects/layers/" + base.layers.front()), all.layers.end());
  ASSERT_TRUE(workspaces_->detach({"objects/layers/" + base.layers.front()}));
  EXPECT_EQ(with_history().commit, base.commit) << "made again";
}

}  // namespace
}  // namespace pawl::workspace
