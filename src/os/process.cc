#include "os/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>

#include "os/clock.h"
#include "os/defences.h"

extern char** environ;

namespace pawl::os {
namespace {

constexpr std::int64_t kLookEveryMs = 100;  // how soon a person's interrupt ends a wait

// Field 22 of /proc/PID/stat. No value: there is no such process (any more). An error: that cannot be told,
// because a failure to look is not a sign that a process is gone. The command name (field 2) may contain spaces
// and parentheses, so fields are counted from the last ')'.
Result<std::optional<std::uint64_t>> start_ticks_of(std::int64_t pid) {
  auto text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!text) {
    const int why = text.error().sys_errno;  // ESRCH: it ended between open(2) and read(2)
    if (why == ENOENT || why == ESRCH) return std::nullopt;
    return std::unexpected(std::move(text).error());
  }
  auto at = text->rfind(')');
  if (at == std::string::npos) return std::nullopt;
  for (int field = 2; field < 22; ++field) {
    at = text->find(' ', at + 1);
    if (at == std::string::npos) return std::nullopt;
    // Field 3 is the state. A zombie has ended, even if its parent has not waited for it.
    if (field == 2 && (*text)[at + 1] == 'Z') return std::nullopt;
  }
  std::uint64_t ticks = 0;
  const auto parsed = std::from_chars(text->data() + at + 1, text->data() + text->size(), ticks);
  if (parsed.ec != std::errc()) return std::nullopt;
  return ticks;
}

// The scope in which a pid is unique: the host name and the pid namespace. Containers of one machine may
// share its name and boot id, but have other processes.
std::string host_name() {
  constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO in linux/proc_ns.h
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  std::string text(name);
  for (char& c : text)
    if (c == '/') c = '_';
  struct stat pids {};
  if (stat("/proc/self/ns/pid", &pids) == 0 && pids.st_ino != kFirstPidNamespace)
    text += "+" + std::to_string(pids.st_ino);
  return text;
}

std::atomic<int> g_interrupted_by{0};

void on_interrupt(int number) {
  g_interrupted_by = number;
  signal(number, SIG_DFL);
}

// The stdin of a new process.
Result<UniqueFd> input_with(std::string_view bytes) {
  if (bytes.empty()) {
    UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null) return fail_errno(errno, "open", "/dev/null");
    return null;
  }
  PAWL_CHECK(bytes.size() <= kInputBytesMax);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "make a pipe");
  UniqueFd from(ends[0]);
  const UniqueFd to(ends[1]);
  // A user who has many pipes gets small ones (pipe-user-pages-soft in proc(5)).
  const auto size = static_cast<int>(bytes.size());
  if (fcntl(to.get(), F_GETPIPE_SZ) < size && fcntl(to.get(), F_SETPIPE_SZ, size) < 0)
    return fail_errno(errno, "make a pipe with enough room");
  if (write(to.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return fail_errno(errno, "write to a pipe");
  return from;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const auto& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

struct Streams {
  int in, out, err;
};

// Starts `argv` as the leader of a new session, with these descriptors only.
Result<std::int64_t> start(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                           const Streams& streams) {
  PAWL_CHECK(!argv.empty());
  const auto words = pointers(argv);
  const auto variables = pointers(env);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  // As after vfork(2), the child shares memory with its parent until exec, so it only makes system calls.
  const pid_t pid = vfork();
  if (pid == 0) {
    setsid();
    dup2(streams.in, 0);
    dup2(streams.out, 1);
    dup2(streams.err, 2);
    syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    execvpe(words[0], words.data(), variables.data());  // allocates on the stack only
    _exit(127);
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (pid < 0) return fail_errno(error, "start", argv[0]);
  return pid;
}

// Returns the bytes that the process `pid` writes to the pipe `from` until it ends. A process that it leaves
// may hold the other end of the pipe for ever.
Result<std::string> read_until_end(const UniqueFd& from, pid_t pid, std::int64_t timeout_ms,
                                   std::size_t bytes_max) {
  const UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!handle) return fail_errno(errno, "watch a process");
  if (fcntl(from.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno(errno, "read from a pipe");
  const MonoTime begun = SystemClock().mono();
  std::string out;
  pollfd entries[] = {{.fd = handle.get(), .events = POLLIN}, {.fd = from.get(), .events = POLLIN}};
  for (bool over = false; !over;) {
    const auto left_ms = timeout_ms - ms_between(begun, SystemClock().mono());
    if (interrupted()) return fail(ErrorKind::kCancelled, "interrupted");
    if (left_ms <= 0)
      return fail(ErrorKind::kUnavailable, "not over after " + std::to_string(timeout_ms / 1000) + " s");
    if (poll(entries, 2, static_cast<int>(std::min<std::int64_t>(left_ms, kLookEveryMs))) < 0) continue;
    over = entries[0].revents != 0;  // read after this: what it has printed is in the pipe
    char bytes[4096];
    ssize_t got = 0;
    while ((got = read(from.get(), bytes, sizeof bytes)) > 0 && out.size() <= bytes_max)
      out.append(bytes, static_cast<std::size_t>(got));
    if (out.size() > bytes_max)
      return fail(ErrorKind::kExhausted, "more than " + std::to_string(bytes_max) + " bytes");
    if (got == 0) entries[1].fd = -1;  // it closed its stdout
  }
  return out;
}

}  // namespace

std::string boot_id() {
  auto text = read_file("/proc/sys/kernel/random/boot_id", 128);
  if (!text) return std::string(kNoBoot);
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

ProcessIdentity this_process() {
  const auto pid = static_cast<std::int64_t>(getpid());
  const auto ticks = start_ticks_of(pid);
  return {
      .host = host_name(), .boot_id = boot_id(), .pid = pid, .start_ticks = ticks && *ticks ? **ticks : 0};
}

std::string to_text(const ProcessIdentity& identity) {
  return identity.host + "/" + identity.boot_id + "/" + std::to_string(identity.pid) + "/" +
         std::to_string(identity.start_ticks);
}

std::optional<ProcessIdentity> parse_identity(std::string_view text) {
  std::vector<std::string_view> parts;
  while (parts.size() < 4) {
    const auto slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) break;
    text.remove_prefix(slash + 1);
  }
  if (parts.size() < 4) return std::nullopt;
  ProcessIdentity out{.host = std::string(parts[0]), .boot_id = std::string(parts[1])};
  const auto number = [](std::string_view digits, auto& value) {
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  };
  if (!number(parts[2], out.pid) || !number(parts[3], out.start_ticks)) return std::nullopt;
  return out;
}

Liveness liveness(const ProcessIdentity& identity) {
  if (identity.host != host_name()) return Liveness::kUnknown;
  if (const std::string now = boot_id(); identity.boot_id != now)
    return now == kNoBoot ? Liveness::kUnknown : Liveness::kDead;
  const auto ticks = start_ticks_of(identity.pid);
  if (!ticks) return Liveness::kUnknown;
  return *ticks == identity.start_ticks ? Liveness::kAlive : Liveness::kDead;
}

Result<std::int64_t> spawn_detached(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                                    const std::string& log_path, std::string_view input) {
  PAWL_TRY(const UniqueFd in, input_with(input));
  const UniqueFd log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return fail_errno(errno, "open log", log_path);
  return start(argv, env, {.in = in.get(), .out = log.get(), .err = log.get()});
}

Result<Printed> output_of(const std::vector<std::string>& argv, std::int64_t timeout_ms,
                          std::size_t bytes_max) {
  PAWL_TRY(const UniqueFd in, input_with({}));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "make a pipe");
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  PAWL_TRY(const std::int64_t pid,
           start(argv, environment(), {.in = in.get(), .out = to.get(), .err = STDERR_FILENO}));
  to.reset();
  auto text = read_until_end(from, static_cast<pid_t>(pid), timeout_ms, bytes_max);
  if (!text) kill(-static_cast<pid_t>(pid), SIGKILL);
  int status = 0;
  while (waitpid(static_cast<pid_t>(pid), &status, 0) < 0 && errno == EINTR) continue;
  if (!text) return std::unexpected(std::move(text).error());
  Printed out{.text = *std::move(text)};
  if (WIFEXITED(status)) out.code = WEXITSTATUS(status);
  return out;
}

Result<Piped> spawn_piped(const std::vector<std::string>& argv) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return fail_errno(errno, "make a pipe");
  const UniqueFd its_in(in[0]);
  UniqueFd to(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return fail_errno(errno, "make a pipe");
  UniqueFd from(out[0]);
  const UniqueFd its_out(out[1]);
  PAWL_TRY(const std::int64_t pid,
           start(argv, environment(), {.in = its_in.get(), .out = its_out.get(), .err = STDERR_FILENO}));
  return Piped{.pid = pid, .to = std::move(to), .from = std::move(from)};
}

Result<std::string> take_standard_input() {
  std::string out(kInputBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < out.size()) {
    const ssize_t got = read(STDIN_FILENO, out.data() + size, out.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read standard input");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null || dup2(null.get(), STDIN_FILENO) < 0) return fail_errno(errno, "open", "/dev/null");
  if (size > kInputBytesMax) return fail(ErrorKind::kExhausted, "standard input has too many bytes");
  out.resize(size);
  return out;
}

Exit wait_for_exit(std::int64_t pid, std::int64_t timeout_ms) {
  const auto target = static_cast<pid_t>(pid);
  UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, target, 0)));
  if (!handle && errno == ESRCH) return {.gone = true};  // gone and reaped
  if (!handle) {                                         // No descriptor or memory is left.
    SystemClock().sleep_ms(timeout_ms);
    return {};
  }
  pollfd entry{.fd = handle.get(), .events = POLLIN, .revents = 0};
  const int ready = poll(&entry, 1, static_cast<int>(timeout_ms));
  if (ready <= 0) return {};
  int status = 0;
  const bool ours = waitpid(target, &status, WNOHANG) == target;  // fails harmlessly if it is not a child
  if (ours && WIFEXITED(status)) return {.gone = true, .code = WEXITSTATUS(status)};
  return {.gone = true};
}

bool kill_process(const ProcessIdentity& identity, std::int64_t timeout_ms) {
  const auto before = liveness(identity);
  if (before != Liveness::kAlive) return before == Liveness::kDead;
  // A pidfd refers to one process for ever. The second check, after the open, proves that the pid was not
  // reused.
  const UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(identity.pid), 0)));
  if (!handle) return errno == ESRCH;
  const auto now = liveness(identity);
  if (now != Liveness::kAlive) return now == Liveness::kDead;
  syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
  const MonoTime begun = SystemClock().mono();
  for (auto left_ms = timeout_ms;; left_ms = timeout_ms - ms_between(begun, SystemClock().mono())) {
    if (wait_for_exit(identity.pid, std::max<std::int64_t>(left_ms, 0)).gone) return true;
    if (left_ms <= 0) return false;  // Else a signal to this process ended the wait.
  }
}

std::unexpected<Error> become(const std::string& program, char** argv) {
  execv(program.c_str(), argv);
  return fail_errno(errno, "run", program);
}

Result<std::string> own_executable() { return absolute_path("/proc/self/exe"); }

std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) out.emplace_back(*entry);
  return out;
}

std::optional<std::string> environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup(1), or `&` of a shell
  }
}

bool interrupted() { return g_interrupted_by != 0; }
bool asked_to_stop_by_keyboard() { return g_interrupted_by == SIGINT; }

bool is_terminal(int fd) { return isatty(fd) == 1; }

bool reader_left(int fd) {
  pollfd end{.fd = fd, .events = 0, .revents = 0};
  return poll(&end, 1, 0) == 1 && (end.revents & (POLLERR | POLLHUP)) != 0;
}

std::size_t terminal_columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::int64_t user_id() { return getuid(); }

void refuse_to_be_looked_into() {
  if (defences().supervisor) prctl(PR_SET_DUMPABLE, 0);
}

void ignore_write_signals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)  // open(2) takes the lowest free number
      static_cast<void>(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

void keep_owner_rights() { umask(umask(0) & 077); }

}  // namespace pawl::os
