// Hostile programs by name (programs.py states why each must not work): `attacks NAME [ARGUMENT]`. Exit code
// 0: the attack got through; 1: it was stopped, and errno is printed. A successful attack does no harm: it
// reads, asks, or writes below a folder of the test.
#include "hostile/attacks.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fanotify.h>
#include <linux/keyctl.h>
#include <linux/memfd.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

using pawl::hostile::Attack;
using pawl::hostile::attacks_on_limits;

namespace {

constexpr int kHugeSizeShift = 26;  // linux/shm.h, which redefines parts of sys/shm.h

bool unless(int stopped_by, long result) { return result >= 0 || errno != stopped_by; }
bool unless_denied(long result) { return result >= 0 || (errno != EPERM && errno != ENOSYS); }

bool can_read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  char byte = 0;
  return fd >= 0 && read(fd, &byte, 1) == 1;
}
bool can_list(const std::string& path) {
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return false;
  int found = 0;
  while (const dirent* entry = readdir(folder)) found += entry->d_name[0] != '.';
  return found > 0;
}
bool can_make(const std::string& path) { return open(path.c_str(), O_WRONLY | O_CREAT, 0600) >= 0; }

bool connects(const sockaddr* address, socklen_t size) {
  const int fd = socket(address->sa_family, SOCK_STREAM, 0);
  return fd >= 0 && connect(fd, address, size) == 0;
}
bool connects_unix(const std::string& path, bool abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + (abstract ? 1 : 0), path.data(), path.size());
  return connects(reinterpret_cast<const sockaddr*>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1));
}

// `kind` is FAMILY,TYPE,PROTOCOL, as numbers.
long open_socket(const std::string& kind, unsigned long high_bits) {
  int all[3] = {};
  std::sscanf(kind.c_str(), "%d,%d,%d", &all[0], &all[1], &all[2]);
  const auto word = [&](int i) { return high_bits | static_cast<unsigned>(all[i]); };
  return syscall(SYS_socket, word(0), word(1), word(2));
}

int own_terminal() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return -1;
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  if (fork() == 0) {  // in a session of its own, to own the terminal
    setsid();
    ioctl(terminal, TIOCSCTTY, 0);
    return terminal;
  }
  int status = 0;
  wait(&status);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// Calls `try_it` for every process in /proc except this one, until it returns true.
bool some_process(const std::function<bool(const std::string&)>& try_it) {
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc == nullptr ? nullptr : readdir(proc))
    if (std::atoi(entry->d_name) > 0 && std::atoi(entry->d_name) != getpid() &&
        try_it(std::string("/proc/") + entry->d_name))
      return true;
  return false;
}

std::string content(const std::string& path) {
  std::string out(1 << 16, '\0');
  const int fd = open(path.c_str(), O_RDONLY);
  const ssize_t got = fd < 0 ? 0 : read(fd, out.data(), out.size());
  close(fd);
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

long int80_getpid() {
#ifdef __x86_64__
  long result = 0;
  asm volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
  return result;
#else
  return -1;
#endif
}

std::map<std::string, Attack> others() {
  return {
      // --- calls
      {"userns_unshare", [](auto&) { return unshare(CLONE_NEWUSER) == 0; }},
      {"userns_clone",
       [](auto&) {
         const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
         if (child == 0) _exit(0);
         return child > 0;
       }},
      {"userns_clone3",
       [](auto&) {
         clone_args args{};
         args.flags = CLONE_NEWUSER;
         args.exit_signal = SIGCHLD;
         const long child = syscall(SYS_clone3, &args, sizeof args);
         if (child == 0) _exit(0);
         return child > 0;
       }},
      {"mount_in_userns",
       [](auto&) {
         return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && mount("t", "/tmp", "tmpfs", 0, nullptr) == 0;
       }},
      {"pivot_root_in_userns",
       [](auto&) {
         return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                unless_denied(syscall(SYS_pivot_root, "/tmp", "/tmp"));
       }},
      {"chroot_in_userns",
       [](auto&) {  // leaves the root by a descriptor from before
         const int before = open("/", O_RDONLY | O_DIRECTORY);
         mkdir("/tmp/jail", 0700);
         return unshare(CLONE_NEWUSER) == 0 && chroot("/tmp/jail") == 0 && access("/usr", F_OK) != 0 &&
                fchdir(before) == 0 && access("usr", F_OK) == 0;
       }},
      {"raw_socket_in_userns",
       [](auto&) {
         return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0;
       }},
      {"setns", [](auto&) { return unless_denied(setns(-1, 0)); }},
      {"netns_in_userns", [](auto&) { return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }},
      {"bpf",
       [](auto&) {  // more than a page: refused before privileges are checked
         std::vector<char> attributes(1 << 20);
         return unless_denied(syscall(SYS_bpf, 0, attributes.data(), attributes.size()));
       }},
      {"open_tree", [](auto&) { return syscall(SYS_open_tree, AT_FDCWD, "/", 0) >= 0; }},
      {"pidfd_getfd",
       [](auto&) {
         const pid_t child = fork();
         if (child == 0) {
           pause();
           _exit(0);
         }
         const long pidfd = syscall(SYS_pidfd_open, child, 0);
         const bool through = syscall(SYS_pidfd_getfd, pidfd, 1, 0) >= 0;
         kill(child, SIGKILL);
         return through;
       }},
      {"keyctl",
       [](auto&) { return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) > 0; }},
      {"add_key",
       [](auto&) { return syscall(SYS_add_key, "user", "pawl", "x", 1, KEY_SPEC_PROCESS_KEYRING) > 0; }},
      {"request_key",
       [](auto&) { return unless_denied(syscall(SYS_request_key, "user", "none", nullptr, 0)); }},
      {"perf_event",
       [](auto&) {
         perf_event_attr attributes{};
         attributes.type = PERF_TYPE_SOFTWARE;
         attributes.size = 1;  // too small: reported only to a process that may ask
         return unless_denied(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
       }},
      {"userfaultfd", [](auto&) { return syscall(SYS_userfaultfd, 1) >= 0; }},
      {"io_uring",
       [](auto&) {
         std::vector<char> params(256);
         return syscall(SYS_io_uring_setup, 4, params.data()) >= 0;
       }},
      {"memfd_secret", [](auto&) { return unless(EPERM, syscall(SYS_memfd_secret, ~0U)); }},
      {"modify_ldt",
       [](auto&) {
         char buffer[16];
         return unless(EPERM, syscall(SYS_modify_ldt, 0, buffer, sizeof buffer));
       }},
      {"x32", [](auto&) { return syscall(SYS_getpid | 0x40000000) > 0 || errno == ENOSYS; }},
      {"int80", [](auto&) { return int80_getpid() != 0; }},
      {"tiocsti",
       [](auto&) {
         const char key = 'x';
         return unless(EPERM, ioctl(own_terminal(), TIOCSTI, &key));
       }},
      {"tiocsti_high_bits",
       [](auto&) {
         const char key = 'x';
         return unless(EPERM, syscall(SYS_ioctl, own_terminal(), 0x100000000UL | TIOCSTI, &key));
       }},
      {"tioclinux",
       [](auto&) {
         char code = 2;
         return unless(EPERM, ioctl(own_terminal(), TIOCLINUX, &code));
       }},
      {"line_discipline",
       [](auto&) {
         const int discipline = 21;  // N_GSM0710
         return unless(EPERM, ioctl(own_terminal(), TIOCSETD, &discipline));
       }},
      {"packet_socket", [](auto&) { return unless(EAFNOSUPPORT, socket(AF_PACKET, SOCK_RAW, 0)); }},
      {"packet_socketpair",
       [](auto&) {
         int ends[2];
         return unless(EAFNOSUPPORT, socketpair(AF_PACKET, SOCK_RAW, 0, ends));
       }},
      {"vsock_socket", [](auto&) { return unless(EAFNOSUPPORT, socket(AF_VSOCK, SOCK_STREAM, 0)); }},
      {"key_socket_high_bits",
       [](auto&) {
         return unless(EAFNOSUPPORT, syscall(SYS_socket, 0x100000000UL | AF_PACKET, SOCK_RAW, 0));
       }},
      {"socket", [](auto& kind) { return unless(EPERM, open_socket(kind, 0)); }},
      {"socket_high_bits", [](auto& kind) { return unless(EPERM, open_socket(kind, 1UL << 32)); }},
      {"socket_pair",
       [](auto& kind) {
         int all[3] = {}, ends[2];
         std::sscanf(kind.c_str(), "%d,%d,%d", &all[0], &all[1], &all[2]);
         return unless(EPERM, socketpair(all[0], all[1], all[2], ends));
       }},
      {"huge_pages",
       [](auto&) {
         void* const got =
             mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
         return got != MAP_FAILED || errno != EPERM;
       }},
      {"huge_pages_of_a_file",
       [](auto&) { return unless(EPERM, syscall(SYS_memfd_create, "pawl", MFD_HUGETLB | MFD_HUGE_1GB)); }},
      {"huge_pages_high_bits",
       [](auto&) { return unless(EPERM, syscall(SYS_memfd_create, "pawl", 1UL << 32 | MFD_HUGETLB)); }},
      {"huge_pages_shared",
       [](auto&) {  // a size that does not exist: the kernel checks it before privileges
         return unless(EPERM, shmget(IPC_PRIVATE, 4096, SHM_HUGETLB | 63 << kHugeSizeShift | 0600));
       }},
      {"file_handle",
       [](auto&) {
         alignas(file_handle) char bytes[sizeof(file_handle) + 128] = {};
         auto& handle = *reinterpret_cast<file_handle*>(bytes);
         handle.handle_bytes = 128;
         int mount = 0;
         return unless_denied(name_to_handle_at(AT_FDCWD, "/tmp", &handle, &mount, 0));
       }},
      {"fanotify", [](auto&) { return fanotify_init(FAN_REPORT_FID, O_RDONLY) >= 0; }},
      {"clock_settime", [](auto&) { return unless(EPERM, syscall(SYS_clock_settime, 99, nullptr)); }},
      {"clock_adjtime",
       [](auto&) {
         std::vector<char> timex(512);
         return syscall(SYS_adjtimex, timex.data()) >= 0;
       }},
      {"sysfs_call", [](auto&) { return unless_denied(syscall(SYS_sysfs, 3)); }},
      {"move_pages", [](auto&) { return unless_denied(syscall(SYS_move_pages, 0, 0, 0, 0, 0, 0)); }},
      {"migrate_pages",
       [](auto&) { return unless_denied(syscall(SYS_migrate_pages, 0, 0, nullptr, nullptr)); }},
      // --- files
      {"read", [](auto& path) { return can_read(path); }},
      {"list", [](auto& path) { return can_list(path); }},
      {"make", [](auto& path) { return can_make(path); }},
      {"write_open", [](auto& path) { return open(path.c_str(), O_WRONLY) >= 0; }},
      {"write_proc_self",
       [](auto&) {
         const int fd = open("/proc/self/comm", O_WRONLY);
         return fd >= 0 && write(fd, "x", 1) == 1;
       }},
      {"hardlink",
       [](auto& pair) {  // FROM:TO
         const auto colon = pair.find(':');
         const std::string to = pair.substr(colon + 1);
         return link(pair.substr(0, colon).c_str(), to.c_str()) == 0 && unlink(to.c_str()) == 0;
       }},
      {"device_node",
       [](auto& path) {
         return mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0 && unlink(path.c_str()) == 0;
       }},
      {"own_root", [](auto& path) { return can_read("/proc/self/root" + path); }},
      {"root_of_others",
       [](auto& path) {
         return some_process([&](const std::string& each) { return can_read(each + "/root" + path); });
       }},
      {"environ_of_others",
       [](auto& marker) {
         return some_process([&](const std::string& each) {
           return content(each + "/environ").find(marker) != std::string::npos;
         });
       }},
      {"dotdot",
       [](auto& path) {
         const int root = open("/", O_RDONLY | O_DIRECTORY);
         return openat(root, ("../../../.." + path).c_str(), O_RDONLY) >= 0;
       }},
      {"swap_folders",
       [](auto& of_host) {  // a surviving process exchanges folders with links as fast as it can
         std::vector<std::pair<std::string, std::string>> pairs;
         for (int i = 0; i < 20; ++i) {
           const auto& [folder, link] = pairs.emplace_back("d" + std::to_string(i), "l" + std::to_string(i));
           if (mkdir(folder.c_str(), 0700) != 0 || mkfifo((folder + "/fifo").c_str(), 0600) != 0 ||
               symlink(of_host.c_str(), link.c_str()) != 0)
             return false;
         }
         if (fork() != 0) return usleep(100'000) == 0;
         setsid();
         for (int fd = 0; fd < 3; ++fd) close(fd);
         alarm(3);
         for (;;)
           for (const auto& [folder, link] : pairs)
             renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
       }},
      // --- others
      {"processes",
       [](auto&) {
         int others = 0;
         some_process([&](const std::string&) { return ++others > 5; });
         return others > 5;
       }},
      {"signal", [](auto& pid) { return kill(std::atoi(pid.c_str()), 0) == 0; }},
      {"signal_init", [](auto&) { return kill(1, 0) == 0; }},
      {"ptrace", [](auto& pid) { return ptrace(PTRACE_SEIZE, std::atoi(pid.c_str()), 0, 0) == 0; }},
      {"ptrace_init", [](auto&) { return ptrace(PTRACE_SEIZE, 1, 0, 0) == 0; }},
      {"vm_read",
       [](auto& argument) {  // PID:ADDRESS
         char byte = 0;
         const auto colon = argument.find(':');
         const iovec to{&byte, 1};
         const iovec from{reinterpret_cast<void*>(std::strtoull(argument.c_str() + colon + 1, nullptr, 16)),
                          1};
         return process_vm_readv(std::atoi(argument.c_str()), &to, 1, &from, 1, 0) == 1;
       }},
      {"unix_socket", [](auto& path) { return connects_unix(path, false); }},
      {"abstract_socket", [](auto& name) { return connects_unix(name, true); }},
      {"loopback",
       [](auto& port) {
         sockaddr_in address{};
         address.sin_family = AF_INET;
         address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port.c_str())));
         address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
         return connects(reinterpret_cast<const sockaddr*>(&address), sizeof address);
       }},
      {"shared_memory", [](auto& key) { return shmget(std::atoi(key.c_str()), 1, 0) >= 0; }},
      {"other_user", [](auto&) { return geteuid() != getuid(); }},  // for a setuid file
      {"session_of_host", [](auto&) { return getsid(0) == 0; }},
      {"inherited_descriptor", [](auto& fd) { return fcntl(std::atoi(fd.c_str()), F_GETFD) >= 0; }},
      {"hostname_of_host",
       [](auto& name) {
         char own[65] = {};
         gethostname(own, sizeof own - 1);
         return name == own;
       }},
  };
}

const std::map<std::string, Attack>& attacks() {
  static const std::map<std::string, Attack> all = [] {
    auto out = attacks_on_limits();
    out.merge(others());
    return out;
  }();
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--list") {
    for (const auto& [each, run] : attacks()) std::puts(each.c_str());
    return 0;
  }
  const auto attack = attacks().find(name);
  if (attack == attacks().end()) {
    std::fprintf(stderr, "usage: attacks --list | NAME [ARGUMENT]\n");
    return 99;
  }
  errno = 0;
  if (attack->second(argc > 2 ? argv[2] : "")) return 0;
  std::fprintf(stderr, "stopped: %s\n", std::strerror(errno));
  return 1;
}
