// The sandbox's own cgroups: v2 where a delegated folder is writable, else v1 controllers, else none.
//
// Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/{memory,pids}.rst; clone3 with
// CLONE_INTO_CGROUP (5.7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/file.h"

namespace pawl::sandbox {

enum class CgroupKind { kV2, kV1, kNone };

// Where this process may make cgroups.
struct CgroupHome {
  CgroupKind kind = CgroupKind::kNone;
  // v2: one folder. v1: the folders of the controllers that are there.
  struct Controller {
    std::string name;  // memory | pids | cpu | cpuacct | cpuset | unified
    std::string folder;
    std::string mount;  // of v1: the name of the mount, which can have several controllers ("cpu,cpuacct")
  };
  std::vector<Controller> controllers;
  bool limits(std::string_view controller) const;  // can bound memory, pids, cpu
  bool counts_cpu() const;                         // of every process, whoever waits for it
};

// Finds it below `root` (/sys/fs/cgroup) for a process whose /proc/self/cgroup says `own`.
CgroupHome find_cgroup_home(const std::string& root, const std::string& own);
// Whether the kernel has the unified hierarchy at the usual place, so that a process can be made inside a
// cgroup.
bool cgroups_are_unified();
// For this process, decided once. PAWL_CGROUP=none in a build with PAWL_TEST_HOOKS hides what is there.
const CgroupHome& cgroup_home();
inline constexpr char kCgroupRoot[] = "/sys/fs/cgroup";

struct CgroupLimits {
  std::int64_t memory_mib = 0, pids = 0, cpu_millis = 0;
};

struct CgroupUse {
  std::int64_t oom_kills = 0;
  std::int64_t memory_peak_kib = 0;    // 0: unknown
  std::optional<std::int64_t> cpu_ms;  // nothing: no cgroup counts it
};

// A cgroup as a program in it is to find it: at `target`, and at each of `links`, which lead there.
struct CgroupView {
  std::string folder, target;
  std::vector<std::string> links;
};

// The cgroups of one sandbox, named "pawl-<sandbox_run_id>"; none where there are none to have. Removed by
// remove(), which never throws away a failure: what is left is found by clean_up.
//
// Each is held by flock(2) as long as this lives: that tells sweep_cgroups() a living one from a dead one's,
// which an empty list of processes does not (nobody has joined yet; its use is still to be read), and a pid
// can't across pid namespaces.
class Cgroup {
 public:
  Cgroup(const CgroupHome& home, const std::string& sandbox_run_id, const CgroupLimits& limits);
  // In v2 the sandbox's first process is made inside of the one; in v1 it starts, and joins each.
  bool is_joined() const { return !v2_; }
  std::size_t size() const { return folders_.size(); }
  // Where the usual mounts show them, by which programs look for their limits. They are there once made.
  const std::vector<CgroupView>& views() const { return views_; }
  // A descriptor of ours: for CLONE_INTO_CGROUP; for join_cgroup.
  Result<int> make(std::size_t index);
  CgroupUse use() const;
  // Those that nobody is in any more, which takes the kernel a tenth of a millisecond.
  void remove_empty();
  void remove();

 private:
  bool v2_;
  CgroupLimits limits_;
  std::vector<CgroupHome::Controller> folders_;  // controller, this sandbox's folder
  std::vector<CgroupView> views_;
  std::vector<os::UniqueFd> held_;
};

inline constexpr std::size_t kCgroupsMax = 4;  // of one sandbox

// In the process that is to be in it.
bool join_cgroup(int tasks_fd);

// Wherever they are below `root` (/sys/fs/cgroup): whoever made them may have had another own cgroup than we,
// as in another login.
void remove_cgroups(const std::string& root, const std::string& sandbox_run_id);
// Those of all sandboxes whose makers are dead.
void sweep_cgroups(const std::string& root);

}  // namespace pawl::sandbox
