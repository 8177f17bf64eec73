// A rename loses no file of the source: not by its name, nor by a rule that ignores it. A copy and a product
// are left out as before.
#include <gtest/gtest.h>

#include <algorithm>

#include "workspace/commits.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

class MovedTest : public CommitsTest {
 protected:
  using Paths = std::vector<std::string>;

  // Makes `script` a commit, and the base that commit.
  void commit(const std::string& script) {
    git(script + " && git add -A && git commit -q -m more");
    base_ = *workspaces_->snapshot_git(source_, "HEAD");
  }
  Workspaces::Work work_of(const std::string& layer, bool keeps_ignored, const Paths& below = {}) {
    const Workspaces::Source source{.path = source_, .base = base_};
    auto work = keeps_ignored ? workspaces_->without_caches(layer, source, below)
                              : workspaces_->without_ignored(layer, source, below);
    EXPECT_TRUE(work) << work.error().message;
    return *work;
  }
  // The files of the base with the work that `script` leaves.
  Paths files_after(const std::string& script, bool keeps_ignored = false) {
    Paths layers{work_of(layer(script), keeps_ignored).layer_id};
    if (layers.front().empty()) layers.clear();
    return files_of(layers);
  }
  Paths files_of(const Paths& layers) {
    Paths out;
    View(workspaces_->trees_of(base_.base_id, layers)).each_file("", [&](const auto& path) {
      if (!path.starts_with("dir/") && !std::ranges::binary_search(kOthers, path)) out.push_back(path);
    });
    return out;
  }
  // Expects that nothing of `script` is left out, and that git has it all: in a patch, and in a commit.
  void expect_all(const std::string& script, const std::string& by_git, bool keeps_ignored) {
    SCOPED_TRACE(script + (keeps_ignored ? ", with ignored files" : ""));
    const auto id = layer(script);
    const auto work = work_of(id, keeps_ignored);
    EXPECT_EQ(work.layer_id, id);
    EXPECT_EQ(work.ignored_entries, 0);
    expect_patch_gives({work.layer_id}, by_git);
    const auto made = workspaces_->commit_id(commits(work.layer_id, false));
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_TRUE(
        workspaces_->apply("pawl/moved-" + std::to_string(++branches_), commits(work.layer_id, false)));
    EXPECT_EQ(git("git rev-parse " + *made + "^{tree}"), git("git -C " + clone_ + "2 write-tree"));
  }

  inline static const Paths kOthers = {"binary", "doomed", "link", "text", "tool"};
  int branches_ = 0;
};

TEST_F(MovedTest, InstalledPackagesGoWithTheirFolder) {
  commit(
      "mkdir -p action/node_modules/a/bin && echo 1 > action/index.js && cd action/node_modules/a && "
      "echo 2 > index.js && touch empty && ln -s ../index.js bin/run && cd ../../..");
  for (const bool keeps : {false, true}) {
    expect_all("mv action actions", "git mv action actions", keeps);
    expect_all("mkdir -p in/deep && mv action in/deep/it", "mkdir -p in/deep && git mv action in/deep/it",
               keeps);
  }
}

TEST_F(MovedTest, CommittedCachesGoWithTheirFolder) {
  commit(
      "mkdir -p tests/data/x.egg-info tests/.cache/deep tests/__pycache__ && cd tests && "
      "echo 1 > data/x.egg-info/PKG-INFO && echo 2 > .coverage && echo 3 > .cache/deep/x && "
      "echo 4 > old.pyc && echo 5 > __pycache__/a.cpython-311.pyc && echo 6 > test_a.py && cd ..");
  for (const bool keeps : {false, true}) {
    expect_all("mv tests test", "git mv tests test", keeps);
    expect_all("mkdir in && mv tests in", "mkdir in && git mv tests in", keeps);
    expect_all("mv tests test && ln -s test tests", "git mv tests test && ln -s test tests", keeps);
    EXPECT_EQ(files_after("mv tests/data tests/files", keeps),
              (Paths{"tests/.cache/deep/x", "tests/.coverage", "tests/__pycache__/a.cpython-311.pyc",
                     "tests/files/x.egg-info/PKG-INFO", "tests/old.pyc", "tests/test_a.py"}));
  }
}

TEST_F(MovedTest, FilesThatARuleIgnoresGoWithTheirFolderOrGetAnotherName) {
  commit(
      "printf '*.jar\\nout/\\n' > .gitignore && mkdir -p lib out && echo 1 > lib/x.jar && touch lib/y.jar && "
      "echo 2 > lib/a && echo 3 > a.jar && echo 4 > out/tool && git add -f lib a.jar out");
  for (const bool keeps : {false, true}) {
    expect_all("mv lib libs", "git mv lib libs", keeps);
    expect_all("mv a.jar b.jar", "git mv a.jar b.jar", keeps);
    expect_all("mv a.jar lib/a.jar", "git mv a.jar lib/a.jar", keeps);
    expect_all("mv out/tool out/tool2", "git mv out/tool out/tool2", keeps);
    expect_all("mkdir in && mv out in", "mkdir in && git mv out in", keeps);
  }
}

// GitHub's .gitignore for Python has lib/ and build/.
TEST_F(MovedTest, FilesGoToAFolderThatARuleIgnores) {
  commit(
      "echo lib/ > .gitignore && mkdir core && echo 1 > core/a.py && echo 2 > core/b.py && echo 3 > core.py");
  for (const bool keeps : {false, true}) {
    expect_all("mv core lib", "git mv core lib", keeps);
    expect_all("mkdir lib && mv core.py lib", "mkdir lib && git mv core.py lib", keeps);
    const std::string link = " && ln -s lib/core.py core.py";
    expect_all("mkdir lib && mv core.py lib" + link, "mkdir lib && git mv core.py lib" + link, keeps);
    expect_all("mkdir lib && mv core.py lib && mkdir core.py && touch core.py/x",
               "mkdir lib && git mv core.py lib && mkdir core.py && touch core.py/x", keeps);
  }
}

TEST_F(MovedTest, OnlyWhatTheSourceHadIsKeptAtTheNewPlace) {
  commit(
      "echo '*.jar' > .gitignore && mkdir -p lib/node_modules/a && echo 1 > lib/x.jar && "
      "echo 2 > lib/node_modules/a/f && echo 3 > lib/.coverage && git add -f lib");
  EXPECT_EQ(files_after("mv lib libs && cd libs && echo 1 > y.jar && echo new > n.jar && "
                        "echo new > node_modules/a/n && echo new > node_modules/f && echo new > a.pyc && "
                        "echo 4 > .coverage.host"),
            (Paths{".gitignore", "libs/.coverage", "libs/node_modules/a/f", "libs/x.jar", "libs/y.jar"}))
      << "y.jar has the content and the suffix of a moved file";
  EXPECT_EQ(files_after("mv lib libs && cd libs && for f in x.jar node_modules/a/f .coverage; do "
                        "echo forged > $f; done && echo 1 > a"),
            (Paths{".gitignore", "libs/a"}));
}

TEST_F(MovedTest, ALostFileIsNamed) {
  commit(
      "printf '*.jar\\nout/\\n' > .gitignore && mkdir -p old/__pycache__ && echo 1 > a.jar && "
      "echo 2 > old/__pycache__/inner.cpython-311.pyc && echo 3 > old/a && echo 4 > main.py && git add -f "
      "a.jar");
  const auto lost = [&](const std::string& script, bool keeps = false) {
    std::string out;
    for (const auto& [from, to] : work_of(layer(script), keeps).lost) out += from + " " + to + "\n";
    return out;
  };
  const std::string cache = "__pycache__/inner.cpython-311.pyc";
  for (const bool keeps : {false, true}) {
    EXPECT_EQ(lost("mv old/__pycache__ dir && rm -r old", keeps), "old/" + cache + " dir/" + cache + "\n");
    EXPECT_EQ(lost("mv old new && echo 9 > new/" + cache, keeps), "old/" + cache + " new/" + cache + "\n");
    EXPECT_EQ(lost("mv old new", keeps), "");
    EXPECT_EQ(lost("rm -r old", keeps), "");
  }
  EXPECT_EQ(lost("mv a.jar b.jar && echo 9 > b.jar"), "a.jar b.jar\n");
  EXPECT_EQ(lost("mkdir out && mv main.py out && echo 9 > out/main.py"), "main.py out/main.py\n");
  EXPECT_EQ(lost("mv old out && echo 9 > out/a"), "old/a out/a\n") << "the cache is kept";
  EXPECT_EQ(lost("mv a.jar b.jar && echo 9 > c.jar"), "") << "the work has it";
  EXPECT_EQ(lost("mkdir out && cp main.py out && mv main.py other.py"), "") << "the work has it";
  EXPECT_EQ(lost("rm main.py a.jar && mkdir out && echo 9 > out/product"), "");
}

TEST_F(MovedTest, ACopyIsNotKept) {
  commit(
      "printf '*.jar\\ndist/\\n' > .gitignore && mkdir -p lib/node_modules/a && echo 1 > lib/x.jar && "
      "echo 2 > lib/node_modules/a/f && echo 3 > lib/.coverage && echo 4 > app.js && git add -f lib");
  const auto before = files_of({});
  for (const bool keeps : {false, true})
    EXPECT_EQ(files_after("mkdir libs && cp lib/.coverage libs", keeps), before);
  EXPECT_EQ(files_after("mkdir libs && cp -r lib/. libs"), before);
  EXPECT_EQ(files_after("mkdir dist && cp app.js dist"), before);
  // A product of what the file was, or of a file that is elsewhere now.
  EXPECT_EQ(files_after("mkdir dist && cp app.js dist && echo 5 > app.js"), before);
  auto moved = before;
  std::ranges::replace(moved, std::string("app.js"), std::string("application.js"));
  std::ranges::sort(moved);
  EXPECT_EQ(files_after("mkdir dist && cp app.js dist && mv app.js application.js"), moved);
}

// An agent replaces a vendored package by one that it installs, and deletes files as empty as those of a
// virtual environment.
TEST_F(MovedTest, AnInstalledPackageIsNotAMovedFile) {
  commit(
      "echo .venv/ > .gitignore && mkdir -p vendor/a tests && echo 1 > vendor/a/index.js && "
      "touch tests/__init__.py && echo 2 > vendor/six.py");
  EXPECT_EQ(files_after("mkdir node_modules && cp -r vendor/a node_modules && mkdir -p .venv/lib venv/lib && "
                        "touch .venv/lib/__init__.py venv/lib/__init__.py venv/pyvenv.cfg && "
                        "cp vendor/six.py venv/lib && rm -r vendor tests"),
            Paths{".gitignore"});
}

// Otherwise a tool could read a cache of the source at a place where the source has none.
TEST_F(MovedTest, NoFolderOfTheSourceGetsACacheOfAnother) {
  commit(
      "mkdir -p old/__pycache__ && echo 1 > old/__pycache__/inner.cpython-311.pyc && echo 2 > old/.coverage "
      "&& echo 3 > old/a.pyc && echo 4 > old/a");
  for (const bool keeps : {false, true}) {
    EXPECT_EQ(files_after("mv old/__pycache__ dir && mv old/.coverage . && rm -r old", keeps), Paths{});
    EXPECT_FALSE(
        View(workspaces_->trees_of(base_.base_id,
                                   {work_of(layer("mv old/__pycache__ dir && rm -r old"), keeps).layer_id}))
            .has_folder("dir/__pycache__"));
    EXPECT_EQ(
        files_after("mv old new && mv new/a.pyc new/b.pyc && mv new/.coverage new/.coverage.one", keeps),
        (Paths{"new/__pycache__/inner.cpython-311.pyc", "new/a"}))
        << "the name of a cache is part of it";
    EXPECT_EQ(files_after("mv old/a.pyc old/b.pyc", keeps), files_of({})) << "it stays where it was";
  }
}

// A folder as its user has it: bytecode and secrets that no commit has.
TEST_F(MovedTest, WhatTheSourceIgnoresStaysLeftOut) {
  git("mkdir -p pkg/node_modules && printf '*.env\\n__pycache__/\\nnode_modules/\\n' > .gitignore && "
      "echo 1 > pkg/a && git add -A && git commit -q -m pkg && mkdir pkg/__pycache__ && "
      "echo secret > pkg/local.env && echo 2 > pkg/__pycache__/a.pyc && echo 3 > pkg/node_modules/m");
  take_folder();
  EXPECT_EQ(files_after("mv pkg lib"), (Paths{".gitignore", "lib/a"}));
  EXPECT_EQ(files_after("mv pkg lib", true),
            (Paths{".gitignore", "lib/a", "lib/local.env", "lib/node_modules/m"}));
}

TEST_F(MovedTest, AFolderInNoRepositoryKeepsItsFilesToo) {
  git("rm -rf .git && mkdir -p tests/x.egg-info action/node_modules && echo 1 > tests/x.egg-info/PKG-INFO && "
      "echo 2 > action/node_modules/m");
  take_folder();
  EXPECT_EQ(files_after("mv tests test && mv action actions"),
            (Paths{"actions/node_modules/m", "test/x.egg-info/PKG-INFO"}));
  EXPECT_EQ(files_after("mv tests test", true), (Paths{"action/node_modules/m", "test/x.egg-info/PKG-INFO"}));
}

TEST_F(MovedTest, ALaterPhaseWorksOnWhatWasMoved) {
  commit(
      "printf '*.jar\\nlib/\\n' > .gitignore && mkdir -p core tests && echo 1 > a.jar && echo 2 > core/f && "
      "echo 3 > tests/.coverage && git add -f a.jar");
  const auto first = work_of(layer("mv a.jar b.jar && mv core lib && mv tests test"), false).layer_id;
  const auto after = [&](const std::string& script) {
    return files_of({work_of(layer(script, {first}), false, {first}).layer_id, first});
  };
  EXPECT_EQ(files_of({first}), (Paths{".gitignore", "b.jar", "lib/f", "test/.coverage"}));
  EXPECT_EQ(after("mv b.jar c.jar && mv lib core && mv test testing"),
            (Paths{".gitignore", "c.jar", "core/f", "testing/.coverage"}));
  EXPECT_EQ(after("rm b.jar && rm -r lib && echo x > n.jar"), (Paths{".gitignore", "test/.coverage"}));
  EXPECT_EQ(work_of(layer("echo 2 > b.jar && echo 3 > lib/f", {first}), false, {first}).ignored_entries, 0);
}

TEST_F(MovedTest, ALaterStepOfAGateSeesIt) {
  commit("mkdir -p tests/x.egg-info && echo 1 > tests/x.egg-info/PKG-INFO && echo 2 > tests/a");
  const auto agents = work_of(layer("mv tests test"), false).layer_id;
  const auto seen = [&](const std::string& script) {
    const auto step = layer(script, {agents});
    const auto lid = workspaces_->lid(base_.base_id, {}, {step, agents}, {});
    EXPECT_TRUE(lid) << lid.error().message;
    Paths layers{step, agents};
    if (!lid->empty()) layers.insert(layers.begin(), *lid);
    const View view(workspaces_->trees_of(base_.base_id, layers));
    Paths out;
    view.each_file("test", [&](const auto& path) { out.push_back(path); });
    return out;
  };
  EXPECT_EQ(seen("echo built > product"), (Paths{"test/a", "test/x.egg-info/PKG-INFO"}));
  EXPECT_EQ(
      seen("echo forged > test/x.egg-info/more && mkdir test/__pycache__ && echo > test/__pycache__/a.pyc"),
      (Paths{"test/a", "test/x.egg-info/PKG-INFO"}));
  EXPECT_EQ(seen("echo forged > test/x.egg-info/PKG-INFO"), Paths{"test/a"});
}

}  // namespace
}  // namespace pawl::workspace
