// Bases that are stored as the difference from another base have the same ids and trees as whole ones.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "workspace/random_work.h"
#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

namespace fs = std::filesystem;
using testing::RandomWork;

class DerivedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sh("mkdir -p " + source_ + "/pad && cd " + source_ +
       " && git init -q -b main . && git config user.name t && git config user.email t@example.org && "
       "mkdir a c && for i in $(seq 200); do echo $i > pad/$i; done; "
       "echo top > top; echo 1 > a/one; echo 4 > c/four; ln -s top link; ln -s gone 'pad/\"path\":\"x'");
    commit("true");
    first_ = take();
  }

  void commit(const std::string& script) {
    sh("cd " + source_ + " && (" + script + ") && git add -A && git commit -q --allow-empty -m next");
  }

  std::string take() {
    const auto base = workspaces_.snapshot_git(source_, "HEAD");
    EXPECT_TRUE(base) << base.error().message;
    return base ? base->base_id : "";
  }
  // The base as a store without any earlier base takes it.
  std::string take_whole() {
    sh("rm -rf " + fresh_);
    auto fresh = *Workspaces::open(fresh_);
    const auto base = fresh.snapshot_git(source_, "HEAD");
    EXPECT_TRUE(base) << base.error().message;
    return base->base_id;
  }

  void expect_same_as_whole(const std::string& base_id) {
    ASSERT_EQ(base_id, take_whole());
    // Collects the tree as a sandbox without overlayfs leaves it: the whole tree and the derived one must not
    // differ.
    const std::string upper = temp_ / "upper";
    sh("cp -a " + Workspaces::open(fresh_)->base_tree(base_id) + " " + upper);
    const auto collected = workspaces_.collect(upper, workspaces_.trees_of(base_id, {}), true);
    ASSERT_TRUE(collected) << collected.error().message;
    EXPECT_EQ(collected->layer_id, "");
    const auto whole = workspaces_.check_content(base_id, {});
    EXPECT_TRUE(whole) << whole.error().message;
  }

  std::size_t depth(const std::string& base_id) { return workspaces_.trees_of(base_id, {}).size(); }
  std::string object(const std::string& path) { return temp_ / ("pawl/objects/" + path); }
  std::size_t objects(const std::string& kind) { return os::list_folder(object(kind))->size(); }

  TempFolder temp_;
  const std::string source_ = temp_ / "source", fresh_ = temp_ / "fresh";
  Workspaces workspaces_ = *Workspaces::open(temp_ / "pawl");
  std::string first_;
};

TEST_F(DerivedTest, RandomCommitsHaveTheIdAndTheTreeOfWholeOnes) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWork work(source_, seed);
    for (int i = 0; i < 9; ++i) {
      work.work();
      commit("true");
      ASSERT_NO_FATAL_FAILURE(expect_same_as_whole(take())) << "commit " << i;
    }
  }
  EXPECT_EQ(objects("bases"), 1U) << "only what tells them apart was kept";
}

TEST_F(DerivedTest, KindsOfEntriesReplaceEachOther) {
  for (const std::string script :
       {"rm a/one && mkdir a/one && echo x > a/one/deep", "rm -r a/one && ln -s ../top a/one",
        "rm a/one && echo f > a/one", "chmod +x a/one", "chmod -x a/one", "rm -r c && echo file > c",
        "rm c && mkdir -p c/d/e && echo x > c/d/e/f", "rm -r c",
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub && mkdir sub",
        "mv pad/1 pad/1-1 && mkdir pad/1 && echo x > pad/1/y", "rm -r pad/1 && echo z > pad/1 && rm pad/1-1",
        "mkdir pad/2.d && mv pad/2 pad/2.d/2 && echo > pad/2-",
        "echo quote > 'a/\"path\":\"' && echo s > 'a\\b'", "rm 'a\\b' && echo n > 'a/\"path\":\"'"}) {
    SCOPED_TRACE(script);
    commit(script);
    expect_same_as_whole(take());
  }
  EXPECT_EQ(objects("bases"), 1U);
}

TEST_F(DerivedTest, ASubmoduleIsAnEmptyFolderWhateverItWas) {
  const auto index = [&](const std::string& what) {
    sh("cd " + source_ + " && " + what + " && git commit -q -m next");
    expect_same_as_whole(take());
  };
  const std::string gitlink = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),a";
  index("git rm -q -r --cached a && " + gitlink);
  index(gitlink);  // Another commit of the submodule.
  index("git rm -q --cached a && git add a/one");
  index("git rm -q -r --cached a && " + gitlink);
  index(
      "git rm -q --cached a && cp top file && git update-index --add --cacheinfo 100755,$(git hash-object -w "
      "file),a");
}

TEST_F(DerivedTest, TheNearestOneIsBuiltUponAndDeepOnesAreFlat) {
  std::vector<std::string> ids{first_};
  for (int i = 0; i < 30; ++i) {
    commit("echo " + std::to_string(i) + " > new" + std::to_string(i % 7));
    ids.push_back(take());
    ASSERT_LE(depth(ids.back()), 9U);
  }
  for (const auto& id : ids) EXPECT_TRUE(workspaces_.check_content(id, {}));
  EXPECT_EQ(objects("bases"), 1U);
  // A change of half the files makes another whole base.
  commit("for i in $(seq 100); do echo other > pad/$i; done");
  EXPECT_EQ(depth(take()), 1U);
  commit("echo once more > top");
  EXPECT_EQ(depth(take()), 2U);
  // Far from that base, and near to the first.
  commit("git rm -q -r . && git checkout -q HEAD~32 . && echo other > top");
  const auto base = take();
  EXPECT_EQ(workspaces_.trees_of(base, {}).back(), workspaces_.base_tree(first_));
  expect_same_as_whole(base);
}

TEST_F(DerivedTest, WhatGoesBackIsFoundAgain) {
  commit("echo other > top");
  const auto second = take();
  commit("echo top > top");
  EXPECT_EQ(take(), first_);
  sh("rm " + object("git/*"));  // It is only a cache.
  EXPECT_EQ(take(), first_);
  commit("echo other > top");
  EXPECT_EQ(take(), second);
  EXPECT_EQ(depth(second), 2U);
}

TEST_F(DerivedTest, GcKeepsWhatAnotherOneIsBuiltUpon) {
  std::vector<std::string> ids{first_};
  for (int i = 0; i < 3; ++i) {
    commit("echo " + std::to_string(i) + " > top");
    ids.push_back(take());
  }
  auto garbage = *workspaces_.garbage({ids[2]});
  EXPECT_EQ(garbage.bases, std::vector{"objects/derived/" + ids[3]});
  EXPECT_EQ(garbage.layers.size(), 1U);
  for (const auto* paths : {&garbage.bases, &garbage.layers}) ASSERT_TRUE(workspaces_.detach(*paths));
  EXPECT_FALSE(workspaces_.has_base(ids[3]));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(workspaces_.check_content(ids[i], {}));
  EXPECT_EQ(take(), ids[3]);
  EXPECT_TRUE(workspaces_.check_content(ids[3], {}));
  garbage = *workspaces_.garbage({});
  EXPECT_EQ(garbage.bases.size(), 4U);
  EXPECT_EQ(garbage.layers.size(), 3U);
}

TEST_F(DerivedTest, WhatIsGoneBelowIsMadeAgain) {
  commit("echo other > top");
  const auto base = take();
  const auto layer = workspaces_.trees_of(base, {}).front();
  sh("cp -a " + (temp_ / "pawl") + " " + (temp_ / "backup"));
  for (const auto& gone : {object("bases/" + first_), os::folder_of(layer), object("derived/" + base)}) {
    ASSERT_TRUE(os::remove_tree(gone));
    EXPECT_FALSE(workspaces_.has_base(base)) << gone;
    EXPECT_EQ(take(), base);
    EXPECT_TRUE(workspaces_.check_content(base, {}));
    sh("rm -rf " + (temp_ / "pawl") + " && cp -a " + (temp_ / "backup") + " " + (temp_ / "pawl"));
  }
}

TEST_F(DerivedTest, DamageIsToldAndNotBuiltUpon) {
  commit("echo other > top && rm c/four");
  const auto base = take();
  const auto layer = workspaces_.trees_of(base, {}).front();
  const auto damaged = [&](const std::string& script) {
    sh("cp -a " + (temp_ / "pawl") + " " + (temp_ / "backup") + " && cd " + layer + " && " + script);
    const auto checked = workspaces_.check_content(base, {});
    EXPECT_FALSE(checked) << script;
    if (!checked) {
      EXPECT_EQ(checked.error().kind, ErrorKind::kForged) << script << checked.error().message;
    }
  };
  const auto restored = [&] {
    sh("rm -rf " + (temp_ / "pawl") + " && mv " + (temp_ / "backup") + " " + (temp_ / "pawl"));
  };
  for (const std::string script :
       {"echo wrong > top", "rm c", "rm c && mkdir c && echo more > c/more", "echo more > more",
        "mknod pad c 0 0", "rm top && ln -s a top", "chmod +x top"}) {
    damaged(script);
    restored();
  }
  const std::string other = "../../../bases/" + first_;
  for (const auto& script :
       {std::string("echo >> ../manifest.jsonl"), "echo >> " + other + "/manifest.jsonl"}) {
    damaged(script);
    commit("echo next >> top");
    const auto next = take();
    EXPECT_EQ(depth(next), 1U) << "not upon what is damaged: " << script;
    expect_same_as_whole(next);
    restored();
  }
  // A record that names another layer.
  commit("echo third > top");
  const auto third = take();
  sh("cp " + object("derived/" + third) + " " + object("derived/" + base));
  const auto checked = workspaces_.check_content(base, {});
  ASSERT_FALSE(checked);
}

TEST_F(DerivedTest, ARecordThatIsNoneIsNoBase) {
  commit("echo other > top");
  const auto base = take();
  const std::string record = object("derived/" + base), whole = *os::read_file(record, 1000);
  for (const auto& text :
       {std::string(), whole.substr(0, 70), base + " " + whole.substr(65), std::string(whole + "x")}) {
    ASSERT_TRUE(os::write_atomically(record, text));
    EXPECT_FALSE(workspaces_.has_base(base)) << text;
    EXPECT_EQ(workspaces_.check_content(base, {}).error().kind, ErrorKind::kNotFound) << text;
    EXPECT_EQ(take(), base) << text;
    EXPECT_TRUE(workspaces_.check_content(base, {})) << text;
  }
}

TEST_F(DerivedTest, WhatIsLeftOutOfACommitIsInNoBaseHoweverItIsMade) {
  const std::vector<std::string> left_out = {"a/?ne", "**/*.big", "skip", "deep/er/**", "?q*"};
  for (const std::string script :
       {"true", "mkdir skip && echo 1 > skip/x && echo 1 > c/x.big", "echo 2 > skip/x && echo 2 > a/one",
        "mkdir -p deep/er/est && echo 1 > deep/er/est/x && echo 1 > deep/x",
        "printf 1 > \"$(printf '\\001q\\351')\"", "rm -r skip && echo 1 > a/two", "rm -r deep a"}) {
    commit(script);
    SCOPED_TRACE(script);
    const auto base = workspaces_.snapshot_git(source_, "HEAD", left_out);
    ASSERT_TRUE(base) << base.error().message;
    sh("rm -rf " + fresh_);
    const auto whole = Workspaces::open(fresh_)->snapshot_git(source_, "HEAD", left_out);
    ASSERT_EQ(whole->base_id, base->base_id);
    EXPECT_TRUE(workspaces_.check_content(base->base_id, {}));
    for (const std::string path : {"a/one", "c/x.big", "skip", "deep/er/est"})
      EXPECT_FALSE(workspaces_.may_have(base->base_id, path)) << path;
  }
  EXPECT_EQ(os::list_folder(object("bases"))->size(), 2U) << "one whole base of each kind";
}

TEST_F(DerivedTest, GcTakesWhatIsRememberedOfBasesThatGo) {
  commit("echo other > top");
  const auto second = take();
  const auto look = workspaces_.snapshot_directory(source_);
  ASSERT_TRUE(look);
  EXPECT_EQ(objects("folders"), 1U);
  auto garbage = *workspaces_.garbage({second, look->base_id});
  for (const auto& path : garbage.caches) EXPECT_TRUE(path.ends_with(".submodules")) << path;
  garbage = *workspaces_.garbage({first_});
  EXPECT_EQ(garbage.caches.size(), 3U) << "of the second tree, of the folder, and what is a submodule";
  garbage = *workspaces_.garbage({});
  EXPECT_EQ(garbage.caches.size(), objects("git") + objects("folders"));
  ASSERT_TRUE(workspaces_.detach(garbage.caches));
  EXPECT_EQ(take(), second);
}

// --- bases of a folder

class DerivedFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sh("mkdir -p " + source_ + "/pad " + source_ + "/a " + source_ + "/c && cd " + source_ +
       " && for i in $(seq 200); do echo $i > pad/$i; done; echo top > top; echo 1 > a/one; echo 4 > c/four; "
       "ln -s top link && find . -exec touch -h -d 2020-01-01 {} +");
    first_ = take();
  }

  std::string take() {
    const auto base = workspaces_.snapshot_directory(source_);
    EXPECT_TRUE(base) << base.error().message;
    return base ? base->base_id : "";
  }

  // The content, permissions and times of each path.
  static std::map<std::string, std::string> shown(const std::vector<std::string>& trees) {
    std::map<std::string, std::string> out;
    for (auto tree = trees.rbegin(); tree != trees.rend(); ++tree)
      for (const auto& entry : fs::recursive_directory_iterator(*tree)) {
        const std::string path = entry.path().lexically_relative(*tree);
        struct stat status {};
        EXPECT_EQ(lstat(entry.path().c_str(), &status), 0);
        if (!S_ISDIR(status.st_mode))
          std::erase_if(out, [&](const auto& at) { return at.first.starts_with(path + "/"); });
        out.erase(path);
        if (S_ISCHR(status.st_mode)) continue;
        std::string line = std::to_string(status.st_mode) + " " + std::to_string(status.st_mtim.tv_sec) +
                           "." + std::to_string(status.st_mtim.tv_nsec) + " ";
        if (S_ISREG(status.st_mode)) line += *os::read_file(entry.path(), 1 << 20);
        if (S_ISLNK(status.st_mode)) line += fs::read_symlink(entry.path());
        out[path] = line;
      }
    return out;
  }

  void expect_same_as_whole(const std::string& base_id) {
    sh("rm -rf " + fresh_);
    auto fresh = *Workspaces::open(fresh_);
    ASSERT_EQ(fresh.snapshot_directory(source_)->base_id, base_id);
    EXPECT_EQ(*fresh.content_id(source_), base_id);
    EXPECT_EQ(shown(workspaces_.trees_of(base_id, {})), shown({fresh.base_tree(base_id)}));
    EXPECT_TRUE(workspaces_.check_content(base_id, {}));
  }

  std::string object(const std::string& path) { return temp_ / ("pawl/objects/" + path); }

  TempFolder temp_;
  const std::string source_ = temp_ / "source", fresh_ = temp_ / "fresh";
  Workspaces workspaces_ = *Workspaces::open(temp_ / "pawl");
  std::string first_;
};

TEST_F(DerivedFolderTest, RandomWorkHasTheIdTheTreeAndTheTimesOfAWholeCopy) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    RandomWork work(source_, seed);
    for (int i = 0; i < 12; ++i) {
      work.work();
      SCOPED_TRACE("seed " + std::to_string(seed) + ", work " + std::to_string(i));
      ASSERT_NO_FATAL_FAILURE(expect_same_as_whole(take()));
      // Makes the files old, so that the next base can rely on their times.
      sh("find " + source_ + " -newermt 2024-01-01 -exec touch -h -d 2021-01-0" + std::to_string(1 + i % 9) +
         " {} +");
    }
  }
  EXPECT_EQ(os::list_folder(object("bases"))->size(), 1U);
}

// A stale program must be built again, as in the folder itself, whatever was taken before.
TEST_F(DerivedFolderTest, AStepSeesThePresentTimesOfWhatHasTheContentOfBefore) {
  for (const std::string script :
       {"touch a/one", "touch -d 2019-01-01 a/one", "touch -d 2020-01-01 a/one", "touch -h link", "touch a",
        "cp -p top kept && rm top && mv kept top", "find . -exec touch -h -d 2020-01-01 {} +",
        "echo other > top && touch -d 2020-01-01 top", "echo top > top && touch -d 2020-01-01 top .",
        "touch -d '1960-01-01' c/four", "touch -d @0 c/four", "chmod 600 top", "chmod 644 top"}) {
    sh("cd " + source_ + " && " + script);
    SCOPED_TRACE(script);
    ASSERT_NO_FATAL_FAILURE(expect_same_as_whole(take()));
    ASSERT_NO_FATAL_FAILURE(expect_same_as_whole(take()));
  }
  EXPECT_EQ(os::list_folder(object("bases"))->size(), 1U) << "what came back is told from what is there";
}

TEST_F(DerivedFolderTest, AFolderWithTheSameFilesHasTimesOfItsOwn) {
  const std::string other = temp_ / "other";
  sh("cp -a " + source_ + " " + other + " && touch " + other + "/a/one");
  const auto theirs = workspaces_.snapshot_directory(other);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(shown(workspaces_.trees_of(theirs->base_id, {})), shown({other}));
  EXPECT_EQ(shown(workspaces_.trees_of(take(), {})), shown({source_}));
}

TEST_F(DerivedFolderTest, AFileThatIsWrittenAgainIsReadAgainWhateverItsTimesSay) {
  for (const std::string script :
       {"echo 2 > a/one", "echo 3 > a/one && touch -d 2020-01-01 a/one",
        "echo 4 > new && touch -d 2020-01-01 new && mv new a/one && touch -d 2020-01-01 a",
        "echo 5 > a/one && touch -d '+1 hour' a/one", "echo 6 > a/one && touch -d '+1 hour' a/one",
        "chmod 700 a/one", "chmod 700 a", "rm link && ln -s pad link", "rm a/one", "echo back > a/one"}) {
    sh("cd " + source_ + " && " + script);
    EXPECT_EQ(take(), *workspaces_.content_id(source_)) << script;
    EXPECT_EQ(take(), *workspaces_.content_id(source_)) << script;
  }
}

TEST_F(DerivedFolderTest, AMemoryThatIsLostOrDamagedOrOfAnotherBaseIsNone) {
  const auto names = *os::list_folder(object("folders"));
  ASSERT_EQ(names.size(), 1U);
  const std::string memory = object("folders/" + names.front()), whole = *os::read_file(memory, 1 << 20);
  for (const auto& text : {std::string(), std::string("x"), whole.substr(0, whole.size() / 2), whole + "x",
                           whole.substr(0, 200) + "?" + whole.substr(201)}) {
    ASSERT_TRUE(os::write_atomically(memory, text));
    EXPECT_EQ(take(), first_);
  }
  ASSERT_TRUE(os::remove_tree(memory));
  EXPECT_EQ(take(), first_);
  ASSERT_TRUE(os::remove_tree(object("bases/" + first_)));
  EXPECT_EQ(take(), first_) << "what is remembered is gone";
  expect_same_as_whole(first_);
}

TEST_F(DerivedFolderTest, WhatIsLeftOutIsInNoBaseHoweverItIsMade) {
  const Without without{.patterns = {"a/?ne", "**/*.big", "skip", "deep/er/**"}};
  const auto take_without = [&] {
    const auto base = workspaces_.snapshot_directory(source_, without);
    EXPECT_TRUE(base) << base.error().message;
    return base->base_id;
  };
  for (const std::string script :
       {"true", "mkdir skip && echo 1 > skip/x && echo 1 > c/x.big", "echo 2 > skip/x && echo 2 > a/one",
        "mkdir -p deep/er/est && echo 1 > deep/er/est/x && echo 1 > deep/x",
        "rm -r skip && echo 1 > a/two"}) {
    sh("cd " + source_ + " && " + script);
    SCOPED_TRACE(script);
    const auto base = take_without();
    sh("rm -rf " + fresh_);
    auto fresh = *Workspaces::open(fresh_);
    ASSERT_EQ(fresh.snapshot_directory(source_, without)->base_id, base);
    const auto seen = shown(workspaces_.trees_of(base, {}));
    EXPECT_EQ(seen, shown({fresh.base_tree(base)}));
    for (const std::string path : {"a/one", "c/x.big", "skip", "skip/x", "deep/er/est"})
      EXPECT_FALSE(seen.contains(path)) << path;
  }
  EXPECT_TRUE(shown(workspaces_.trees_of(take_without(), {})).contains("deep/er"));
  EXPECT_TRUE(shown(workspaces_.trees_of(take(), {})).contains("a/one")) << "of a source that is taken whole";
}

#ifdef PAWL_TEST_HOOKS
// A kill at any fsync or rename leaves no base or a whole one.
TEST_F(DerivedTest, AKilledSnapshotLeavesNoneOrAWholeOne) {
  commit("echo other > top && rm -r c && mkdir -p deep/er && echo x > deep/er/x");
  const auto wanted = take_whole();
  int points = 0;
  for (bool killed = true; killed; ++points) {
    sh("rm -rf " + object("derived/*") + " " + object("layers/*") + " " + (temp_ / "count"));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv("PAWL_CRASH_ROLE", "executor", 1);
      setenv("PAWL_CRASH_COUNT", (temp_ / "count").c_str(), 1);
      setenv("PAWL_CRASH_AT", std::to_string(points + 1).c_str(), 1);
      _exit(workspaces_.snapshot_git(source_, "HEAD") ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    killed = WIFSIGNALED(status);
    ASSERT_TRUE(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    EXPECT_TRUE(!workspaces_.has_base(wanted) || workspaces_.check_content(wanted, {})) << "point " << points;
    EXPECT_EQ(take(), wanted);
    EXPECT_TRUE(workspaces_.check_content(wanted, {})) << "point " << points;
  }
  EXPECT_GT(points, 8);
}
#endif

}  // namespace
}  // namespace pawl::workspace
