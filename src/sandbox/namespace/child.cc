#include "sandbox/namespace/child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sandbox/namespace/filter.h"
#include "sandbox/namespace/handover.h"
#include "sandbox/namespace/landlock.h"
#include "sandbox/namespace/listeners.h"
#include "sandbox/namespace/walls.h"

namespace pawl::sandbox {
namespace {

constexpr rlim_t kOpenFilesMax = 65536;
constexpr rlim_t kLockedBytesMax = 64 << 10;
constexpr int kCapabilitiesEnd =
    64;  // more than any kernel has; dropping one that is not there fails harmlessly
constexpr int kExitNotFound = 127, kExitNotExecutable = 126;  // as a shell says it (POSIX, 2.8.2)

[[noreturn]] void report_and_exit(int report_fd, ChildReport::Kind kind, int value,
                                  std::string_view mechanism = {}) {
  ChildReport report{.kind = kind, .value = value};
  mechanism.copy(report.mechanism, sizeof report.mechanism - 1);
  // Below PIPE_BUF: all or nothing. A parent that is gone does not care.
  [[maybe_unused]] const ssize_t ignored = write(report_fd, &report, sizeof report);
  _exit(kind == ChildReport::Kind::kExited ? value : 1);
}

class Child {
 public:
  explicit Child(const ChildJob& job) : job_(job) {}

  [[noreturn]] void run() {
    become_the_sandbox_user();
    close_what_is_inherited();
    enter_own_cgroup_namespace();
    bring_up_loopback();
    open_listeners();
    need(sethostname("pawl", 4) == 0, "host name");
    need(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
    clone_sources();
    for (const auto& op : job_.plan->ops) apply(op);
    enter_root();
    // A session without a terminal: nobody can push characters into ours (TIOCSTI).
    need(!is_up(Wall::kSession) || setsid() >= 0, "session");
    prctl(PR_SET_DUMPABLE, 0);  // the command has our user id and must not trace its init
    const pid_t command = fork();
    need(command >= 0, "fork");
    if (command == 0) exec_command();
    drop_capabilities();
    be_init(command);
  }

 private:
  void need(bool ok, std::string_view mechanism) const {
    if (!ok) report_and_exit(job_.report_fd, ChildReport::Kind::kFailed, errno, mechanism);
  }

  void die_with_parent() const {
    need(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "parent death signal");
    // It may have died before; its end of the socket is then closed.
    pollfd hung_up{.fd = job_.sync_fd, .events = POLLIN};
    if (poll(&hung_up, 1, 0) > 0 && (hung_up.revents & POLLHUP) != 0) _exit(1);
  }

  void become_the_sandbox_user() const {
    die_with_parent();
    need(job_.cgroup == nullptr || job_.cgroup->join(), "cgroup: join");
    char go = 0;
    ssize_t got = 0;
    do got = read(job_.sync_fd, &go, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1) _exit(1);
    need(!job_.set_groups || setgroups(0, nullptr) == 0, "supplementary groups");
    need(setresgid(kInsideUid, kInsideUid, kInsideUid) == 0, "group id");
    need(setresuid(kInsideUid, kInsideUid, kInsideUid) == 0, "user id");
    prctl(PR_SET_DUMPABLE, 1);  // our own /proc/self stays readable while the mounts are made
    die_with_parent();          // a change of ids forgets the signal (prctl(2))
  }

  void close_what_is_inherited() const {
    need(dup2(job_.stdout_fd, STDOUT_FILENO) >= 0 && dup2(job_.stderr_fd, STDERR_FILENO) >= 0, "output");
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    need(null >= 0 && dup2(null, STDIN_FILENO) >= 0, "/dev/null");
  }

  void enter_own_cgroup_namespace() const { need(unshare(CLONE_NEWCGROUP) == 0, "cgroup namespace"); }

  void bring_up_loopback() const {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::memcpy(request.ifr_name, "lo", 3);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    need(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0, "loopback");
    close(fd);
  }

  // What leads out: the supervisor accepts on these, nothing in here can.
  void open_listeners() const {
    if (job_.listeners.empty()) return;
    need(add_addresses(job_.listeners), "addresses of the egress");
    for (std::size_t i = 0; i < job_.listeners.size(); ++i) {
      const int fd = open_listener(job_.listeners[i]);
      need(fd >= 0 && hand_over(job_.sync_fd, HandOver::kListener, i, fd), "listener of the egress");
      close(fd);
    }
  }

  // Before anything covers their paths.
  void clone_sources() {
    trees_ = job_.mounts;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      if (trees_[i] < 0) trees_[i] = clone_tree(job_.plan->sources[i].path);
      need(trees_[i] >= 0, "open_tree " + job_.plan->sources[i].path);
    }
  }

  static bool set_attributes(const std::string& target, std::uint64_t attributes, bool recursive) {
    mount_attr change{.attr_set = attributes};
    return mount_setattr(AT_FDCWD, target.c_str(), recursive ? AT_RECURSIVE : 0, &change, sizeof change) == 0;
  }

  bool try_op(const MountOp& op) const {
    using Kind = MountOp::Kind;
    const char* target = op.target.c_str();
    switch (op.kind) {
      case Kind::kTmpfs:
        return mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, op.text.c_str()) == 0;
      case Kind::kFolder:
        return mkdir(target, 0755) == 0 || errno == EEXIST;
      case Kind::kSharedFolder:
        return mkdir(target, 0755) == 0 && chmod(target, 01777) == 0;
      case Kind::kBind:
        return mount(op.text.c_str(), target, nullptr, MS_BIND, nullptr) == 0;
      case Kind::kFile:
        return make_file(op);
      case Kind::kSymlink:
        return symlink(op.text.c_str(), target) == 0;
      case Kind::kAttach: {
        const std::uint64_t attributes = MOUNT_ATTR_NOSUID |
                                         (op.read_only && is_up(Wall::kReadOnly) ? MOUNT_ATTR_RDONLY : 0ULL) |
                                         (op.devices ? 0ULL : MOUNT_ATTR_NODEV);
        return attach_tree(trees_[static_cast<std::size_t>(op.source)], op.target) &&
               set_attributes(op.target, attributes, true);
      }
      case Kind::kOverlay:
        return mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, op.text.c_str()) == 0;
      case Kind::kProc:
        return mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
      case Kind::kDevpts:
        return mount("devpts", target, "devpts", MS_NOSUID | MS_NOEXEC,
                     "newinstance,ptmxmode=0666,mode=620") == 0;
      case Kind::kMask:
        return !is_up(Wall::kMasks) || mask(op.target);
      case Kind::kReadOnly:
        return !is_up(Wall::kReadOnly) || make_read_only(op.target);
    }
    return false;
  }

  void apply(const MountOp& op) const {
    if (!try_op(op)) need(false, to_text(op, *job_.plan));
  }

  static bool make_file(const MountOp& op) {
    const int fd = open(op.target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    const bool ok = write(fd, op.text.data(), op.text.size()) == static_cast<ssize_t>(op.text.size());
    return close(fd) == 0 && ok;
  }

  static bool mask(const std::string& target) {
    struct stat status {};
    if (stat(target.c_str(), &status) != 0) return errno == ENOENT || errno == EACCES;
    if (!S_ISDIR(status.st_mode)) return mount("/dev/null", target.c_str(), nullptr, MS_BIND, nullptr) == 0;
    return mount(std::string(kNothing).c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
           set_attributes(target, MOUNT_ATTR_RDONLY, false);
  }

  static bool make_read_only(const std::string& target) {
    if (set_attributes(target, MOUNT_ATTR_RDONLY, false)) return true;
    if (errno != EINVAL) return false;
    // Not a mount of its own yet.
    return mount(target.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
           set_attributes(target,
                          MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, true);
  }

  void enter_root() const {
    need(chdir(std::string(kNewRoot).c_str()) == 0, "new root");
    // pivot_root(2), "pivot_root(".", ".")": the old root lies on top of the new one, and is taken off.
    need(syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
    need(umount2(".", MNT_DETACH) == 0, "old root");
    need(chdir("/workspace") == 0, "/workspace");
  }

  static void set_limit(int resource, rlim_t value) {
    rlimit now{};
    getrlimit(static_cast<__rlimit_resource>(resource), &now);
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value) value = now.rlim_max;
    const rlimit limit{.rlim_cur = value, .rlim_max = value};
    setrlimit(static_cast<__rlimit_resource>(resource), &limit);
  }

  void set_limits() const {
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_NOFILE, kOpenFilesMax);
    set_limit(RLIMIT_MEMLOCK, kLockedBytesMax);
    set_limit(RLIMIT_FSIZE, static_cast<rlim_t>(job_.spec->disk_limit_mib) << 20);
    if (!job_.limit_by_rlimits) return;
    // Of this user in this user namespace only (since Linux 5.14). The init is one.
    set_limit(RLIMIT_NPROC, static_cast<rlim_t>(job_.spec->pids_limit) + 1);
    set_limit(RLIMIT_DATA, static_cast<rlim_t>(job_.spec->memory_limit_mib) << 20);
  }

  void drop_capabilities() const {
    for (int i = 0; i < kCapabilitiesEnd; ++i) prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const std::array<__user_cap_data_struct, 2> none{};
    need(syscall(SYS_capset, &header, none.data()) == 0, "capabilities");
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  }

  // The last walls, because nothing after them may need what they take.
  void restrict_calls() const {
    // A session keyring of its own: whatever hung on the one inherited is out of reach, even where keyctl is
    // not.
    static_cast<void>(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0));
    if (job_.use_landlock && is_up(Wall::kLandlock)) need(restrict_writing(job_.writable), "landlock");
    if (!is_up(Wall::kSeccomp)) return;
    if (!job_.spec->enable_trace) return need(install_filters(), "seccomp");
    // So that the supervisor of an ordinary user may read the arguments of the first exec; nobody else is in
    // here yet.
    prctl(PR_SET_DUMPABLE, 1);
    const int listener = install_traced_filters();
    need(listener >= 0 && hand_over(job_.sync_fd, HandOver::kTracer, 0, listener), "seccomp with a trace");
    close(listener);
  }

  [[noreturn]] void exec_command() const {
    set_limits();
    drop_capabilities();
    restrict_calls();
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) std::signal(signal, SIG_DFL);
    std::vector<char*> argv, env;
    for (const auto& word : job_.spec->cmd) argv.push_back(const_cast<char*>(word.c_str()));
    for (const auto& entry : job_.spec->env) env.push_back(const_cast<char*>(entry.c_str()));
    argv.push_back(nullptr);
    env.push_back(nullptr);
    need(!is_up(Wall::kDescriptors) || close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0, "close_range");
    environ = env.data();  // also where execvp finds PATH
    execvp(argv[0], argv.data());
    const int error = errno;
    std::fprintf(stderr, "pawl: can't run %s: %s\n", argv[0], std::strerror(error));
    _exit(error == ENOENT || error == ENOTDIR ? kExitNotFound : kExitNotExecutable);
  }

  // Reaps whatever is left to it. When it ends, the kernel kills the rest. It keeps the descriptors of the
  // supervisor (the command has none of them): so the lock that says "this step runs" is free only when the
  // sandbox is gone.
  [[noreturn]] void be_init(pid_t command) const {
    for (int fd = 0; fd < 3; ++fd) close(fd);
    // Asked to end (a budget is over, somebody cancels), it passes the word on; the supervisor kills after a
    // grace.
    std::signal(SIGTERM, [](int) { kill(-1, SIGTERM); });
    for (;;) {
      int status = 0;
      const pid_t ended = wait(&status);
      if (ended < 0 && errno == EINTR) continue;
      if (ended != command) continue;
      if (WIFEXITED(status)) report_and_exit(job_.report_fd, ChildReport::Kind::kExited, WEXITSTATUS(status));
      report_and_exit(job_.report_fd, ChildReport::Kind::kSignaled, WTERMSIG(status));
    }
  }

  const ChildJob& job_;
  std::vector<int> trees_;
};

}  // namespace

int clone_tree(const std::string& path) {
  return open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

bool attach_tree(int tree, const std::string& target) {
  return move_mount(tree, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

void run_child(const ChildJob& job) { Child(job).run(); }

}  // namespace pawl::sandbox
