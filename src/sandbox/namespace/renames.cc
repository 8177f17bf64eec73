#include "sandbox/namespace/renames.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "sandbox/namespace/filter.h"
#include "sandbox/namespace/landlock.h"
#include "sandbox/namespace/upper_folder.h"

namespace pawl::sandbox {
namespace {

constexpr long kOverlayMagic = 0x794c7630;
constexpr unsigned kNoReplace = 1, kExchange = 2;  // linux/fs.h

volatile std::sig_atomic_t asked_to_stop = 0;

// Reads at most PATH_MAX bytes of the caller's memory, page by page, because the next page may not be mapped.
bool read_path(pid_t thread, std::uint64_t address, char* path) {
  constexpr std::uint64_t kPage = 4096;
  for (std::size_t size = 0; size < PATH_MAX;) {
    const std::size_t most = std::min<std::size_t>(PATH_MAX - size, kPage - (address + size) % kPage);
    const iovec to{path + size, most};
    const iovec from{reinterpret_cast<void*>(address + size), most};  // NOLINT(performance-no-int-to-ptr)
    const ssize_t got = process_vm_readv(thread, &to, 1, &from, 1, 0);
    if (got <= 0) return false;
    if (std::memchr(path + size, '\0', static_cast<std::size_t>(got)) != nullptr) return path[0] != '\0';
    size += static_cast<std::size_t>(got);
  }
  return false;
}

// A name and its folder, as the caller sees them.
class Place {
 public:
  // False: the path cannot be read.
  bool read(pid_t thread, int at, std::uint64_t address) {
    if (!read_path(thread, address, path())) return false;
    starts_with_ = 0;
    if (path()[0] == '/') return true;
    char start[kStartMax];
    const int size = at == AT_FDCWD ? std::snprintf(start, sizeof start, "/proc/%d/cwd/", thread)
                                    : std::snprintf(start, sizeof start, "/proc/%d/fd/%d/", thread, at);
    starts_with_ = static_cast<std::size_t>(size);
    std::memcpy(path() - starts_with_, start, starts_with_);
    return true;
  }

  bool is_folder() const {
    struct stat status {};
    return lstat(text_ + kStartMax - starts_with_, &status) == 0 && S_ISDIR(status.st_mode);
  }

  // Call at most once. Magic links after the first would lead to descriptors of the init itself.
  bool open_parent() {
    os::UniqueFd start;
    if (starts_with_ > 0) {
      path()[-1] = '\0';
      start = os::UniqueFd(open(path() - starts_with_, O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!start) return false;
    }
    std::size_t end = std::strlen(path());
    while (end > 1 && path()[end - 1] == '/') --end;
    path()[end] = '\0';
    char* slash = std::strrchr(path(), '/');
    name_ = slash == nullptr ? path() : slash + 1;
    if (*name_ == '\0' || std::strcmp(name_, ".") == 0 || std::strcmp(name_, "..") == 0) return false;
    if (slash != nullptr) *slash = '\0';
    const char* folder = slash == nullptr ? "." : slash == path() ? "/" : path();
    const open_how how{
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_NO_MAGICLINKS};
    const int from = start ? start.get() : AT_FDCWD;
    parent_.reset(static_cast<int>(syscall(SYS_openat2, from, folder, &how, sizeof how)));
    return static_cast<bool>(parent_);
  }

  int parent() const { return parent_.get(); }
  os::UniqueFd take_parent() { return std::move(parent_); }
  const char* name() const { return name_; }

 private:
  static constexpr std::size_t kStartMax = 40;
  char* path() { return text_ + kStartMax; }

  char text_[kStartMax + PATH_MAX];  // NOLINT(cppcoreguidelines-pro-type-member-init): read fills it
  std::size_t starts_with_ = 0;      // bytes before the caller's own text, when that is relative
  os::UniqueFd parent_;
  const char* name_ = nullptr;
};

struct Arguments {
  int from_at = AT_FDCWD, to_at = AT_FDCWD;
  std::uint64_t from = 0, to = 0;
  unsigned flags = 0;
};

Arguments arguments_of(const AskedRename& asked) {
  const auto* of = asked.arguments;
#ifdef SYS_rename  // arm64 has no rename(2)
  if (asked.call == SYS_rename) return {.from = of[0], .to = of[1]};
#endif
  return {.from_at = static_cast<int>(of[0]),
          .to_at = static_cast<int>(of[2]),
          .from = of[1],
          .to = of[3],
          .flags = asked.call == SYS_renameat2 ? static_cast<unsigned>(of[4]) : 0};
}

bool is_empty(int parent, const char* name) {
  const os::UniqueFd folder(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  char entries[256];
  long got = -1;
  // "." and ".." take 24 bytes each.
  return !folder || (got = syscall(SYS_getdents64, folder.get(), entries, sizeof entries)) <= 48;
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Whether `folder` lies in the folder of `status`: a folder cannot be moved into itself.
bool is_below(int folder, const struct stat& status) {
  os::UniqueFd at(openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat here {
  }, above{};
  for (int depth = 0; at && depth < PATH_MAX / 2; ++depth) {
    if (fstat(at.get(), &here) != 0) return false;
    if (is_same(here, status)) return true;
    at.reset(openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!at || fstat(at.get(), &above) != 0 || is_same(here, above)) return false;
  }
  return false;
}

}  // namespace

// How a rename would end. A rename that the kernel refuses anyway needs no copy.
enum class Prospect { kRefused, kNotEmpty, kGood };

struct Renames::Asked {
  Place from, to;
  unsigned flags = 0;

  Prospect prospect() const {
    struct statfs system {};
    if (fstatfs(from.parent(), &system) != 0 || system.f_type != kOverlayMagic) return Prospect::kRefused;
    struct stat source {
    }, target{};
    if (fstatat(from.parent(), from.name(), &source, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstat(to.parent(), &target) != 0 || source.st_dev != target.st_dev || !may_move(source) ||
        is_below(to.parent(), source))
      return Prospect::kRefused;
    const bool is_there = fstatat(to.parent(), to.name(), &target, AT_SYMLINK_NOFOLLOW) == 0;
    if (flags == kExchange) return is_there ? Prospect::kGood : Prospect::kRefused;
    if ((flags & ~kNoReplace) != 0) return Prospect::kRefused;
    if (!is_there) return Prospect::kGood;
    if (flags != 0 || !S_ISDIR(target.st_mode) || is_same(source, target)) return Prospect::kRefused;
    return is_empty(to.parent(), to.name()) ? Prospect::kGood : Prospect::kNotEmpty;
  }

 private:
  // Whether the folders are writable: a folder that moves to another parent has its ".." changed.
  bool may_move(const struct stat& source) const {
    for (const int folder : {from.parent(), to.parent()})
      if (faccessat(folder, ".", W_OK | X_OK, 0) != 0) return false;
    struct stat one {
    }, other{};
    const bool stays =
        fstat(from.parent(), &one) == 0 && fstat(to.parent(), &other) == 0 && is_same(one, other);
    return stays || !S_ISDIR(source.st_mode) || faccessat(from.parent(), from.name(), W_OK, 0) == 0;
  }
};

void Renames::take_from(int command) {
  while (auto handed = take_over(command, Waiting::kForOne)) {
    if (handed->what == HandOver::kRenames)
      listener_ = std::move(handed->fd);
    else if (cgroup_count_ < cgroups_.size())
      cgroups_[cgroup_count_++] = std::move(handed->fd);
  }
}

Renames::Worker* Renames::free_worker() {
  const auto found = std::ranges::find(workers_, 0, &Worker::pid);
  return found == workers_.end() ? nullptr : &*found;
}

void Renames::await(const sigset_t& mask) {
  Worker* worker = is_over_ || !listener_ ? nullptr : free_worker();
  // With a trace the supervisor receives all notifications and passes renames on to the init.
  const int source = job_.spec->enable_trace ? job_.sync_fd : listener_.get();
  pollfd asks{.fd = worker == nullptr ? -1 : source, .events = POLLIN};
  if (ppoll(&asks, 1, nullptr, &mask) <= 0) return;
  if ((asks.revents & POLLIN) == 0) {
    is_over_ = true;  // no process is left that could ask
    return;
  }
  AskedRename asked;
  if (receive(asked) && !start_worker(*worker, asked)) answer(asked.id, 0);
}

bool Renames::receive(AskedRename& asked) {
  if (job_.spec->enable_trace) {
    const bool is_whole = take_rename(job_.sync_fd, asked);
    is_over_ = !is_whole;
    return is_whole;
  }
  seccomp_notif one{};
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &one) != 0) {
    is_over_ = errno != ENOENT && errno != EINTR;  // ENOENT: the caller has ended
    return false;
  }
  asked = {.id = one.id, .thread = static_cast<std::int32_t>(one.pid), .call = one.data.nr, .arguments = {}};
  std::ranges::copy_n(one.data.args, std::size(asked.arguments), asked.arguments);
  return true;
}

// False: there is no folder to make, and the rename can continue.
bool Renames::start_worker(Worker& worker, const AskedRename& rename) {
  const auto arguments = arguments_of(rename);
  Asked asked;
  asked.flags = arguments.flags;
  if (!asked.from.read(rename.thread, arguments.from_at, arguments.from)) return false;
  const bool exchanged = arguments.flags == kExchange;
  if (!exchanged && !asked.from.is_folder()) return false;
  if (!asked.to.read(rename.thread, arguments.to_at, arguments.to)) return false;
  if (!asked.from.is_folder() && !asked.to.is_folder()) return false;
  if (!asked.from.open_parent() || !asked.to.open_parent()) return false;
  if (!exchanged && is_upper_alone(asked.from.parent(), asked.from.name())) return false;
  // The caller may have ended meanwhile, and its number may be another thread's.
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &rename.id) != 0) return true;
  if (progress_ == nullptr) {
    void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    progress_ = static_cast<Progress*>(memory);
  }
  int pidfd = -1;
  const int pid = clone_process(0, -1, pidfd);
  if (pid == 0) work(asked, latest_.get());
  if (pid < 0) return false;
  fcntl(pidfd, F_SETFD, FD_CLOEXEC);
  latest_.reset(pidfd);
  worker.pid = pid;
  worker.id = rename.id;
  worker.from = asked.from.take_parent();
  worker.to = asked.to.take_parent();
  worker.repairs = 0;
  return true;
}

// A killed worker left a part of a folder under a temporary name.
bool Renames::start_repair(Worker& worker) {
  constexpr int kRepairsMax = 3;
  int pidfd = -1;
  if (worker.repairs++ == kRepairsMax) return false;
  const int pid = clone_process(0, -1, pidfd);
  if (pid == 0) {
    progress_->worker = static_cast<pid_t>(getpid());
    if (confine())
      undo_upper_alone((progress_->is_of_target ? worker.to : worker.from).get(), progress_->upper);
    _exit(0);
  }
  if (pid < 0) return false;
  fcntl(pidfd, F_SETFD, FD_CLOEXEC);
  latest_.reset(pidfd);
  worker.pid = pid;
  return true;
}

bool Renames::confine() const {
  struct sigaction stop {};
  stop.sa_handler = [](int) { asked_to_stop = 1; };
  for (const int signal : {SIGCHLD, SIGUSR1}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  bool ok = sigaction(SIGTERM, &stop, nullptr) == 0 && sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  for (std::size_t i = 0; i < cgroup_count_; ++i) ok = ok && join_cgroup(cgroups_[i].get());
  rlimit files{};  // two for each level of folders
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  ok = ok && install_filter();
  if (job_.use_landlock && job_.defences.landlock) ok = ok && restrict_writing(job_.writable);
  return ok;
}

void Renames::work(const Asked& asked, int before) const {
  const bool ok = confine();
  // Workers run one at a time: two of them would disturb each other in the same folders.
  pollfd ended{.fd = before, .events = POLLIN};
  while (ok && before >= 0 && asked_to_stop == 0 && poll(&ended, 1, -1) < 0) continue;
  if (!ok || asked_to_stop != 0) _exit(0);
  if (progress_->upper.depth != 0) _exit(0);  // left by a killed worker: the init has it repaired
  progress_->worker = static_cast<pid_t>(getpid());
  const Prospect prospect = asked.prospect();
  if (prospect != Prospect::kGood) _exit(prospect == Prospect::kNotEmpty ? ENOTEMPTY : 0);
  int error = 0;
  for (const Place* place : {&asked.from, &asked.to}) {
    if (error != 0 || (place == &asked.to && asked.flags != kExchange)) continue;
    struct stat status {};
    const bool is_folder =
        fstatat(place->parent(), place->name(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
    progress_->is_of_target = place == &asked.to;
    if (is_folder) error = make_upper_alone(place->parent(), place->name(), asked_to_stop, progress_->upper);
  }
  _exit(error);
}

// Returns to the caller only disk errors and ENOTEMPTY, which overlayfs would report as EXDEV. Any other
// rename continues, and the kernel decides.
bool Renames::has_ended(pid_t child, int status) {
  const auto found = std::ranges::find(workers_, child, &Worker::pid);
  if (found == workers_.end()) return false;
  const bool left_work = WIFSIGNALED(status) && progress_->upper.depth != 0 && progress_->worker == child;
  if (left_work && !is_over_ && start_repair(*found)) return true;
  if (left_work) progress_->upper.depth = 0;  // repair failed; give up
  const int error = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const int told[] = {ENOTEMPTY, ENOSPC, EDQUOT, EIO, ENOMEM};
  const bool is_told = std::ranges::count(told, error) == 1;
  answer(found->id, is_told ? error : 0);
  *found = {};
  return true;
}

void Renames::answer(std::uint64_t id, int error) const {
  seccomp_notif_resp answer{.id = id, .val = 0, .error = -error, .flags = 0};
  if (error == 0) answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);  // ENOENT: the caller has ended
}

void Renames::finish() {
  for (const auto& worker : workers_)
    if (worker.pid > 0) {
      kill(worker.pid, SIGTERM);
      kill(worker.pid, SIGCONT);
    }
  for (auto& worker : workers_)
    while (worker.pid > 0 && waitpid(worker.pid, nullptr, 0) != worker.pid && errno == EINTR) continue;
}

}  // namespace pawl::sandbox
