#include "sandbox/namespace/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "os/clock.h"
#include "sandbox/namespace/copy_tree.h"
#include "sandbox/namespace/handover.h"

namespace pawl::sandbox {
namespace {

constexpr std::int64_t kTickMs = 100;           // how late a limit that is watched may be noticed
constexpr std::int64_t kMemoryTickMs = 20;      // memory grows faster
constexpr std::int64_t kMemoryPauseFactor = 3;  // watching it takes at most a quarter of the time
constexpr std::int64_t kDiskPauseFactor = 10;   // watching the disk takes at most a tenth of the time
constexpr std::int64_t kTermGraceMs = 2000;     // from SIGTERM to SIGKILL when the budget is over
constexpr std::int64_t kCancelGraceMs = 1000;   // when somebody waits for it
constexpr std::size_t kProcessesMax = 4096;     // that the memory watcher follows

struct Memory {
  std::int64_t resident = 0, own = 0;  // bytes; `own` without the pages of files and what is shared
};

Memory memory_of(int pid) {
  auto text = os::read_file("/proc/" + std::to_string(pid) + "/statm", 4096);
  long resident = 0, shared = 0;
  if (!text || std::sscanf(text->c_str(), "%*d %ld %ld", &resident, &shared) != 2) return {};
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return {.resident = resident * page, .own = (resident - shared) * page};
}

// What is shared counts in parts, one for each that maps it (proc(5): Pss). The kernel walks the page tables
// for it.
std::int64_t charged_bytes(int pid) {
  auto text = os::read_file("/proc/" + std::to_string(pid) + "/smaps_rollup", 4096);
  if (!text) return memory_of(pid).own;
  std::int64_t kib = 0;
  for (const char* word : {"\nPss_Anon:", "\nPss_Shmem:"}) {
    const auto at = text->find(word);
    long long value = 0;
    if (at != std::string::npos && std::sscanf(text->c_str() + at, "%*s %lld", &value) == 1) kib += value;
  }
  return kib << 10;
}

// Of `init` and everything below it; orphans are below it too.
std::vector<int> processes_below(int init) {
  std::vector<int> pids{init};
  for (std::size_t i = 0; i < pids.size() && pids.size() < kProcessesMax; ++i) {
    const std::string process = "/proc/" + std::to_string(pids[i]);
    auto threads = os::list_folder(process + "/task");
    if (!threads) continue;
    for (const auto& thread : *threads) {
      auto children = os::read_file(process + "/task/" + thread + "/children", 1 << 20);
      int pid = 0, used = 0;
      for (const char* at = children ? children->c_str() : ""; std::sscanf(at, "%d%n", &pid, &used) == 1;
           at += used)
        pids.push_back(pid);
    }
  }
  return pids;
}

// Exact when it may be more than `limit`; else without what is shared.
std::int64_t sandbox_memory_bytes(int init, std::int64_t limit) {
  const auto pids = processes_below(init);
  Memory all;
  for (const int pid : pids) {
    const auto one = memory_of(pid);
    all.resident += one.resident;
    all.own += one.own;
  }
  if (all.resident <= limit) return all.own;
  std::int64_t charged = 0;
  for (const int pid : pids) charged += charged_bytes(pid);
  return charged;
}

class Watcher {
 public:
  explicit Watcher(Watched& sandbox) : sandbox_(sandbox), start_(clock_.mono()) {}

  Ending run() {
    for (auto* fd : {&sandbox_.stdout_fd, &sandbox_.stderr_fd}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    while (sandbox_.pidfd || sandbox_.stdout_fd || sandbox_.stderr_fd) {
      wait_for_something();
      pass_on(sandbox_.stdout_fd, Stream::kStdout);
      pass_on(sandbox_.stderr_fd, Stream::kStderr);
      if (sandbox_.pidfd) keep_limits();
    }
    if (sandbox_.report_fd) take_report();
    if (!ending_.forced && over_disk_limit()) ending_.forced = Outcome::kDiskLimit;
    return ending_;
  }

 private:
  void wait_for_something() {
    std::array<pollfd, 6> fds{pollfd{sandbox_.stdout_fd.get(), POLLIN, 0},
                              pollfd{sandbox_.stderr_fd.get(), POLLIN, 0},
                              pollfd{sandbox_.pidfd.get(), POLLIN, 0},
                              pollfd{hands_over_ ? sandbox_.sync_fd.get() : -1, POLLIN, 0},
                              pollfd{tracer_ ? tracer_->fd() : -1, POLLIN, 0},
                              pollfd{sandbox_.report_fd.get(), POLLIN, 0}};  // poll(2) ignores -1
    const std::int64_t left = (deadline() - clock_.mono().micros) / 1000 + 1;
    const std::int64_t tick = sandbox_.watch_memory ? kMemoryTickMs : kTickMs;
    poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, tick)));
    if ((fds[4].revents & POLLIN) != 0) tracer_->handle_one();
    if ((fds[4].revents & (POLLHUP | POLLERR)) != 0 || (tracer_ && tracer_->over())) tracer_.reset();
    take_descriptors();
    // Only now: an end with something to read is POLLIN and POLLHUP, and one without may be, too.
    if ((fds[3].revents & POLLHUP) != 0) sandbox_.sync_fd.reset();
    if (fds[5].revents != 0) take_report();
    if ((fds[2].revents & POLLIN) != 0) reap();
  }

  void take_descriptors() {
    while (sandbox_.sync_fd) {
      auto handed = take_over(sandbox_.sync_fd.get(), Waiting::kNot);
      if (!handed) return;
      if (handed->what == HandOver::kTracer)
        tracer_.emplace(std::move(handed->fd), sandbox_.events->on_trace, sandbox_.events->redact);
      else if (sandbox_.egress != nullptr)
        sandbox_.egress->take(handed->index, std::move(handed->fd));
    }
  }

  void reap() {
    int status = 0;
    rusage use{};
    pid_t got = 0;
    do got = wait4(sandbox_.pid, &status, 0, &use);
    while (got < 0 && errno == EINTR);
    const auto ms = [](const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; };
    ending_.cpu_ms = ms(use.ru_utime) + ms(use.ru_stime);
    ending_.max_rss_kib = use.ru_maxrss;
    sandbox_.pidfd.reset();
  }

  void pass_on(os::UniqueFd& fd, Stream stream) {
    std::array<char, 64 << 10> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read fills it
    while (fd) {
      const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (got <= 0) {
        fd.reset();
        return;
      }
      const auto room = static_cast<std::size_t>(sandbox_.spec->output_limit_bytes - passed_);
      const std::size_t kept = std::min(static_cast<std::size_t>(got), room);
      if (kept > 0) sandbox_.events->on_output(stream, {buffer.data(), kept});
      passed_ += static_cast<std::int64_t>(kept);
      if (kept < static_cast<std::size_t>(got)) end_for(Outcome::kOutputLimit);
      if (static_cast<std::size_t>(got) < buffer.size()) return;
    }
  }

  std::int64_t deadline() const { return start_.micros + sandbox_.spec->time_budget_seconds * 1'000'000; }

  void keep_limits() {
    const std::int64_t now = clock_.mono().micros;
    if (kill_at_ != 0 && now >= kill_at_) kill(sandbox_.pid, SIGKILL);
    if (ending_.forced) return;
    if (now >= deadline()) return end_for(Outcome::kTimedOut, kTermGraceMs);
    if (sandbox_.events->should_stop && sandbox_.events->should_stop()) {
      ending_.stopped = true;
      return end_for(Outcome::kSignaled, kCancelGraceMs);
    }
    if (sandbox_.watch_memory && now >= next_memory_) {
      const std::int64_t limit = sandbox_.spec->memory_limit_mib << 20;
      if (sandbox_memory_bytes(sandbox_.pid, limit) > limit) return end_for(Outcome::kOomKilled);
      const std::int64_t after = clock_.mono().micros;
      next_memory_ = after + std::max(kMemoryTickMs * 1000, (after - now) * kMemoryPauseFactor);
    }
    if (now >= next_disk_) {
      if (over_disk_limit()) return end_for(Outcome::kDiskLimit);
      const std::int64_t took = clock_.mono().micros - now;
      next_disk_ = now + std::max(kTickMs * 1000, took * kDiskPauseFactor);
    }
  }

  // By what is there, not by SIGXFSZ: a program can send that to itself, and who started one that died of it
  // need not say so.
  bool over_disk_limit() const {
    const std::int64_t limit = sandbox_.spec->disk_limit_mib << 20;
    const DiskUse use = disk_use(sandbox_.upper);
    return use.bytes - sandbox_.disk_at_start.bytes > limit ||
           use.longest > std::max(limit, sandbox_.disk_at_start.longest);
  }

  // With a grace, everything in there gets SIGTERM first. The init's death is the death of all in its pid
  // namespace.
  void end_for(Outcome outcome, std::int64_t grace_ms = 0) {
    if (ending_.forced) return;
    ending_.forced = outcome;
    if (!sandbox_.pidfd) return;  // it ended by itself, and what it printed last was too much
    kill(sandbox_.pid, grace_ms > 0 ? SIGTERM : SIGKILL);
    kill_at_ = clock_.mono().micros + grace_ms * 1000;
  }

  // While the kernel takes the sandbox apart there is time to look at what it used.
  void take_report() {
    ChildReport report;
    const ssize_t got = read(sandbox_.report_fd.get(), &report, sizeof report);
    if (got == static_cast<ssize_t>(sizeof report)) ending_.report = report;
    sandbox_.report_fd.reset();
    ending_.use = sandbox_.cgroup->use();
    sandbox_.cgroup->remove_empty();
  }

  Watched& sandbox_;
  const os::SystemClock clock_;
  const MonoTime start_;
  const bool hands_over_ = sandbox_.egress != nullptr || sandbox_.spec->enable_trace;
  std::optional<Tracer> tracer_;
  Ending ending_;
  std::int64_t kill_at_ = 0;  // 0: nobody is to be killed
  std::int64_t passed_ = 0, next_disk_ = start_.micros + kTickMs * 1000, next_memory_ = start_.micros;
};

}  // namespace

Ending watch(Watched& sandbox) { return Watcher(sandbox).run(); }

}  // namespace pawl::sandbox
