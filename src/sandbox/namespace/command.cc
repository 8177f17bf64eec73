// The second process of a sandbox, from its clone until it executes the command.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sandbox/inside.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/child.h"
#include "sandbox/namespace/filter.h"
#include "sandbox/namespace/handover.h"
#include "sandbox/namespace/landlock.h"
#include "sandbox/namespace/quotas.h"

namespace pawl::sandbox {
namespace {

constexpr rlim_t kOpenFilesMax = 16384;
constexpr rlim_t kLockedBytesMax = 64 << 10;
// The kernel's limit for one file lies this far above the disk limit. A growing file is over the disk limit
// for the watcher to see, and a file in /tmp finds it full, before the signal comes. The signal is not
// evidence, because any program can send it.
constexpr std::int64_t kFileMibAbove = 2;
constexpr rlim_t kStackBytes = 8 << 20;  // the kernel's default (_STK_LIM), for which programs are made
constexpr int kExitNotFound = 127, kExitNotExecutable = 126;  // as in a shell (POSIX, 2.8.2)

void set_limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  getrlimit(resource, &now);
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value) value = now.rlim_max;
  const rlimit limit{.rlim_cur = value, .rlim_max = value};
  setrlimit(resource, &limit);
}

void raise_to_hard(__rlimit_resource resource) {
  rlimit now{};
  getrlimit(resource, &now);
  now.rlim_cur = now.rlim_max;
  setrlimit(resource, &now);
}

// The caller's soft limits (ulimit -S) would change what a gate sees. Its hard limits stay, because a process
// may not raise them.
void leave_soft_limits_of_the_caller() {
  for (const auto resource : {RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA, RLIMIT_RSS, RLIMIT_RTTIME})
    raise_to_hard(resource);
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  stack.rlim_cur = std::min(kStackBytes, stack.rlim_max);
  setrlimit(RLIMIT_STACK, &stack);
}

// A signal that the caller ignores stays ignored through exec: a shell without job control ignores SIGINT and
// SIGQUIT for each `&`. The raw call also resets the two signals that glibc keeps for itself.
void reset_signals() {
  constexpr std::size_t kMaskBytes = _NSIG / 8;
  const unsigned long by_default[4] = {};  // struct sigaction of the kernel: SIG_DFL, no flags
  for (int signal = 1; signal < _NSIG; ++signal)
    syscall(SYS_rt_sigaction, signal, by_default, nullptr, kMaskBytes);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

class Command {
 public:
  Command(const ChildJob& job, int init_fd) : job_(job), init_fd_(init_fd) {}

  [[noreturn]] void run() {
    if (job_.defences.net) {
      need(unshare(CLONE_NEWNET) == 0, "network namespace");  // the slowest part of the start
      bring_up_loopback();
    }
    connect_output();
    open_listeners();
    const CommandLimits limits = await_limits();
    join_cgroups(limits.cgroups_follow);
    need_sent(send(init_fd_, "n", 1, MSG_NOSIGNAL) == 1, "init");
    // The following calls need no file of the sandbox, so they run while the mounts are made.
    set_limits(limits.by_rlimits);
    leave_soft_limits_of_the_caller();
    need(personality(PER_LINUX) != -1, "personality");  // the caller's may switch ASLR off
    drop_capabilities();
    // A new session keyring: keys of the inherited keyring are out of reach, even where keyctl(2) is allowed.
    static_cast<void>(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0));
    if (job_.defences.seccomp) filter();
    await(init_fd_);
    need(job_.processors.take_back(), "processors");
    need(chdir(inside::kWorkspace) == 0, inside::kWorkspace);
    connect_input();
    need(!job_.use_landlock || !job_.defences.landlock || restrict_writing(job_.writable), "landlock");
    exec();
  }

 private:
  void need(bool ok, const char* mechanism) const {
    if (!ok) report_failure(job_.report_fd, errno, mechanism);
  }

  // The init and the parent close their ends when the setup has failed. They report why; a broken pipe would
  // take the place of that report.
  void need_sent(bool ok, const char* mechanism) const {
    if (!ok && (errno == EPIPE || errno == ECONNRESET)) _exit(1);
    need(ok, mechanism);
  }

  void connect_output() const {
    need(dup2(job_.stdout_fd, STDOUT_FILENO) >= 0 && dup2(job_.stderr_fd, STDERR_FILENO) >= 0, "output");
  }

  // Without input the command reads the sandbox's own /dev/null. Programs can open that again by /dev/stdin;
  // Landlock would refuse any other.
  void connect_input() const {
    const int input = job_.stdin_fd >= 0 ? job_.stdin_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
    need(input >= 0 && dup2(input, STDIN_FILENO) >= 0, "input");
  }

  void bring_up_loopback() const {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::memcpy(request.ifr_name, "lo", 3);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    need(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0, "loopback");
    close(fd);
  }

  // The listeners are the only way out of the sandbox. The supervisor accepts on them; no process inside can.
  void open_listeners() const {
    if (job_.listeners == nullptr) return;
    need(add_addresses(*job_.listeners), "addresses of the egress");
    for (std::size_t i = 0; i < job_.listeners->size(); ++i) {
      const int fd = open_listener((*job_.listeners)[i]);
      need(fd >= 0, "listener of the egress");
      need_sent(hand_over(job_.sync_fd, HandOver::kListener, i, fd), "listener of the egress");
      close(fd);
    }
  }

  CommandLimits await_limits() const {
    CommandLimits limits;
    ssize_t got = 0;
    do got = read(job_.cgroups_fd, &limits, sizeof limits);
    while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(sizeof limits)) _exit(1);  // the parent gave up and has reported why
    return limits;
  }

  // Only the command and its descendants join. The init belongs to Pawl and does not count.
  void join_cgroups(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto cgroup = take_over(job_.cgroups_fd, Waiting::kForOne);
      if (!cgroup) _exit(1);  // the parent could not make it and has reported why
      need(join_cgroup(cgroup->fd.get()), "cgroup: join");
      if (joined_ < cgroups_.size()) cgroups_[joined_++] = std::move(cgroup->fd);
    }
    need(unshare(CLONE_NEWCGROUP) == 0, "cgroup namespace");
  }

  void set_limits(bool by_rlimits) const {
    if (job_.defences.limits) {
      set_limit(RLIMIT_CORE, 0);
      set_limit(RLIMIT_NOFILE, kOpenFilesMax);
    }
    if (job_.defences.quotas) set_quotas();
    set_limit(RLIMIT_MEMLOCK, kLockedBytesMax);
    set_limit(RLIMIT_FSIZE, static_cast<rlim_t>(job_.spec->disk_limit_mib + kFileMibAbove) << 20);
    if (!by_rlimits) return;
    // No rlimit is used for memory: RLIMIT_DATA and RLIMIT_AS also count reserved memory that is never used,
    // such as the 16 TiB of a sanitizer. The watcher measures used memory instead. RLIMIT_NPROC counts this
    // user's processes in this user namespace only (since Linux 5.14), and the init is one of them.
    set_limit(RLIMIT_NPROC, static_cast<rlim_t>(job_.spec->pids_limit) + 1);
  }

  void set_quotas() const {
    for (const auto& [resource, part, most] : kProcessQuotas) {
      rlimit now{};
      getrlimit(resource, &now);
      set_limit(resource, std::min(now.rlim_max / part, most));
    }
  }

  void drop_capabilities() const {
    int capability = 0;
    while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) ++capability;
    need(capability > 0 && errno == EINVAL, "capability bounding set");  // EINVAL: there are no more
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const __user_cap_data_struct none[2] = {};
    need(syscall(SYS_capset, &header, none) == 0, "capabilities");
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  }

  // Without a pid namespace of its own, the init is not the parent of all processes
  // and must not inspect them.
  bool asks_for_renames() const { return job_.has_layers && job_.defences.seccomp && job_.defences.pid; }

  void hand_to_init(HandOver what, int fd) const {
    need_sent(hand_over(init_fd_, what, 0, fd), "hand over to the init");
  }

  void filter() const {
    int listener = -1;
    if (job_.spec->enable_trace) {
      listener = install_asking_filter(Asks::kAll);
      if (listener < 0) report_failure(job_.report_fd, errno, kNoTrace, "", ChildReport::Failed::kTrace);
      need_sent(hand_over(job_.sync_fd, HandOver::kTracer, 0, listener), "hand over the trace");
    } else if (asks_for_renames()) {
      listener = install_asking_filter(Asks::kRenames);
    }
    if (listener < 0) return need(install_filter(), "seccomp");
    if (asks_for_renames()) {
      hand_to_init(HandOver::kRenames, listener);
      for (std::size_t i = 0; i < joined_; ++i) hand_to_init(HandOver::kCgroup, cgroups_[i].get());
    }
    close(listener);
  }

  [[noreturn]] void exec() const {
    reset_signals();
    need(!job_.defences.descriptors || close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0, "close_range");
    environ = const_cast<char**>(job_.env.data());  // execvp also reads PATH from it
    execvp(job_.argv[0], job_.argv.data());
    const int error = errno;
    char text[512];
    const int size = std::snprintf(text, sizeof text, "pawl: can't run %.400s: %s\n", job_.shown.c_str(),
                                   std::strerror(error));
    static_cast<void>(write(STDERR_FILENO, text, static_cast<std::size_t>(size)) == 0);
    _exit(error == ENOENT || error == ENOTDIR ? kExitNotFound : kExitNotExecutable);
  }

  const ChildJob& job_;
  const int init_fd_;
  std::array<os::UniqueFd, kCgroupsMax> cgroups_;
  std::size_t joined_ = 0;
};

}  // namespace

void run_command(const ChildJob& job, int init_fd) { Command(job, init_fd).run(); }

}  // namespace pawl::sandbox
