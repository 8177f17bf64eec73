// Base and layers show what the step saw, for any tree and whatever was done to it, however the workspace was
// made.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "base/hash.h"
#include "support/temp_folder.h"
#include "workspace/own_mounts.h"
#include "workspace/random_work.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

using testing::enter_namespaces;
using testing::listing_of;
using testing::RandomWork;
using testing::TempFolder;
using testing::use_memory_if_it_has_attributes;
namespace fs = std::filesystem;
using Ids = std::vector<std::string>;
using Listing = std::map<std::string, std::string>;

// Applies the manifest to the tree `before`, as another program would. The contents of files come from
// `after`.
Listing by_manifest(Listing before, const std::vector<Entry>& manifest, const Listing& after) {
  for (const auto& entry : manifest) {
    const bool is_folder = entry.type == EntryType::kFolder;
    const auto there = before.find(entry.path);
    if (!is_folder || there == before.end() || !there->second.starts_with("folder"))
      std::erase_if(before, [&](const auto& each) {
        return each.first == entry.path || each.first.starts_with(entry.path + "/");
      });
    if (entry.type == EntryType::kDeleted) continue;
    if (is_folder) before[entry.path] = "folder " + std::to_string(entry.mode);
    if (entry.type == EntryType::kSymlink) before[entry.path] = "link " + entry.content;
    if (entry.type != EntryType::kFile) continue;
    // The manifest has its hash only.
    const auto seen = after.find(entry.path);
    const std::string start = "file " + std::to_string(entry.mode) + " ";
    const bool fits = seen != after.end() && seen->second.starts_with(start) &&
                      blake3_hex(seen->second.substr(start.size())) == entry.content;
    before[entry.path] = fits ? seen->second : "another file";
  }
  return before;
}

enum class Made { kOverlay, kCopy };

class LayersTest : public ::testing::TestWithParam<Made> {
 protected:
  static void SetUpTestSuite() {
    enter_namespaces();
    use_memory_if_it_has_attributes();
  }

  // Mounts the accepted tree as the next step sees it.
  void mount_accepted() {
    const auto few = workspaces_.stack(base_, layers_);
    ASSERT_TRUE(few) << few.error().message;
    lower_ = workspaces_.trees_of(base_, *few);
    for (const std::string folder : {"rw/upper", "rw/work", "merged"})
      ASSERT_TRUE(os::make_folders(temp_ / folder));
    std::string options =
        "userxattr,volatile,upperdir=" + (temp_ / "rw/upper") + ",workdir=" + (temp_ / "rw/work");
    for (const auto& tree : lower_) options += (&tree == &lower_.front() ? ",lowerdir=" : ":") + tree;
    ASSERT_EQ(mount("overlay", (temp_ / "merged").c_str(), "overlay", 0, options.c_str()), 0)
        << std::strerror(errno);
  }
  void unmount() {
    ASSERT_EQ(umount((temp_ / "merged").c_str()), 0);
    ASSERT_TRUE(os::remove_tree(temp_ / "rw"));
  }

  // Runs a step of random work on the accepted tree and accepts its layer. Returns the tree that the step
  // left.
  Listing step(unsigned seed) {
    Listing after;
    mount_accepted();
    const std::string merged = temp_ / "merged", copy = temp_ / "copy", upper = temp_ / "upper";
    if (GetParam() == Made::kCopy)
      fs::copy(merged, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    RandomWork(GetParam() == Made::kCopy ? copy : merged, seed).work();
    after = listing_of(GetParam() == Made::kCopy ? copy : merged);
    EXPECT_EQ(umount(merged.c_str()), 0);
    fs::rename(GetParam() == Made::kCopy ? copy : temp_ / "rw/upper", upper);
    EXPECT_TRUE(os::remove_tree(temp_ / "rw"));
    const auto collected = workspaces_.collect(upper, lower_, GetParam() == Made::kCopy);
    EXPECT_TRUE(collected) << collected.error().message;
    EXPECT_EQ(collected->refused, std::vector<std::string>());
    if (!collected->layer_id.empty()) layers_.insert(layers_.begin(), collected->layer_id);
    return after;
  }

  TempFolder temp_;
  Workspaces workspaces_ = *Workspaces::open(temp_ / "pawl");
  std::string base_;
  Ids layers_;  // accepted, topmost first
  std::vector<std::string> lower_;
};

constexpr unsigned kHistories = 1000;  // of five steps each, a way of making workspaces
constexpr int kSteps = 5;

TEST_P(LayersTest, ShowWhatTheStepSaw) {
  for (unsigned seed = 1; seed <= kHistories; ++seed) {
    layers_.clear();
    const std::string source = temp_ / "source";
    ASSERT_TRUE(os::make_folders(source));
    for (unsigned i = 0; i < 4; ++i) RandomWork(source, seed * 1000 + i).work();
    const auto base = workspaces_.snapshot_directory(source);
    ASSERT_TRUE(base) << base.error().message;
    base_ = base->base_id;
    Listing before = listing_of(source);
    for (int i = 0; i < kSteps; ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(i));
      const auto known = layers_;
      const Listing after = step(seed * 100 + static_cast<unsigned>(i));
      if (layers_ == known)
        ASSERT_EQ(after, before);
      else
        ASSERT_EQ(by_manifest(before, *workspaces_.manifest(layers_.front()), after), after)
            << "by its manifest";
      mount_accepted();
      ASSERT_EQ(listing_of(temp_ / "merged"), after) << "for the next step";
      unmount();
      before = after;
    }
    ASSERT_TRUE(os::remove_tree(source));
    ASSERT_TRUE(os::remove_tree(temp_ / "pawl/objects/layers"));
    ASSERT_TRUE(os::make_folders(temp_ / "pawl/objects/layers"));
  }
}

INSTANTIATE_TEST_SUITE_P(Workspaces, LayersTest, ::testing::Values(Made::kOverlay, Made::kCopy),
                         [](const auto& made) { return made.param == Made::kOverlay ? "overlay" : "copy"; });

}  // namespace
}  // namespace pawl::workspace
