// Where Pawl makes its cgroups on other kinds of machines: fake trees below a folder.
#include "sandbox/namespace/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "support/temp_folder.h"

namespace pawl::sandbox {
namespace {

using testing::TempFolder;

constexpr char kId[] = "01a2113f-3b6c-7916-86cf-686a05d773a2";

class CgroupTree {
 public:
  void put(const std::string& path, const std::string& text) {
    const std::string whole = root() + "/" + path;
    PAWL_CHECK(os::make_folders(os::folder_of(whole)));
    PAWL_CHECK(os::write_atomically(whole, text));
  }
  std::string root() const { return temp_ / "cgroup"; }

 private:
  TempFolder temp_;
};

TEST(CgroupHome, IsTheNearestDelegatedFolderOfV2) {
  CgroupTree tree;
  tree.put("cgroup.controllers", "cpu memory pids\n");
  tree.put("cgroup.subtree_control", "cpu memory pids\n");
  tree.put("user.slice/cgroup.subtree_control", "cpu memory pids\n");
  tree.put("user.slice/user-1000.slice/user@1000.service/cgroup.subtree_control", "cpuset memory pids\n");
  tree.put("user.slice/user-1000.slice/user@1000.service/cgroup.procs", "");
  tree.put("user.slice/user-1000.slice/user@1000.service/app.slice/pawl.scope/cgroup.subtree_control", "");
  const auto home = find_cgroup_home(
      tree.root(), "0::/user.slice/user-1000.slice/user@1000.service/app.slice/pawl.scope\n");
  ASSERT_EQ(home.kind, CgroupKind::kV2);
  EXPECT_EQ(home.controllers.front().folder, tree.root() + "/user.slice/user-1000.slice/user@1000.service");
  EXPECT_TRUE(home.limits("memory"));
  EXPECT_TRUE(home.limits("pids"));
  EXPECT_FALSE(home.limits("cpu")) << "it is not delegated there";
  EXPECT_TRUE(home.counts_cpu()) << "cpu.stat needs no controller";
}

TEST(CgroupHome, IsNoneInV2WithoutTheControllers) {
  CgroupTree tree;
  tree.put("cgroup.controllers", "cpu memory pids\n");
  tree.put("cgroup.subtree_control", "cpu\n");
  tree.put("a/cgroup.subtree_control", "memory\n");
  EXPECT_EQ(find_cgroup_home(tree.root(), "0::/a\n").kind, CgroupKind::kNone);
}

TEST(CgroupHome, IsAFolderOfEachControllerInV1) {
  CgroupTree tree;
  for (const char* folder : {"memory/docker/abc/x", "pids/x", "cpu/y/x", "cpuacct/y/x"}) tree.put(folder, "");
  const auto home =
      find_cgroup_home(tree.root(), "4:memory:/docker/abc\n3:cpu,cpuacct:/y\n2:pids:/not/mounted/here\n");
  ASSERT_EQ(home.kind, CgroupKind::kV1);
  ASSERT_EQ(home.controllers.size(), 4U);
  EXPECT_EQ(home.controllers[0].folder, tree.root() + "/memory/docker/abc");
  EXPECT_EQ(home.controllers[1].folder, tree.root() + "/pids") << "the mount's root: in a container ours";
  EXPECT_EQ(home.controllers[2].folder, tree.root() + "/cpu/y");
  EXPECT_EQ(home.controllers[3].folder, tree.root() + "/cpuacct/y");
  EXPECT_TRUE(home.counts_cpu());
}

TEST(CgroupHome, OfControllersThatAreMountedApartFitsIntoWhatAChildCanHold) {
  CgroupTree tree;
  for (const std::string folder : {"memory", "pids", "cpu", "cpuacct", "cpuset"}) tree.put(folder + "/x", "");
  const Cgroup cgroup(find_cgroup_home(tree.root(), ""), kId, {});
  EXPECT_EQ(cgroup.size(), 5U);
  EXPECT_LE(cgroup.size(), kCgroupsMax);
}

TEST(CgroupHome, HasOneFolderForControllersOfOneHierarchy) {
  CgroupTree tree;
  for (const char* folder : {"memory/x", "pids/x", "cpu,cpuacct/x"}) tree.put(folder, "");
  for (const char* link : {"/cpu", "/cpuacct"})
    ASSERT_EQ(symlink("cpu,cpuacct", (tree.root() + link).c_str()), 0);
  const auto home = find_cgroup_home(tree.root(), "");
  ASSERT_EQ(home.controllers.size(), 4U);
  EXPECT_EQ(home.controllers[2].folder, home.controllers[3].folder);
  EXPECT_TRUE(home.limits("cpu"));
  EXPECT_TRUE(home.counts_cpu());
  EXPECT_EQ(Cgroup(home, kId, {.cpu_millis = 1}).size(), 3U)
      << "memory, pids, and one that limits and counts";
  EXPECT_EQ(Cgroup(home, kId, {.cpu_millis = 1'000'000}).size(), 3U) << "one that only counts";
}

TEST(CgroupHome, IsNoneWithoutAny) {
  CgroupTree tree;
  EXPECT_EQ(find_cgroup_home(tree.root(), "0::/\n").kind, CgroupKind::kNone);
}

TEST(SweepCgroups, TakesThoseOfSandboxesWhoseMakersAreDeadWhereverTheyAre) {
  CgroupTree tree;
  tree.put("cgroup.controllers", "cpu memory pids\n");
  const std::string dead = "/system.slice/pawl-worker.service/pawl-" + std::string(kId);
  const std::string living = "/user.slice/pawl-" + std::string(kId);
  for (const auto& folder : {dead, living, std::string("/pawl-worker.slice"),
                             std::string("/pawl-nobody-knows-whose-that-may-be-here")})
    ASSERT_TRUE(os::make_folders(tree.root() + folder));
  const os::UniqueFd lock(open((tree.root() + living).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  sweep_cgroups(tree.root());
  EXPECT_FALSE(os::exists(tree.root() + dead));
  for (const auto& folder :
       {living, std::string("/pawl-worker.slice"), std::string("/pawl-nobody-knows-whose-that-may-be-here")})
    EXPECT_TRUE(os::exists(tree.root() + folder)) << folder;
}

TEST(RemoveCgroups, FindsThoseOfOneSandboxInEveryHierarchy) {
  CgroupTree tree;
  const std::string other = "01a2113f-3b6c-7916-86cf-686a05d773a3";
  for (const auto& folder : {"/memory/a/b/pawl-" + std::string(kId), "/pids/pawl-" + std::string(kId),
                             "/cpuacct/pawl-" + std::string(kId), "/pids/c/pawl-" + other})
    ASSERT_TRUE(os::make_folders(tree.root() + folder));
  remove_cgroups(tree.root(), kId);
  EXPECT_FALSE(os::exists(tree.root() + "/memory/a/b/pawl-" + kId));
  EXPECT_FALSE(os::exists(tree.root() + "/pids/pawl-" + kId));
  EXPECT_FALSE(os::exists(tree.root() + "/cpuacct/pawl-" + kId));
  EXPECT_TRUE(os::exists(tree.root() + "/pids/c/pawl-" + other));
}

}  // namespace
}  // namespace pawl::sandbox
