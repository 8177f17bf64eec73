// The cgroups of one sandbox: v2 where a delegated folder is writable, otherwise v1 controllers, otherwise no cgroup.
//
// Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/{memory,pids}.rst; clone3 with
// CLONE_INTO_CGROUP (5.7).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace pawl::sandbox {

enum class CgroupKind { kV2, kV1, kNone };

// The folders in which this process may make cgroups.
struct CgroupHome {
  CgroupKind kind = CgroupKind::kNone;
  // v2: one folder. v1: one folder for each available controller.
  struct Controller {
    std::string name;  // memory | pids | cpu | cpuacct | cpuset | unified
    std::string folder;
    std::string mount;  // v1: the name of the mount, which may have several controllers ("cpu,cpuacct")
  };
  std::vector<Controller> controllers;
  bool limits(std::string_view controller) const;  // can limit memory, pids or cpu
  bool counts_cpu() const;                         // all processes, whether waited for or not
};

// Finds the folders below `root` (/sys/fs/cgroup) for a process whose /proc/self/cgroup reads `own`.
CgroupHome find_cgroup_home(const std::string& root, const std::string& own);
// Whether the unified hierarchy is mounted at the usual place, so that a process can be made inside a cgroup.
bool cgroups_are_unified();
// The folders for this process, decided once. In a build with PAWL_TEST_HOOKS, PAWL_CGROUP=none hides all of them.
const CgroupHome& cgroup_home();
inline constexpr char kCgroupRoot[] = "/sys/fs/cgroup";

struct CgroupLimits {
  std::int64_t memory_mib = 0, pids = 0, cpu_millis = 0;
};

struct CgroupUse {
  std::int64_t oom_kills = 0;
  std::int64_t memory_peak_kib = 0;    // 0: unknown
  std::optional<std::int64_t> cpu_ms;  // nullopt: no cgroup counts it
};

// A cgroup as its programs find it: at `target`, and at each of `links`, which are symlinks to it.
struct CgroupView {
  std::string folder, target;
  std::vector<std::string> links;
};

// The cgroups of one sandbox, named "pawl-<sandbox_run_id>". There is no cgroup where this process may not make one.
// remove() removes them. A cgroup that it cannot remove stays, and Backend::end() finds it.
//
// Each cgroup is held by flock(2) for the life of this object. By this lock sweep_cgroups() distinguishes a
// living cgroup from one whose maker has died. An empty list of processes does not tell them apart: perhaps no
// process has joined yet, or the usage is still to be read. A pid does not tell them apart across pid namespaces.
class Cgroup {
 public:
  Cgroup(const CgroupHome& home, const std::string& sandbox_run_id, const CgroupLimits& limits);
  // True (v1): the command starts outside and joins each cgroup. False (v2): the sandbox's first process is
  // made inside the only cgroup.
  bool is_joined() const { return !v2_; }
  std::size_t size() const { return folders_.size(); }
  // The cgroups at the places of the usual mounts, where programs look for their limits.
  // They exist after make().
  const std::vector<CgroupView>& views() const { return views_; }
  // Makes the cgroup of this index and sets its limits. Returns a descriptor that this object owns: for
  // CLONE_INTO_CGROUP (v2) or join_cgroup() (v1). kUnavailable: sweeps removed it again and again.
  Result<int> make(std::size_t index);
  CgroupUse use() const;
  // Removes the cgroups without processes, which takes the kernel a tenth of a millisecond.
  void remove_empty();
  void remove();

 private:
  bool v2_;
  CgroupLimits limits_;
  std::vector<CgroupHome::Controller> folders_;  // controller, this sandbox's folder
  std::vector<CgroupView> views_;
  std::vector<os::UniqueFd> held_;
};

inline constexpr std::array<std::string_view, 5> kControllersOfV1 = {"memory", "pids", "cpu", "cpuacct",
                                                                     "cpuset"};
// For one sandbox: each controller of v1 may be mounted apart.
inline constexpr std::size_t kCgroupsMax = kControllersOfV1.size();

// Moves the calling thread into the cgroup of `tasks_fd`. False with errno.
bool join_cgroup(int tasks_fd);

// Removes the cgroups of this id anywhere below `root` (/sys/fs/cgroup). Their maker may have had another
// cgroup of its own than this process, as in another login.
void remove_cgroups(const std::string& root, const std::string& sandbox_run_id);
// Removes the cgroups of all sandboxes whose makers are dead.
void sweep_cgroups(const std::string& root);

}  // namespace pawl::sandbox
