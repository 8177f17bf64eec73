// The kernel's view of a step, from a process that takes no part in it. It reads /proc of every readable
// process: as root all, otherwise those of the same user.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "os/clock.h"
#include "os/file.h"

namespace pawl::testing {

inline constexpr std::uint64_t kProcFileBytesMax = 4 << 20;

inline std::string proc_text(const std::string& path) {
  auto text = os::read_file("/proc/" + path, kProcFileBytesMax);
  return text ? *std::move(text) : std::string();
}

inline std::string proc_link(const std::string& path) {
  std::array<char, 256> link{};
  const auto size = readlink(("/proc/" + path).c_str(), link.data(), link.size());
  return {link.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

struct SeenProcess {
  int parent = 0;
  unsigned long long start_ticks = 0;
  std::string words;  // command line and environment, with spaces for NULs
  std::string user_namespace, pid_namespace, mount_namespace;  // "": not readable
};

// The command line and the environment, with spaces in place of NULs.
inline std::string words_of(const std::string& pid) {
  std::string words = proc_text(pid + "/cmdline") + proc_text(pid + "/environ");
  std::ranges::replace(words, '\0', ' ');
  return words;
}

// A process without its words and namespaces. No value: it has ended; a zombie counts as ended.
inline std::optional<SeenProcess> seen_alive(const std::string& pid) {
  const std::string stat = proc_text(pid + "/stat");
  const auto at = stat.rfind(')');
  SeenProcess seen;
  char state = 0;
  if (at == std::string::npos ||
      std::sscanf(stat.c_str() + at + 1,
                  " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
                  &seen.parent, &seen.start_ticks) != 3 ||
      state == 'Z' || state == 'X')
    return {};
  return seen;
}

inline std::vector<std::string> pids() {
  auto names = *os::list_folder("/proc");
  std::erase_if(names,
                [](const auto& name) { return name.find_first_not_of("0123456789") != std::string::npos; });
  return names;
}

inline std::map<int, SeenProcess> seen_processes() {
  std::map<int, SeenProcess> out;
  for (const auto& pid : pids()) {
    auto seen = seen_alive(pid);
    if (!seen) continue;
    seen->words = words_of(pid);
    seen->user_namespace = proc_link(pid + "/ns/user");
    seen->pid_namespace = proc_link(pid + "/ns/pid");
    seen->mount_namespace = proc_link(pid + "/ns/mnt");
    out[std::stoi(pid)] = *std::move(seen);
  }
  return out;
}

inline std::string to_text(int pid, const SeenProcess& seen) {
  return std::to_string(pid) + "@" + std::to_string(seen.start_ticks) + " " + seen.words.substr(0, 160);
}

// Processes whose command line or environment contains `word`. This runs after each of a thousand steps, so
// it reads no more of other processes.
inline std::vector<std::string> processes_with(std::string_view word) {
  std::vector<std::string> out;
  for (const auto& pid : pids()) {
    auto words = words_of(pid);
    if (std::stoi(pid) == getpid() || words.find(word) == std::string::npos) continue;
    auto seen = seen_alive(pid);
    if (!seen) continue;
    seen->words = std::move(words);
    out.push_back(to_text(std::stoi(pid), *seen));
  }
  return out;
}

// Orphans in other user or pid namespaces than the test's, whatever their names are. The nearest process
// above them in the test's namespaces is one that adopts orphans. Sandboxes of tests that run at the same
// time have their supervisor above them.
inline std::vector<std::string> orphans_in_namespaces() {
  const auto all = seen_processes();
  const auto& own = all.at(getpid());
  std::set<int> ancestors{getpid(), 1, 0};
  for (auto at = all.find(own.parent); at != all.end(); at = all.find(at->second.parent))
    ancestors.insert(at->first);
  const auto is_elsewhere = [&](const SeenProcess& seen) {
    return (!seen.user_namespace.empty() && seen.user_namespace != own.user_namespace) ||
           (!seen.pid_namespace.empty() && seen.pid_namespace != own.pid_namespace);
  };
  std::vector<std::string> out;
  for (const auto& [pid, seen] : all) {
    if (!is_elsewhere(seen)) continue;
    int above = seen.parent;
    for (auto at = all.find(above); at != all.end() && is_elsewhere(at->second); at = all.find(above))
      above = at->second.parent;
    if (ancestors.contains(above)) out.push_back(to_text(pid, seen));
  }
  return out;
}

// Mounts of any process whose lines contain `word`, and namespaces that a mount or a descriptor of this
// process holds.
inline std::vector<std::string> mounts_with(std::string_view word) {
  std::vector<std::string> out;
  std::set<std::string> looked_at;
  for (const auto& [pid, seen] : seen_processes()) {
    if (!looked_at.insert(seen.mount_namespace).second) continue;
    const std::string mounts = proc_text(std::to_string(pid) + "/mountinfo");
    for (std::size_t start = 0; start < mounts.size();) {
      const auto end = std::min(mounts.find('\n', start), mounts.size());
      const auto line = mounts.substr(start, end - start);
      if (line.find(word) != std::string::npos || line.find(" nsfs ") != std::string::npos)
        out.push_back(line);
      start = end + 1;
    }
  }
  const auto descriptors = os::list_folder("/proc/self/fd");
  for (const auto& fd : *descriptors)
    if (const auto link = proc_link("self/fd/" + fd);
        link.find(":[") != std::string::npos && !link.starts_with("pipe:") && !link.starts_with("socket:"))
      out.push_back(link);
  return out;
}

// Cgroups named "pawl-<id>", in any hierarchy and below any cgroup.
inline std::vector<std::string> cgroups_of(const std::set<std::string>& ids) {
  std::vector<std::string> out, folders{"/sys/fs/cgroup"};
  while (!folders.empty()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    const auto names = os::list_folder(folder);
    if (!names) continue;  // cgroups of other processes come and go
    for (const auto& name : *names) {
      const std::string path = os::join(folder, name);
      struct stat status {};
      if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
      if (name.starts_with("pawl-") && ids.contains(name.substr(5))) out.push_back(path);
      folders.push_back(path);
    }
  }
  return out;
}

// Counts kernel objects that need no process to hold them, from slabinfo(5), which only root can read.
// Objects that processors cache for reuse are not counted (Documentation/ABI/testing/sysfs-kernel-slab,
// shrink).
inline std::int64_t namespaces_of_kernel() {
  constexpr std::array<std::string_view, 4> kKinds{"net_namespace", "pid_namespace", "user_namespace",
                                                   "uts_namespace"};
  for (const auto kind : kKinds)
    static_cast<void>(os::append_to_file("/sys/kernel/slab/" + std::string(kind) + "/shrink", "1"));
  const std::string slabs = proc_text("slabinfo");
  std::int64_t all = 0;
  for (const auto kind : kKinds)
    if (const auto at = slabs.find("\n" + std::string(kind) + " "); at != std::string::npos)
      all += std::atoll(slabs.c_str() + at + 1 + kind.size());
  return all;
}

// The results of `look` that appear in every call. Results of other tests disappear, as do objects that the
// kernel is about to release.
inline std::vector<std::string> what_stays(const std::function<std::vector<std::string>()>& look) {
  constexpr int kLooksMax = 300;
  auto stays = look();
  for (int i = 0; i < kLooksMax && !stays.empty(); ++i) {
    os::SystemClock().sleep_ms(200);
    const auto now = look();
    std::erase_if(stays, [&](const auto& each) { return std::ranges::find(now, each) == now.end(); });
  }
  return stays;
}

}  // namespace pawl::testing
