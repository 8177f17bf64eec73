#include "sandbox/namespace/cgroup.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <functional>

#include "base/lines.h"
#include "os/clock.h"
#include "os/process.h"

namespace pawl::sandbox {
namespace {

constexpr std::uint64_t kControlFileBytesMax = 16 << 10;
constexpr std::int64_t kCpuPeriodUs = 100'000;  // the kernel's default period
constexpr int kMakeTriesMax = 20;               // 1 ms each: a sweep holds a cgroup while it removes it
constexpr std::string_view kNameStart = "pawl-";
constexpr int kRemoveTries = 400;  // 5 ms each: a killed process leaves its cgroup when it is reaped

bool write_control(const std::string& path, const std::string& value) {
  const os::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

std::string read_control(const std::string& path) {
  auto text = os::read_file(path, kControlFileBytesMax);
  return text ? *std::move(text) : std::string();
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The text consists of "key value" lines. 0: the key is absent.
std::int64_t keyed(const std::string& text, std::string_view key) {
  for (const auto line : TextLines(text))
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
      return number(line.substr(key.size() + 1));
  return 0;
}

bool is_unified(const std::string& root) { return os::exists(root + "/cgroup.controllers"); }

bool is_writable_folder(const std::string& path) { return access((path + "/.").c_str(), W_OK | X_OK) == 0; }

// The path in the line of /proc/self/cgroup for a hierarchy: "0::/path" (v2) or "N:memory:/path" (v1).
std::string own_path(const std::string& own, std::string_view controller) {
  for (const auto line : TextLines(own)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string list = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const bool match =
        controller.empty() ? list == ",," : list.find("," + std::string(controller) + ",") != list.npos;
    if (match) return std::string(line.substr(second + 1));
  }
  return {};
}

std::string trimmed(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

// The nearest folder, from this process's cgroup upwards, that is writable and whose children get the memory
// and pids controllers. With systemd it is the delegated user@.service, or for root a slice.
std::optional<std::string> v2_home(const std::string& mount, const std::string& own) {
  std::string path = own_path(own, "");
  for (;;) {
    const std::string folder = trimmed(mount + path);
    const std::string enabled = " " + read_control(folder + "/cgroup.subtree_control");
    const bool has_both =
        enabled.find("memory") != std::string::npos && enabled.find("pids") != std::string::npos;
    if (has_both && is_writable_folder(folder)) return folder;
    if (path.empty() || path == "/") return std::nullopt;
    path = path.substr(0, path.rfind('/'));
  }
}

void remove_folder(const std::string& folder) {
  for (int i = 0; i < kRemoveTries; ++i) {
    if (rmdir(folder.c_str()) == 0 || errno != EBUSY) return;
    os::SystemClock().sleep_ms(5);
  }
}

// Resolves links: cpu and cpuacct are one hierarchy on most machines, at /sys/fs/cgroup/cpu,cpuacct.
std::string mount_of(const std::string& root, const std::string& controller) {
  std::error_code error;
  const std::string mount = std::filesystem::canonical(os::join(root, controller), error);
  return error ? os::join(root, controller) : mount;
}

// The name is "pawl-<uuid>". A user may have a pawl-worker.service that contains sandboxes.
bool is_name_of_sandbox(std::string_view name) {
  constexpr std::size_t kUuidSize = 36;
  return name.starts_with(kNameStart) && name.size() == kNameStart.size() + kUuidSize &&
         name.find_first_not_of("0123456789abcdef-", kNameStart.size()) == std::string_view::npos;
}

// Calls `on_found` for each folder of a sandbox below `root`, with the sandbox's id. Cgroups of other
// programs may come and go during the walk.
void for_each_sandbox(const std::string& root,
                      const std::function<void(const std::string& folder, std::string_view id)>& on_found) {
  const bool v2 = is_unified(root);
  for (const std::string_view hierarchy : kControllersOfV1) {
    std::vector<std::string> folders{v2 ? root : mount_of(root, std::string(hierarchy))};
    while (!folders.empty()) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      std::error_code gone;
      for (std::filesystem::directory_iterator at(folder, gone), end; !gone && at != end;
           at.increment(gone)) {
        std::error_code unknown;
        if (at->is_symlink(unknown) || !at->is_directory(unknown)) continue;
        const std::string name = at->path().filename();
        if (is_name_of_sandbox(name))
          on_found(at->path(), std::string_view(name).substr(kNameStart.size()));
        else
          folders.push_back(at->path());
      }
    }
    if (v2) return;
  }
}

// Takes the lock of a cgroup, which its maker holds. Empty when another process holds it, or when the cgroup
// was removed between open(2) and flock(2). A lock on a removed cgroup has no effect, and a new cgroup may
// have its path.
os::UniqueFd hold(const std::string& folder, bool v2) {
  const std::string path = v2 ? folder : folder + "/tasks";
  os::UniqueFd lock(open(path.c_str(), (v2 ? O_RDONLY | O_DIRECTORY : O_WRONLY) | O_CLOEXEC));
  struct stat held {
  }, there{};
  const bool is_held = lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && fstat(lock.get(), &held) == 0 &&
                       stat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino;
  return is_held ? std::move(lock) : os::UniqueFd();
}

// In the format of cpuset(7). A process may run only on the processors of its cpuset.
std::string processors_of_this_process() {
  cpu_set_t ours;
  if (sched_getaffinity(0, sizeof ours, &ours) != 0) return {};
  std::string list;
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &ours)) list += (list.empty() ? "" : ",") + std::to_string(processor);
  return list;
}

// A limit above the number of processors has no effect.
bool cpu_limit_binds(const CgroupLimits& limits) {
  cpu_set_t ours;
  return sched_getaffinity(0, sizeof ours, &ours) != 0 || limits.cpu_millis < 1000LL * CPU_COUNT(&ours);
}

Status limit(const CgroupHome::Controller& at, bool v2, const CgroupLimits& limits) {
  const std::string bytes = std::to_string(limits.memory_mib << 20);
  const std::string quota = std::to_string(limits.cpu_millis * kCpuPeriodUs / 1000);
  const auto set = [&](const std::string& file, const std::string& value, bool required) -> Status {
    const std::string path = at.folder + "/" + file;
    if (write_control(path, value) || !required) return {};
    return fail_errno(errno, "cgroup", path);
  };
  if (v2) {
    PAWL_OK(set("memory.max", bytes, true));
    PAWL_OK(set("memory.swap.max", "0", false));  // absent without swap accounting
    PAWL_OK(set("memory.oom.group", "1", false));
    PAWL_OK(set("pids.max", std::to_string(limits.pids), true));
    if (!cpu_limit_binds(limits)) return {};
    return set("cpu.max", quota + " " + std::to_string(kCpuPeriodUs), false);  // cpu may not be delegated
  }
  if (at.name == "memory") {
    PAWL_OK(set("memory.limit_in_bytes", bytes, true));
    return set("memory.memsw.limit_in_bytes", bytes, false);
  }
  if (at.name == "pids") return set("pids.max", std::to_string(limits.pids), true);
  if (at.name == "cpuset") {  // no process can join a cpuset without processors
    PAWL_OK(set("cpuset.cpus", processors_of_this_process(), true));
    const std::string above = os::folder_of(at.folder) + "/cpuset.";
    const std::string nodes = read_control(above + "effective_mems");
    return set("cpuset.mems", nodes.empty() ? read_control(above + "mems") : nodes, true);
  }
  if (at.name == "cpuacct" || !cpu_limit_binds(limits)) return {};  // cpuacct only counts
  return set("cpu.cfs_quota_us", quota, true);
}

}  // namespace

bool CgroupHome::limits(std::string_view controller) const {
  if (kind == CgroupKind::kV2) {
    const std::string& folder = controllers.front().folder;
    std::string words = " " + read_control(folder + "/cgroup.subtree_control") + " ";
    std::ranges::replace(words, '\n', ' ');
    return os::exists(folder + "/cgroup.procs") &&
           words.find(" " + std::string(controller) + " ") != std::string::npos;  // not a part of "cpuset"
  }
  return std::ranges::any_of(controllers, [&](const auto& each) { return each.name == controller; });
}

bool CgroupHome::counts_cpu() const {
  // cgroup v2 has cpu.stat even without the cpu controller.
  return kind == CgroupKind::kV2 || (kind == CgroupKind::kV1 && limits("cpuacct"));
}

CgroupHome find_cgroup_home(const std::string& root, const std::string& own) {
  CgroupHome home;
  if (is_unified(root)) {
    if (const auto folder = v2_home(root, own))
      home = {.kind = CgroupKind::kV2, .controllers = {{.name = "unified", .folder = *folder}}};
    return home;
  }
  for (const auto name : kControllersOfV1) {
    const std::string controller(name);
    // In a container the path of this process may lie outside of the mounted part: then
    // use the root of the mount.
    const std::string mount = mount_of(root, controller);
    for (const std::string& folder : {trimmed(mount + own_path(own, controller)), mount})
      if (is_writable_folder(folder)) {
        home.controllers.push_back(
            {.name = controller, .folder = folder, .mount = mount.substr(mount.rfind('/') + 1)});
        break;
      }
  }
  if (!home.controllers.empty()) home.kind = CgroupKind::kV1;
  return home;
}

bool cgroups_are_unified() { return is_unified(kCgroupRoot); }

const CgroupHome& cgroup_home() {
  static const CgroupHome home = [] {
#ifdef PAWL_TEST_HOOKS
    if (os::environment_value("PAWL_CGROUP") == "none") return CgroupHome{};
#endif
    return find_cgroup_home(kCgroupRoot, read_control("/proc/self/cgroup"));
  }();
  return home;
}

Cgroup::Cgroup(const CgroupHome& home, const std::string& sandbox_run_id, const CgroupLimits& limits)
    : v2_(home.kind == CgroupKind::kV2), limits_(limits) {
  for (const auto& controller : home.controllers) {
    const std::string folder = os::join(controller.folder, std::string(kNameStart) + sandbox_run_id);
    auto view = std::ranges::find(views_, folder, &CgroupView::folder);
    if (view == views_.end()) {  // cpu and cpuacct may share a folder
      folders_.push_back({.name = controller.name, .folder = folder, .mount = {}});
      const std::string target = v2_ ? kCgroupRoot : os::join(kCgroupRoot, controller.mount);
      view = views_.insert(view, {.folder = folder, .target = target, .links = {}});
    }
    if (!v2_ && controller.name != controller.mount)
      view->links.push_back(os::join(kCgroupRoot, controller.name));
  }
}

Result<int> Cgroup::make(std::size_t index) {
  const auto& mine = folders_[index];
  for (int tries = 1;; ++tries) {
    if (mkdir(mine.folder.c_str(), 0755) != 0 && errno != EEXIST)
      return fail_errno(errno, "cgroup", mine.folder);
    // Before the lock is held, a sweep may take this cgroup for a dead maker's and remove it.
    if (os::UniqueFd lock = hold(mine.folder, v2_)) {
      PAWL_OK(limit(mine, v2_, limits_));
      return held_.emplace_back(std::move(lock)).get();
    }
    if (tries == kMakeTriesMax)
      return fail(ErrorKind::kUnavailable, mine.folder + ": is taken away again and again");
    os::SystemClock().sleep_ms(1);
  }
}

CgroupUse Cgroup::use() const {
  CgroupUse use;
  for (const auto& at : folders_) {
    if (at.name == "memory") {
      use.oom_kills = keyed(read_control(at.folder + "/memory.oom_control"), "oom_kill");
      use.memory_peak_kib = number(read_control(at.folder + "/memory.max_usage_in_bytes")) / 1024;
    } else if (at.name == "cpu" || at.name == "cpuacct") {
      if (const auto ns = read_control(at.folder + "/cpuacct.usage"); !ns.empty())
        use.cpu_ms = number(ns) / 1'000'000;
    } else if (at.name == "unified") {
      use.oom_kills = keyed(read_control(at.folder + "/memory.events"), "oom_kill");
      use.memory_peak_kib = number(read_control(at.folder + "/memory.peak")) / 1024;  // since Linux 5.19
      if (const auto stat = read_control(at.folder + "/cpu.stat"); !stat.empty())
        use.cpu_ms = keyed(stat, "usage_usec") / 1000;
    }
  }
  return use;
}

void Cgroup::remove_empty() {
  std::erase_if(folders_, [](const auto& at) { return rmdir(at.folder.c_str()) == 0; });
}

void Cgroup::remove() {
  for (const auto& at : folders_) remove_folder(at.folder);
  folders_.clear();
  held_.clear();
}

bool join_cgroup(int tasks_fd) {
  // "0" is the writing thread. Moving only this thread avoids the kernel's lock over all process groups.
  return write(tasks_fd, "0", 1) == 1;
}

void remove_cgroups(const std::string& root, const std::string& sandbox_run_id) {
  for_each_sandbox(root, [&](const std::string& folder, std::string_view id) {
    if (id == sandbox_run_id) remove_folder(folder);
  });
}

void sweep_cgroups(const std::string& root) {
  const bool v2 = is_unified(root);
  for_each_sandbox(root, [&](const std::string& folder, std::string_view) {
    if (const auto lock = hold(folder, v2)) rmdir(folder.c_str());
  });
}

}  // namespace pawl::sandbox
