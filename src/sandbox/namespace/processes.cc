#include "sandbox/namespace/processes.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "base/lines.h"
#include "os/file.h"

namespace pawl::sandbox {
namespace {

constexpr std::size_t kProcessesMax = 4096;        // processes that are followed
constexpr int kHeldMax = 1 << 16;                  // descriptors and mappings that one scan examines
constexpr std::uint64_t kMapsBytesMax = 16 << 20;  // for one process
constexpr std::string_view kNameless = " (deleted)";

struct Process {
  int pid = -1;
  std::vector<std::string> threads;  // folders of proc(5)
};

// `init` and all processes below it. Orphans are below it, too, because `init` adopts them.
std::vector<Process> processes_below(int init) {
  std::vector<Process> found{{.pid = init}};
  for (std::size_t i = 0; i < found.size() && found.size() < kProcessesMax; ++i) {
    const std::string tasks = "/proc/" + std::to_string(found[i].pid) + "/task/";
    auto threads = os::list_folder(tasks);
    if (!threads) continue;
    for (const auto& thread : *threads) {
      found[i].threads.push_back(tasks + thread);
      auto children = os::read_file(found[i].threads.back() + "/children", 1 << 20);
      int pid = 0, used = 0;
      for (const char* at = children ? children->c_str() : ""; std::sscanf(at, "%d%n", &pid, &used) == 1;
           at += used)
        found.push_back({.pid = pid});
    }
  }
  return found;
}

struct Memory {
  std::int64_t resident = 0, own = 0;  // bytes; `own`: without pages of files and shared pages
  bool first_has_ended = false;        // the first of its threads
};

// The memory in this folder of proc(5); nullopt for a thread that has ended.
std::optional<Memory> memory_in(const std::string& folder) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const auto text = os::read_file(folder + "/statm", 4096);
  long resident = 0, shared = 0;
  if (!text || std::sscanf(text->c_str(), "%*d %ld %ld", &resident, &shared) != 2 || resident == 0)
    return std::nullopt;
  return Memory{.resident = resident * page, .own = (resident - shared) * page};
}

std::string folder_of(const Process& process) { return "/proc/" + std::to_string(process.pid); }

// The first thread stands for the process. When it has ended, another thread has the same memory.
Memory memory_of(const Process& process) {
  auto memory = memory_in(folder_of(process));
  for (std::size_t i = 0; !memory && i < process.threads.size(); ++i) {
    memory = memory_in(process.threads[i]);
    if (memory) memory->first_has_ended = true;
  }
  return memory.value_or(Memory());
}

// Counts shared pages in parts, divided by the number of processes that map them (proc(5): Pss). The kernel
// walks the page tables for it.
std::int64_t charged_bytes(const Process& process) {
  auto text = os::read_file(folder_of(process) + "/smaps_rollup", 4096);
  if (!text || text->empty()) {  // closed to its user when the program's file is unreadable
    const Memory memory = memory_of(process);
    return memory.first_has_ended ? memory.resident : memory.own;
  }
  std::int64_t kib = 0;
  for (const char* word : {"\nPss_Anon:", "\nPss_Shmem:"}) {
    const auto at = text->find(word);
    long long value = 0;
    if (at != std::string::npos && std::sscanf(text->c_str() + at, "%*s %lld", &value) == 1) kib += value;
  }
  return kib << 10;
}

std::int64_t taken(const struct stat& status) { return static_cast<std::int64_t>(status.st_blocks) * 512; }

bool have_same_files(const std::string& thread, const std::string& other) {
  const auto id = [](const std::string& folder) { return std::stoi(folder.substr(folder.rfind('/') + 1)); };
  return syscall(SYS_kcmp, id(thread), id(other), KCMP_FILES, 0, 0) == 0;
}

class NamelessScan {
 public:
  explicit NamelessScan(const std::vector<std::string>& folders) : folders_(folders) {}

  void look_at(const Process& process) {
    for (std::size_t i = 0; i < process.threads.size(); ++i)
      if (i == 0 || !have_same_files(process.threads[i], process.threads.front()))
        look_at_open(process.threads[i]);
    for (const auto& thread : process.threads)
      if (look_at_mapped(thread)) break;  // all threads of a process have the same mappings
  }

  NamelessFiles result() {
    for (const auto& [inode, length] : mapped_)
      if (found_.bytes.emplace(inode, length).second) found_.complete = false;
    return std::move(found_);
  }

 private:
  // Compares the path that the kernel reports for the sandbox's own root. The path in
  // another mount does not count.
  bool is_of_ours(std::string_view path) const {
    return path.ends_with(kNameless) && std::ranges::any_of(folders_, [&](const std::string& folder) {
             return path.starts_with(folder + "/");
           });
  }

  bool may_go_on() {
    if (++looks_ > kHeldMax) found_.complete = false;
    return looks_ <= kHeldMax;
  }

  void look_at_open(const std::string& thread) {
    const std::string folder = thread + "/fd";
    const auto names = os::list_folder(folder);
    if (!names) return;
    for (const auto& name : *names) {
      if (!may_go_on()) return;
      const std::string path = os::join(folder, name);
      std::array<char, PATH_MAX> link;  // NOLINT(cppcoreguidelines-pro-type-member-init): readlink fills it
      const ssize_t size = readlink(path.c_str(), link.data(), link.size());
      const bool too_long = size < 0 && errno == ENAMETOOLONG;  // then it may be a path below `folders`
      const std::string_view target(link.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
      if (too_long || is_of_ours(target)) static_cast<void>(add(path));
      if (target.starts_with("socket:") && has_files_in_flight(thread + "/fdinfo/" + name))
        found_.complete = false;
    }
  }

  // Descriptors that were sent and not yet received (unix(7)). Linux 5.6 and later report their number.
  static bool has_files_in_flight(const std::string& info) {
    auto text = os::read_file(info, 4096);
    const auto at = text ? text->find("\nscm_fds:") : std::string::npos;
    int count = 0;
    return at != std::string::npos && std::sscanf(text->c_str() + at, "%*s %d", &count) == 1 && count > 0;
  }

  // False: the thread has ended, so it maps no file.
  bool look_at_mapped(const std::string& thread) {
    const auto text = os::read_file(thread + "/maps", kMapsBytesMax);
    if (!text) found_.complete = found_.complete && text.error().kind != ErrorKind::kExhausted;
    if (!text || text->empty()) return false;
    for (const auto line : TextLines(*text)) {
      if (!may_go_on()) return true;
      look_at_mapping(thread, std::string(line));
    }
    return true;
  }

  // A line is "from-to perms offset major:minor inode   path".
  void look_at_mapping(const std::string& thread, const std::string& line) {
    const auto slash = line.find('/');
    if (slash == std::string::npos || !is_of_ours(std::string_view(line).substr(slash))) return;
    unsigned long from = 0, to = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %llu", &from, &to, &inode) != 3) return;
    // Only the process has map_files, not its threads.
    const std::string process = thread.substr(0, thread.find("/task/"));
    if (add(process + "/map_files/" + line.substr(0, line.find(' ')))) return;
    auto& longest = mapped_[inode];
    longest = std::max(longest, static_cast<std::int64_t>(to - from));
  }

  // False: the file cannot be examined.
  bool add(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return false;
    if (S_ISREG(status.st_mode) && status.st_nlink == 0) found_.bytes[status.st_ino] = taken(status);
    return true;
  }

  const std::vector<std::string>& folders_;
  NamelessFiles found_;
  std::map<std::uint64_t, std::int64_t> mapped_;  // by inode: the longest mapping, when add() failed
  int looks_ = 0;
};

}  // namespace

std::int64_t memory_inside(int init, std::int64_t limit) {
  const auto processes = processes_below(init);
  // The init belongs to Pawl, and no program can make it grow. Its memory is a fork of its supervisor's.
  const auto programs = std::span(processes).subspan(1);
  Memory all;
  for (const auto& process : programs) {
    const auto one = memory_of(process);
    all.resident += one.resident;
    all.own += one.own;
  }
  if (all.resident <= limit) return all.own;
  const auto charged = [&] {
    std::int64_t sum = 0;
    for (const auto& process : programs) sum += charged_bytes(process);
    return sum;
  };
  // A process that forks between two reads counts twice for its child's part, so the
  // smaller of two sums is taken.
  const std::int64_t first = charged();
  return first <= limit ? first : std::min(first, charged());
}

NamelessFiles nameless_files_inside(int init, const std::vector<std::string>& folders) {
  NamelessScan scan(folders);
  const auto processes = processes_below(init);
  for (const auto& process : processes) scan.look_at(process);
  auto found = scan.result();
  if (processes.size() >= kProcessesMax) found.complete = false;
  return found;
}

}  // namespace pawl::sandbox
