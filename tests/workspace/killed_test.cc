// Collecting is killed at any point: a half-collected tree is never used, and a stored layer is whole. What
// killed, failed and stopped processes leave is removed.
#include "support/killed.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>

#include "workspace/objects.h"
#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

namespace fs = std::filesystem;

class KilledTest : public WorkspaceTest {
 protected:
  // Makes the result of a step in upper_, with all files written at `seconds`.
  void leave(bool copied, std::int64_t seconds) {
    fs::remove_all(upper_);
    if (copied)
      fs::copy(workspaces_->base_tree(base_.base_id), upper_,
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::create_directories(upper_ + "/dir/in");
    for (const char* name : {"/dir/new", "/dir/in/x", "/text", "/fresh"})
      ASSERT_TRUE(os::write_atomically(upper_ + name, name));
    fs::create_symlink("text", upper_ + "/other");
    if (copied) {
      for (const char* name : {"/doomed", "/dir/inner", "/dir/other"}) fs::remove(upper_ + name);
    } else {
      ASSERT_EQ(mknod((upper_ + "/doomed").c_str(), S_IFCHR, 0), 0);
      ASSERT_EQ(setxattr((upper_ + "/dir").c_str(), "user.overlay.opaque", "y", 1, 0), 0);
    }
    const std::array<timespec, 2> times = {timespec{.tv_sec = seconds, .tv_nsec = 0},
                                           timespec{.tv_sec = seconds, .tv_nsec = 0}};
    for (const char* name : {"/dir/new", "/dir/in/x", "/text", "/fresh", "/other", "/dir/in", "/dir"})
      ASSERT_EQ(utimensat(AT_FDCWD, (upper_ + name).c_str(), times.data(), AT_SYMLINK_NOFOLLOW), 0);
  }
  std::string collected(bool copied) {
    const auto collected = workspaces_->collect(upper_, lower_of({}), copied);
    EXPECT_TRUE(collected) << collected.error().message;
    return collected ? collected->layer_id : "";
  }
  bool kill_collecting(bool copied, int stops) {
    return testing::kill_at(
        stops, [&] { return workspaces_->collect(upper_, lower_of({}), copied).has_value() ? 0 : 1; });
  }

  const std::string upper_ = temp_ / "upper";
  static constexpr std::int64_t kThen = 1'600'000'000, kNow = 1'700'000'000;
  static constexpr int kEvery = 3;  // Only each third point: most points are of the same few calls.
};

TEST_F(KilledTest, LeavesAllOrNothingOfWhatTheStepLeft) {
  for (const bool copied : {false, true}) {
    leave(copied, kThen);
    const auto id = collected(copied);
    int untouched = 0, taken = 0;
    bool killed = true;
    for (int stops = 0; killed; stops += kEvery) {
      SCOPED_TRACE(std::to_string(stops) + (copied ? " copied" : ""));
      fs::remove_all(fs::path(workspaces_->layer_tree(id)).parent_path());
      leave(copied, kThen);
      killed = kill_collecting(copied, stops);
      ++(os::exists(upper_) ? untouched : taken);
      if (os::exists(upper_)) {
        ASSERT_EQ(collected(copied), id);
      }
      if (workspaces_->has_layer(id)) {
        ASSERT_TRUE(workspaces_->check_content("", {id}));
      }
    }
    EXPECT_GT(untouched, 1);
    EXPECT_GT(taken, 20);
  }
}

// The files of the new layer replace the stored ones one by one.
TEST_F(KilledTest, LeavesALayerThatIsFoundAgainWholeAndItsTimesToTheNext) {
  leave(false, kThen);
  const auto id = collected(false);
  const auto time_of = [&](const std::string& path) {
    struct stat status {};
    EXPECT_EQ(lstat((workspaces_->layer_tree(id) + path).c_str(), &status), 0) << path;
    return status.st_mtim.tv_sec;
  };
  bool killed = true;
  for (int stops = 0; killed; stops += kEvery) {
    SCOPED_TRACE(stops);
    leave(false, stops % 2 == 0 ? kNow : kThen);
    killed = kill_collecting(false, stops);
    const auto whole = workspaces_->check_content("", {id});
    ASSERT_TRUE(whole) << whole.error().message;
    // A folder may have the time of the kill, which builds take for a change.
    for (const char* path : {"/text", "/dir/in/x", "/other"})
      ASSERT_TRUE(time_of(path) == kNow || time_of(path) == kThen) << path;
    ASSERT_GE(time_of("/dir"), kThen);
    leave(false, kNow);
    ASSERT_EQ(collected(false), id);
    for (const char* path : {"/text", "/dir/in/x", "/other", "/dir", "/dir/in"})
      ASSERT_EQ(time_of(path), kNow) << path;
  }
}

// A snapshot or a gc of a large source leaves gigabytes when it is killed.
TEST_F(KilledTest, TemporariesAreGarbageAsSoonAsTheirMakersAreDead) {
  const std::string temporaries = temp_ / "pawl/objects/tmp";
  const auto lost = layer("echo 2 > b");
  const auto die_with = [&](const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);  // No destructor runs.
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  };
  const auto leave = [&] {
    die_with([&] {
      const auto made = make_temporary(temp_ / "pawl");
      if (!made || !os::make_folders(os::join(made->path(), "tree/deep"))) _exit(1);
      _exit(0);
    });
  };
  auto lives = make_temporary(temp_ / "pawl");
  ASSERT_TRUE(lives);
  sh("mkdir " + temporaries + "/Xr7abc");  // as an older Pawl has them, without a lock
  leave();
  die_with([&] {
    const auto detached = workspaces_->detach({"objects/layers/" + lost});
    _exit(detached ? 0 : 1);
  });
  EXPECT_FALSE(workspaces_->has_layer(lost));
  ASSERT_EQ(os::list_folder(temporaries)->size(), 4U);
  EXPECT_EQ(workspaces_->garbage({})->temporaries.size(), 2U);
  workspaces_->remove_left_over();
  EXPECT_EQ(os::list_folder(temporaries)->size(), 2U);
  EXPECT_TRUE(os::exists(lives->path()));
  sh("touch -d '2 hours ago' " + temporaries + "/*");
  EXPECT_EQ(workspaces_->garbage({})->temporaries, std::vector<std::string>{"objects/tmp/Xr7abc"});
}

TEST_F(KilledTest, ARemovalOfWhatIsLeftOverThatIsStoppedLeavesTheRestToTheNext) {
  const std::string temporaries = temp_ / "pawl/objects/tmp", tree = "/tree/many";
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 2; ++i)
      if (auto made = make_temporary(temp_ / "pawl"); made && os::make_folders(made->path() + tree))
        made->release();
    _exit(0);  // Nobody holds the folders any more.
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  sh("for tree in " + temporaries + "/*" + tree +
     "; do for i in $(seq 300); do echo $i > $tree/$i; done; done");
  const auto left = [&] { return std::stoi(sh("find " + temporaries + " -type f | wc -l")); };
  ASSERT_EQ(left(), 600);
  std::atomic<int> asked = 0;
  workspaces_->stop_when([&] { return asked++ >= 100; });
  workspaces_->remove_left_over();
  EXPECT_GT(left(), 450);
  EXPECT_LT(left(), 600);
  EXPECT_LT(asked, 110) << "nothing else is removed";
  workspaces_->remove_left_over();
  EXPECT_GT(left(), 450);
  workspaces_->stop_when({});
  workspaces_->remove_left_over();
  EXPECT_EQ(*os::list_folder(temporaries), std::vector<std::string>());
}

TEST_F(KilledTest, SnapshotsThatFailOrAreStoppedLeaveNothing) {
  const auto left = [&] { return os::list_folder(temp_ / "pawl/objects/tmp")->size(); };
  sh("cd " + source_ +
     " && for i in $(seq 300); do echo $i > dir/$i; done && git add -A && git commit -qm many");
  for (const int most : {0, 1, 40, 200}) {
    std::atomic<int> asked = 0;
    workspaces_->stop_when([&] { return asked++ >= most; });
    const auto of_commit = workspaces_->snapshot_git(source_, "HEAD");
    ASSERT_FALSE(of_commit) << most;
    EXPECT_EQ(of_commit.error().kind, ErrorKind::kCancelled);
    asked = 0;
    const auto of_folder = workspaces_->snapshot_directory(source_);
    ASSERT_FALSE(of_folder) << most;
    EXPECT_EQ(of_folder.error().kind, ErrorKind::kCancelled);
    EXPECT_EQ(left(), 0U) << most;
  }
  workspaces_->stop_when({});
  EXPECT_TRUE(workspaces_->snapshot_directory(source_));
  sh("cd " + source_ +
     " && ln -s \"$(printf '\\377')\" dir/zz && git add -A && git commit -qm 'a link that no base can have'");
  EXPECT_FALSE(workspaces_->snapshot_git(source_, "HEAD"));
  EXPECT_EQ(left(), 0U);
  EXPECT_EQ(workspaces_->garbage({base_.base_id})->bases.size(), 1U) << "of the folder";
}

}  // namespace
}  // namespace pawl::workspace
