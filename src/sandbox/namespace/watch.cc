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
#include <span>

#include "os/clock.h"
#include "sandbox/namespace/handover.h"
#include "sandbox/namespace/processes.h"

namespace pawl::sandbox {
namespace {

constexpr std::int64_t kTickMs = 100;           // how late a watched limit may be noticed
constexpr std::int64_t kMemoryTickMs = 5;       // memory grows by some MiB a millisecond
constexpr std::int64_t kMemoryPauseFactor = 3;  // watching memory takes at most a quarter of the time
constexpr std::int64_t kDiskPauseFactor = 10;   // watching the disk takes at most a tenth of the time
constexpr std::int64_t kTermGraceMs = 2000;     // from SIGTERM to SIGKILL after the time budget
constexpr std::int64_t kCancelGraceMs = 1000;   // the same after a cancellation, when a user waits

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
    end_trace();
    if (sandbox_.report_fd) take_report();
    if (!ending_.forced && sandbox_.disk->is_over(-1)) ending_.forced = Outcome::kDiskLimit;
    return ending_;
  }

 private:
  void wait_for_something() {
    std::array<pollfd, 6 + Input::kPolled> fds{
        pollfd{sandbox_.stdout_fd.get(), POLLIN, 0},
        pollfd{sandbox_.stderr_fd.get(), POLLIN, 0},
        pollfd{sandbox_.pidfd.get(), POLLIN, 0},
        pollfd{hands_over_ ? sandbox_.sync_fd.get() : -1, POLLIN, 0},
        pollfd{tracer_ ? tracer_->fd() : -1, POLLIN, 0},
        pollfd{sandbox_.report_fd.get(), POLLIN, 0}};  // poll(2) ignores -1
    const auto of_input = std::span(fds).last<Input::kPolled>();
    sandbox_.input->ask(of_input);
    const std::int64_t left = (deadline() - clock_.mono().micros) / 1000 + 1;
    const std::int64_t tick = sandbox_.watch_memory ? kMemoryTickMs : kTickMs;
    poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, tick)));
    sandbox_.input->pass_on(of_input);
    if ((fds[4].revents & POLLIN) != 0) tracer_->handle_one();
    if ((fds[4].revents & (POLLHUP | POLLERR)) != 0 || (tracer_ && tracer_->over())) end_trace();
    take_descriptors();
    // Closed only after the descriptors were taken. At the end poll(2) reports POLLHUP, and POLLIN with it,
    // whether or not data is left to read.
    if ((fds[3].revents & POLLHUP) != 0) sandbox_.sync_fd.reset();
    if (fds[5].revents != 0) take_report();
    if ((fds[2].revents & POLLIN) != 0) reap();
  }

  void end_trace() {
    if (tracer_) tracer_->finish();
    tracer_.reset();
  }

  void take_descriptors() {
    while (sandbox_.sync_fd) {
      auto handed = take_over(sandbox_.sync_fd.get(), Waiting::kNot);
      if (!handed) return;
      if (handed->what == HandOver::kTracer)
        tracer_.emplace(std::move(handed->fd), sandbox_.events->on_trace, sandbox_.events->redact,
                        [this](const AskedRename& asked) {
                          return sandbox_.has_layers && send_rename(sandbox_.sync_fd.get(), asked);
                        });
      else if (sandbox_.outlet != nullptr)
        sandbox_.outlet->take(handed->index, std::move(handed->fd));
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
      if (memory_inside(sandbox_.pid, limit) > limit) return end_for(Outcome::kOomKilled);
      const std::int64_t after = clock_.mono().micros;
      next_memory_ = after + std::max(kMemoryTickMs * 1000, (after - now) * kMemoryPauseFactor);
    }
    if (now >= next_disk_) {
      if (sandbox_.disk->is_over(sandbox_.pid)) return end_for(Outcome::kDiskLimit);
      const std::int64_t took = clock_.mono().micros - now;
      next_disk_ = now + std::max(kTickMs * 1000, took * kDiskPauseFactor);
    }
  }

  // With a grace period, every process gets SIGTERM first. The death of the init is the death of all
  // processes in its pid namespace.
  void end_for(Outcome outcome, std::int64_t grace_ms = 0) {
    if (ending_.forced) return;
    ending_.forced = outcome;
    if (!sandbox_.pidfd) return;  // it ended by itself, and its last output was over the limit
    kill(sandbox_.pid, grace_ms > 0 ? SIGTERM : SIGKILL);
    kill_at_ = clock_.mono().micros + grace_ms * 1000;
  }

  // The kernel takes the sandbox apart meanwhile, so reading its usage now costs no time.
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
  const bool hands_over_ = sandbox_.outlet != nullptr || sandbox_.spec->enable_trace;
  std::optional<Tracer> tracer_;
  Ending ending_;
  std::int64_t kill_at_ = 0;  // 0: no kill is due
  std::int64_t passed_ = 0, next_disk_ = start_.micros + kTickMs * 1000, next_memory_ = start_.micros;
};

}  // namespace

Ending watch(Watched& sandbox) { return Watcher(sandbox).run(); }

}  // namespace pawl::sandbox
