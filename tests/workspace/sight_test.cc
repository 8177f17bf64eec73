// A gate sees protected paths as they were, whatever an agent or an earlier step left, and no caches of
// tools.
#include <gtest/gtest.h>

#include "workspace/random_work.h"
#include "workspace/repository.h"
#include "workspace/tool_caches.h"

namespace pawl::workspace {
namespace {

class SightTest : public WorkspaceTest {
 protected:
  // The entries of the base with the layers `above` (topmost first) and their lid.
  std::vector<std::string> seen(const std::vector<std::string>& above, const Workspaces::Sight& sight) {
    const auto lid = workspaces_->lid(base_.base_id, {}, above, sight);
    EXPECT_TRUE(lid) << lid.error().message;
    auto layers = above;
    if (!lid->empty()) layers.insert(layers.begin(), *lid);
    std::vector<std::string> out;
    const View view(workspaces_->trees_of(base_.base_id, layers));
    view.each_file("", [&](const std::string& path) {
      const auto entry = entry_of(*view.find(path), path);
      out.push_back(path + " " + std::to_string(entry->mode) + " " + entry->content.substr(0, 8));
    });
    return out;
  }
  std::vector<std::string> seen(const std::vector<std::string>& above) { return seen(above, {}); }
};

TEST_F(SightTest, ProtectedPathsAreAsTheyWereWhateverAStepDidToThem) {
  const auto before = seen({});
  const Workspaces::Sight sight{.paths = {.protect = {"dir"}}};
  for (const char* script :
       {"echo forged > dir/inner", "rm dir/inner", "rm -r dir", "rm -r dir && mkdir dir",
        "rm -r dir && ln -s /tmp dir", "rm -r dir && echo file > dir", "echo new > dir/new",
        "rm dir/inner && mkdir dir/inner && echo new > dir/inner/x", "mv dir other && rm -r other",
        "chmod +x dir/inner", "rm dir/inner && ln -s ../text dir/inner"}) {
    const auto one = layer(script);
    EXPECT_EQ(seen({one}, sight), before) << script;
    EXPECT_NE(seen({one}), before) << script;
  }
  const auto first = layer("rm -r dir"), second = layer("mkdir dir && echo forged > dir/inner", {first});
  EXPECT_EQ(seen({second, first}, sight), before);
}

TEST_F(SightTest, WhatIsNewStaysWhereOnlyWhatIsThereIsProtected) {
  const auto before = seen({});
  const Workspaces::Sight existing{.paths = {.protect_existing = {"dir/**"}}}, only{.only = {"text"}};
  for (const auto& sight : {existing, only}) {
    EXPECT_EQ(seen({layer("echo forged > dir/inner && rm dir/other")}, sight), before);
    EXPECT_EQ(seen({layer("echo built > dir/new")}, sight).size(), before.size() + 1);
  }
  EXPECT_NE(seen({layer("echo work > text")}, only), before);
}

TEST_F(SightTest, CachesAreNotThereUnlessTheyWere) {
  const auto before = seen({});
  for (const char* path :
       {"__pycache__/a.cpython-311.pyc", "dir/__pycache__/b.pyc", "dir/b.pyo", ".pytest_cache/v/x",
        ".mypy_cache/x", "dir/.ruff_cache/x", "x.egg-info/entry_points.txt", "a.tsbuildinfo", ".eslintcache",
        ".gradle/x", "_Inline/lib/x.so", "__pycache__/.coverage"}) {
    const auto one = layer("mkdir -p $(dirname " + std::string(path) + ") && echo 1 > " + path);
    EXPECT_EQ(seen({one}), before) << path;
    EXPECT_FALSE(cache_at(path).empty());
  }
  for (const char* path : {".coverage", ".coverage.host.1", "dir/a.gcda", ".nyc_output/x.json"}) {
    const auto one = layer("mkdir -p $(dirname " + std::string(path) + ") && echo 1 > " + path);
    EXPECT_EQ(seen({one}).size(), before.size() + 1) << "a later step reads " << path;
    EXPECT_FALSE(cache_at(path).empty()) << path;
  }
  for (const char* path : {"cache/a", "dir/pyc", "a.py", "coverage", ".coveragerc", ".cached", "src/tox"})
    EXPECT_TRUE(cache_at(path).empty()) << path;
  sh("cd " + source_ + " && mkdir -p __pycache__ && echo tracked > __pycache__/a.pyc");
  base_ = *workspaces_->snapshot_directory(source_);
  const auto tracked = seen({});
  EXPECT_EQ(seen({layer("echo forged > __pycache__/a.pyc; echo new > __pycache__/b.pyc")}), tracked);
}

TEST_F(SightTest, OnlyWhatAGateTakesIsInItsLayer) {
  const auto id =
      layer("mkdir -p src/deep && echo 1 > src/deep/a && echo 2 > text && rm doomed && mkdir empty");
  EXPECT_EQ(paths_of(*workspaces_->only(id, {"src/**"})),
            (std::vector<std::string>{"src", "src/deep", "src/deep/a"}));
  EXPECT_EQ(paths_of(*workspaces_->only(id, {"doomed", "text"})),
            (std::vector<std::string>{"doomed", "text"}));
  EXPECT_EQ(*workspaces_->only(id, {"**"}), id);
  EXPECT_EQ(*workspaces_->only(id, {"other"}), "");
}

TEST_F(SightTest, NewFilesAreToldWhereOnlyWhatIsThereIsProtected) {
  const auto id = layer("echo forged > dir/inner && echo new > dir/new");
  const auto all = workspaces_->without_protected(id, base_.base_id, {}, {.protect = {"dir/"}});
  EXPECT_EQ(all->protected_changes, (std::vector<std::string>{"dir/inner", "dir/new"}));
  EXPECT_EQ(all->new_refused, std::vector<std::string>{"dir/new"});
  const auto existing = workspaces_->without_protected(id, base_.base_id, {}, {.protect_existing = {"dir"}});
  EXPECT_EQ(existing->protected_changes, std::vector<std::string>{"dir/inner"});
  EXPECT_EQ(existing->new_taken, std::vector<std::string>{"dir/new"});
  EXPECT_EQ(paths_of(existing->layer_id), std::vector<std::string>{"dir/new"});
}

}  // namespace
}  // namespace pawl::workspace
