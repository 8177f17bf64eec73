// Many layers as a few: the same content as merging all at once, without repeating earlier merges.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "support/seeds.h"
#include "support/temp_folder.h"
#include "workspace/random_work.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

using testing::RandomWork;
using testing::TempFolder;
namespace fs = std::filesystem;
using Ids = std::vector<std::string>;

class StackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write("top", "top");
    write("a/one", "1");
    write("a/b/two", "2");
    write("a/b/three", "3");
    write("c/four", "4");
    base_ = workspaces_.snapshot_directory(tree_)->base_id;
  }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(tree_ + "/" + path).parent_path());
    ASSERT_TRUE(os::write_atomically(tree_ + "/" + path, text));
  }

  // The difference between the tree and `below` (topmost first), as a sandbox without overlayfs leaves it.
  std::string layer(const Ids& below) {
    const std::string upper = temp_ / "upper";
    EXPECT_EQ(std::system(("cp -a " + tree_ + " " + upper).c_str()), 0);
    const auto collected = workspaces_.collect(upper, workspaces_.trees_of(base_, below), true);
    EXPECT_TRUE(collected) << collected.error().message;
    return collected->layer_id;
  }

  // Layers that each write a separate file, topmost first.
  Ids files(int count) {
    Ids out;
    for (int i = 0; i < count; ++i) {
      write("files/" + std::to_string(i), std::to_string(i));
      out.insert(out.begin(), layer(out));
    }
    return out;
  }

  Ids stack(const Ids& layers) {
    auto out = workspaces_.stack(base_, layers);
    EXPECT_TRUE(out) << out.error().message;
    return out.value_or(Ids());
  }
  static Ids lowest(const Ids& layers, std::size_t count) {
    return {layers.end() - static_cast<std::ptrdiff_t>(count), layers.end()};
  }

  std::size_t objects(const std::string& kind) {
    return os::list_folder(temp_ / ("pawl/objects/" + kind))->size();
  }

  TempFolder temp_;
  const std::string tree_ = temp_ / "tree";
  Workspaces workspaces_ = *Workspaces::open(temp_ / "pawl");
  std::string base_;
};

TEST_F(StackTest, HasTheContentOfAllThatWereMergedAtOnce) {
  testing::with_seeds(3, [this](unsigned seed) {
    fs::remove_all(tree_);
    SetUp();
    RandomWork agent(tree_, seed);
    Ids layers;
    for (int i = 0; i < 36; ++i) {
      agent.work();
      // The layer lies on the stack that the next attempt sees.
      auto next = layer(stack(layers));
      if (!next.empty()) layers.insert(layers.begin(), std::move(next));
      const auto few = stack(layers);
      ASSERT_LE(few.size(), 9U);
      const auto at_once = *workspaces_.merge(base_, {}, layers);
      ASSERT_EQ(*workspaces_.merge(base_, {}, few), at_once) << "after " << layers.size() << " layers";
      ASSERT_EQ(layer(few), "") << "overlayfs shows what the agent left";
      ASSERT_EQ(layer(at_once.empty() ? Ids() : Ids{at_once}), "");
    }
    ASSERT_GT(layers.size(), 15U);
  });
}

TEST_F(StackTest, OneMoreLayerCostsNothingOfThoseBelow) {
  const auto layers = files(64);
  for (std::size_t count = 1; count <= 64; ++count) {
    stack(lowest(layers, count));
    // Merged layers are not read again, and merges of them are not either.
    if (count % 16 != 0) continue;
    for (std::size_t i = count - 16; i < count; ++i)
      ASSERT_TRUE(os::remove_tree(temp_ / ("pawl/objects/layers/" + layers[63 - i])));
  }
  ASSERT_EQ(stack(layers).size(), 1U);
  EXPECT_EQ(objects("layers"), 12U + 3U + 1U)
      << "no more than a merge for four layers, one for four of these, and so on";
  EXPECT_EQ(workspaces_.manifest(stack(layers).front())->size(), 65U) << "64 files and their folder";
}

TEST_F(StackTest, WhatGcTookIsMadeAgain) {
  const auto layers = files(21);
  const auto before = stack(layers);
  Ids keep = layers;
  keep.push_back(base_);
  const auto garbage = *workspaces_.garbage(keep);
  EXPECT_EQ(garbage.layers.size(), 2U) << "of sixteen and of four";
  EXPECT_EQ(garbage.merges.size(), 2U);
  for (const auto& path : garbage.layers) ASSERT_TRUE(os::remove_tree(temp_ / ("pawl/" + path)));
  EXPECT_EQ(stack(layers), before) << "a cache that names what is gone";
  for (const auto& id : before) EXPECT_TRUE(workspaces_.has_layer(id));
  for (const auto& path : garbage.merges) static_cast<void>(os::remove_tree(temp_ / ("pawl/" + path)));
  EXPECT_EQ(stack(layers), before);
  for (const auto& id : before) EXPECT_TRUE(workspaces_.has_layer(id));
}

TEST_F(StackTest, ATornCacheIsNoLayer) {
  const auto layers = files(4);
  const auto before = stack(layers);
  const std::string merges = temp_ / "pawl/objects/merges";
  const auto names = *os::list_folder(merges);
  ASSERT_EQ(names.size(), 1U);
  for (const auto& text : {"", "no", "0123456789012345678901234567890123456789012345678901234567890123"}) {
    ASSERT_TRUE(os::write_atomically(os::join(merges, names.front()), text));
    EXPECT_EQ(stack(layers), before) << text;
  }
}

TEST_F(StackTest, LayersThatUndoEachOtherAreNone) {
  Ids layers;
  for (int i = 0; i < 4; ++i) {
    if (i % 2 == 0)
      write("new", "new");
    else
      fs::remove(tree_ + "/new");
    layers.insert(layers.begin(), layer(layers));
  }
  for (int again = 0; again < 2; ++again) EXPECT_EQ(stack(layers), Ids());
  write("later", "later");
  layers.insert(layers.begin(), layer(layers));
  EXPECT_EQ(stack(layers), Ids{layers.front()});
}

TEST_F(StackTest, TheSameLayersOverAnotherBaseAreAnotherMerge) {
  const auto layers = files(4);
  stack(layers);
  fs::remove_all(tree_);
  write("files/0", "of the base");
  const auto other = workspaces_.snapshot_directory(tree_)->base_id;
  ASSERT_TRUE(workspaces_.stack(other, layers));
  EXPECT_EQ(objects("merges"), 2U);
}

// Phases of a parallel tier work side by side: one changes a folder's permissions. Another, accepted later,
// changes a file in it.
TEST_F(StackTest, ALayerThatDidNotSeeAFoldersPermissionsKeepsThem) {
  fs::permissions(tree_ + "/a", fs::perms(0700));
  const auto first = layer({});
  fs::permissions(tree_ + "/a", fs::perms(0755));
  write("a/one", "changed");
  const auto second = layer({});
  fs::permissions(tree_ + "/a", fs::perms(0700));
  const auto few = stack({second, first});
  EXPECT_EQ(layer(few), "") << "the folder as the first layer left it";
  EXPECT_EQ(*workspaces_.merge(base_, {}, few), *workspaces_.merge(base_, {}, {second, first}));
}

}  // namespace
}  // namespace pawl::workspace
