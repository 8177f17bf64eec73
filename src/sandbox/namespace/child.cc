#include "sandbox/namespace/child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sandbox/inside.h"
#include "sandbox/namespace/assemble.h"
#include "sandbox/namespace/handover.h"
#include "sandbox/namespace/renames.h"

namespace pawl::sandbox {
namespace {

constexpr int kParentDied = SIGUSR1;
volatile std::sig_atomic_t asked_to_end = 0;  // by the parent: all processes may run on until it kills them

// The pidfd shows that the parent has ended. A socket would not, while a helper process of the parent
// holds its other end, too.
void leave_without_parent(int parent_fd) {
  pollfd ended{.fd = parent_fd, .events = POLLIN};
  if (poll(&ended, 1, 0) > 0) _exit(1);
}

void die_with_parent(const ChildJob& job) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) report_failure(job.report_fd, errno, "parent death signal");
  leave_without_parent(job.parent_fd);  // the parent may have ended before prctl(2)
}

class Init {
 public:
  explicit Init(ChildJob& job) : job_(job), renames_(job) {}

  [[noreturn]] void run() {
    if (job_.defences.descriptors) close_what_is_not_ours();
    die_with_parent(job_);
    if (unshare(namespaces_of_init(job_.defences)) != 0)
      report_failure(job_.report_fd, errno, kNoNamespaces, "", ChildReport::Failed::kNamespaces);
    umask(022);                  // independent of the caller's umask
    need(chdir("/") == 0, "/");  // pivot_root moves the processes that are at the old root
    // The new session has no terminal, so no process inside can push characters into the
    // caller's terminal (TIOCSTI).
    need(!job_.defences.session || setsid() >= 0, "session");
    await_start();
    need(job_.processors.take_back(), "processors");
    become_the_sandbox_user();
    die_with_parent(job_);  // a change of ids clears the signal (prctl(2))
    start_command();
    need(!job_.defences.uts || sethostname(inside::kHostName, std::strlen(inside::kHostName)) == 0,
         "host name");
    need(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
    make_mounts();
    enter_root();
    end_all_when_the_parent_dies();
    let_the_command_go();
    be_init();
  }

 private:
  void need(bool ok, const char* mechanism, const char* on = "") const {
    if (!ok) report_failure(job_.report_fd, errno, mechanism, on);
  }

  void close_what_is_not_ours() const {
    unsigned from = STDERR_FILENO + 1;
    for (const int fd : job_.descriptors) {
      if (static_cast<unsigned>(fd) > from) close_range(from, static_cast<unsigned>(fd) - 1, 0);
      from = std::max(from, static_cast<unsigned>(fd) + 1);
    }
    close_range(from, ~0U, 0);
  }

  void await_start() {
    ssize_t got = 0;
    do got = read(job_.sync_fd, &job_.start, sizeof job_.start);
    while (got < 0 && errno == EINTR);
    // Any other size: the parent gave up and has reported why.
    if (got != static_cast<ssize_t>(sizeof job_.start)) _exit(1);
  }

  void become_the_sandbox_user() const {
    // glibc's wrappers would ask the parent's other threads, which do not exist here,
    // to do the same (nptl(7)).
    need(!job_.start.privileged || syscall(SYS_setgroups, 0, nullptr) == 0, "supplementary groups");
    need(syscall(SYS_setresgid, inside::kUid, inside::kUid, inside::kUid) == 0, "group id");
    need(syscall(SYS_setresuid, inside::kUid, inside::kUid, inside::kUid) == 0, "user id");
    prctl(PR_SET_DUMPABLE, 1);  // needed for access to each other's /proc entries and namespaces
  }

  void start_command() {
    int ends[2];
    need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    command_ = clone_process(0, -1, command_pidfd_);
    need(command_ >= 0, "fork");
    if (command_ == 0) {
      close(ends[0]);
      run_command(job_, ends[1]);
    }
    job_.processors.send_elsewhere(command_);
    close(ends[1]);
    command_fd_ = ends[0];
  }

  void make_mounts() {
    const auto& sources = job_.plan->sources;
    // The trees are cloned before a mount covers their paths.
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (job_.start.privileged) continue;
      job_.trees[i] = clone_tree(sources[i].path);
      need(job_.trees[i] >= 0, "open_tree ", sources[i].path.c_str());
    }
    bool failed = false, is_joined = false;
    for (std::size_t next = 0;;) {
      next = assemble(*job_.plan, next, {.trees = job_.trees, .cgroups = is_joined}, job_.defences, failed);
      if (failed) {
        report(job_.report_fd, {.value = errno, .op = static_cast<std::int32_t>(next)});
        _exit(1);
      }
      if (next == job_.plan->ops.size()) break;
      if (job_.plan->ops[next].kind == MountOp::Kind::kCgroup) {
        is_joined = true;
        await(command_fd_);
        continue;
      }
      auto tree = take_over(job_.sync_fd, Waiting::kForOne);
      if (!tree) _exit(1);  // the parent could not make it and has reported why
      job_.trees[tree->index] = tree->fd.release();
    }
    // The command must have its network namespace by now: no process of the sandbox may stay in another one.
    if (!is_joined) await(command_fd_);
  }

  void enter_root() const {
    need(chdir(kNewRoot) == 0, "new root");
    // pivot_root(2), "pivot_root(".", ".")": the old root lies on top of the new one and is unmounted.
    need(syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
    need(!job_.defences.old_root || umount2(".", MNT_DETACH) == 0, "old root");
    need(chdir("/") == 0, "/");
  }

  // SIGKILL is no longer right here. The kernel first closes the descriptors of a killed init, and with
  // them the lock, and then kills the other processes. For some milliseconds the lock would be free
  // while the step still runs.
  void end_all_when_the_parent_dies() const {
    if (!job_.defences.pid) return;  // kill(-1) would reach the whole machine
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* from, void*) {
      if (from->si_pid == 0) kill(-1, SIGKILL);  // sent from outside of the pid namespace
    };
    sigset_t none;
    sigemptyset(&none);
    need(sigaction(kParentDied, &action, nullptr) == 0 && sigprocmask(SIG_SETMASK, &none, nullptr) == 0 &&
             prctl(PR_SET_PDEATHSIG, kParentDied) == 0,
         "parent death signal");
    // Check once more: the thread that sends the death signal may have died some moments before
    // its whole process ended.
    leave_without_parent(job_.parent_fd);
    close(job_.parent_fd);  // no process inside may have a handle on the parent
  }

  void let_the_command_go() {
    need(!job_.defences.net || setns(command_pidfd_, CLONE_NEWNET) == 0, "network namespace of the init");
    if (job_.defences.init) prctl(PR_SET_DUMPABLE, 0);  // the command has our user id and must not trace us
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const __user_cap_data_struct none[2] = {};
    need(syscall(SYS_capset, &header, none) == 0, "capabilities of the init");
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs of the init");
    // A command that has already ended has reported why.
    static_cast<void>(send(command_fd_, "g", 1, MSG_NOSIGNAL) == 1);
    renames_.take_from(command_fd_);
    close(command_fd_);
    close(command_pidfd_);
  }

  // The kernel would kill the other processes at the end of the init, but after the lock is free. It would
  // also not count their usage (zap_pid_ns_processes ignores SIGCHLD).
  void kill_and_reap() const {
    if (!job_.defences.pid) return;  // kill(-1) would reach the whole machine
    kill(-1, SIGKILL);
    reap_all();
  }

  static void reap_all() {
    while (wait(nullptr) > 0 || errno == EINTR) continue;
  }

  // When the parent asks the init to end (a budget is over, a user cancels), it sends SIGTERM to all
  // processes. The parent kills the sandbox after a grace period. All processes have this time, not only the
  // command, because a shell around an agent dies at once. A SIGTERM from inside gives no time: otherwise a
  // step could outlive its command.
  void pass_on_what_ends_us() const {
    if (!job_.defences.pid) return;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_sigaction = [](int, siginfo_t* from, void*) {
      if (from->si_pid == 0) asked_to_end = 1;  // sent from outside of the pid namespace
      kill(-1, SIGTERM);
    };
    need(sigaction(SIGTERM, &action, nullptr) == 0, "termination signal");
  }

  // Blocks SIGCHLD, so that it is delivered only while the init waits. Returns the mask for waiting.
  sigset_t hear_of_children() const {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    need(sigaction(SIGCHLD, &action, nullptr) == 0 && sigprocmask(SIG_BLOCK, &child, &before) == 0,
         "signals of children");
    return before;
  }

  // Reaps every orphan, and ends after all processes in the sandbox are dead. The init keeps the `held`
  // descriptors open, and the command does not. The lock that says "this step runs" is therefore free only
  // when the sandbox is gone.
  [[noreturn]] void be_init() {
    // The output must end with the command, not with the init. The init must not count as a
    // reader of the input either.
    for (const int fd :
         {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, job_.stdin_fd, job_.stdout_fd, job_.stderr_fd})
      close(fd);
    pass_on_what_ends_us();
    const sigset_t while_waiting = hear_of_children();
    using Kind = ChildReport::Kind;
    for (;;) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, WNOHANG);
      if (ended == 0) {
        renames_.await(while_waiting);
        continue;
      }
      if (renames_.has_ended(ended, status) || ended != command_) continue;
      const bool exited = WIFEXITED(status);
      renames_.finish();
      if (asked_to_end != 0) reap_all();
      report(job_.report_fd, {.kind = exited ? Kind::kExited : Kind::kSignaled,
                              .value = exited ? WEXITSTATUS(status) : WTERMSIG(status)});
      kill_and_reap();
      _exit(0);
    }
  }

  ChildJob& job_;
  Renames renames_;
  pid_t command_ = -1;
  int command_fd_ = -1, command_pidfd_ = -1;
};

}  // namespace

void report(int report_fd, const ChildReport& words) {
  // The report is smaller than PIPE_BUF, so the write is atomic. A parent that has ended needs no report.
  static_cast<void>(write(report_fd, &words, sizeof words) == 0);
}

void report_failure(int report_fd, int error, const char* action, const char* on,
                    ChildReport::Failed failed) {
  ChildReport words{.value = error, .failed = failed};
  std::snprintf(words.action, sizeof words.action, "%s%s", action, on);
  report(report_fd, words);
  _exit(1);
}

// On a machine with more than CPU_SETSIZE (1,024) processors sched_getaffinity(2) fails;
// then no process is moved.
Processors Processors::of_this_process() {
  Processors out;
  out.several_ = sched_getaffinity(0, sizeof out.all_, &out.all_) == 0 && CPU_COUNT(&out.all_) > 1;
  return out;
}

void Processors::send_elsewhere(int pid) const {
  const int here = several_ ? sched_getcpu() : -1;
  if (here < 0 || !CPU_ISSET(here, &all_)) return;
  cpu_set_t others = all_;
  CPU_CLR(here, &others);
  sched_setaffinity(pid, sizeof others, &others);
}

bool Processors::take_back() const { return !several_ || sched_setaffinity(0, sizeof all_, &all_) == 0; }

void await(int fd) {
  char byte = 0;
  ssize_t got = 0;
  do got = read(fd, &byte, 1);
  while (got < 0 && errno == EINTR);
  if (got != 1) _exit(1);
}

int clone_process(std::uint64_t flags, int into_cgroup, int& pidfd) {
  clone_args args{
      .flags = flags | CLONE_PIDFD, .pidfd = reinterpret_cast<std::uint64_t>(&pidfd), .exit_signal = SIGCHLD};
  if (into_cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(into_cgroup);
  }
  return static_cast<int>(syscall(SYS_clone3, &args, sizeof args));
}

void run_child(ChildJob& job) { Init(job).run(); }

}  // namespace pawl::sandbox
