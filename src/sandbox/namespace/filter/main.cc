// At build time: turns syscalls.txt into the classic BPF programs that a sandbox installs, so that none is
// made while a step starts. Usage: filter_compiler syscalls.txt OUT.h
//
// Two programs, of which the stricter answer counts (seccomp(2)): the list of calls, and the arguments that
// are refused. The list exists a second time for traces: exec, connect and what is denied ask the supervisor
// there.
#include <linux/filter.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

// sched.h; without CLONE_NEWTIME, which in clone(2) is a bit of the exit signal.
constexpr unsigned long kNamespaceFlags[] = {0x00020000, 0x02000000, 0x04000000, 0x08000000,
                                             0x10000000, 0x20000000, 0x40000000};
constexpr unsigned long kNewTime = 0x80;
// ioctl_tty(2): both put characters into a terminal's input, which a shell outside then runs.
constexpr unsigned long kTerminalPushers[] = {0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */};
constexpr unsigned long kLow32 = 0xFFFFFFFF;  // the kernel looks at 32 bits of these arguments, so must we

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "filter_compiler: %s\n", what.c_str());
  std::exit(1);
}

void need(int code, const std::string& what) {
  if (code < 0) die(what + ": error " + std::to_string(-code));
}

struct Call {
  std::string name;
  bool allowed = false;
};

std::vector<Call> read_list(const char* path) {
  std::ifstream in(path);
  if (!in) die(std::string("can't read ") + path);
  std::vector<Call> calls;
  bool allowed = false;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() != ' ') {
      allowed = line.starts_with("allow ");
      if (!allowed && !line.starts_with("deny ")) die("neither allow nor deny: " + line);
      continue;
    }
    std::istringstream words(line);
    for (std::string name; words >> name;) calls.push_back({name, allowed});
  }
  return calls;
}

scmp_filter_ctx make_filter(std::uint32_t otherwise) {
  scmp_filter_ctx filter = seccomp_init(otherwise);
  if (filter == nullptr) die("seccomp_init");
  // Every other numbering, x32 too, is nothing a program of this machine needs.
  need(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "bad arch");
  need(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2), "binary tree");
  return filter;
}

// Calls that this architecture does not have are left out: arm64 has no open(2).
void add(scmp_filter_ctx filter, std::uint32_t action, const std::string& name) {
  const int number = seccomp_syscall_resolve_name(name.c_str());
  if (number == __NR_SCMP_ERROR) die("no such call: " + name);
  if (number < 0) return;
  need(seccomp_rule_add(filter, action, number, 0), name);
}

scmp_filter_ctx list_filter(const std::vector<Call>& calls, bool traced) {
  scmp_filter_ctx filter = make_filter(SCMP_ACT_ERRNO(ENOSYS));
  for (const auto& [name, allowed] : calls) {
    const bool watched = name == "execve" || name == "execveat" || name == "connect";
    if (allowed && !(traced && watched))
      add(filter, SCMP_ACT_ALLOW, name);
    else
      add(filter, traced ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM), name);
  }
  return filter;
}

void refuse(scmp_filter_ctx filter, int error, const char* name, scmp_arg_cmp argument) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number < 0) return;
  need(seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number, 1, argument), name);
}

scmp_arg_cmp masked(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

scmp_filter_ctx argument_filter() {
  scmp_filter_ctx filter = make_filter(SCMP_ACT_ALLOW);
  for (const unsigned long flag : kNamespaceFlags) {
    refuse(filter, EPERM, "clone", masked(0, flag, flag));
    refuse(filter, EPERM, "unshare", masked(0, flag, flag));
  }
  refuse(filter, EPERM, "unshare", masked(0, kNewTime, kNewTime));
  for (const unsigned long request : kTerminalPushers)
    refuse(filter, EPERM, "ioctl", masked(1, kLow32, request));
  for (unsigned long family = 0; family <= AF_NETLINK; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
    refuse(filter, EAFNOSUPPORT, "socket", masked(0, kLow32, family));
  }
  // Packet, vsock, Bluetooth, AF_ALG, ...: all with higher numbers; garbage in the upper half is one, too.
  refuse(filter, EAFNOSUPPORT, "socket", {.arg = 0, .op = SCMP_CMP_GT, .datum_a = AF_NETLINK, .datum_b = 0});
  return filter;
}

void print(std::FILE* out, const char* name, scmp_filter_ctx filter) {
  const int file = memfd_create("bpf", 0);
  need(seccomp_export_bpf(filter, file), "export");
  seccomp_release(filter);
  std::fprintf(out, "inline constexpr sock_filter %s[] = {\n", name);
  lseek(file, 0, SEEK_SET);
  sock_filter one{};
  while (read(file, &one, sizeof one) == sizeof one)
    std::fprintf(out, "    {0x%02x, %u, %u, 0x%08x},\n", one.code, one.jt, one.jf, one.k);
  std::fprintf(out, "};\n");
  close(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) die("usage: filter_compiler syscalls.txt OUT.h");
  const auto calls = read_list(argv[1]);
  std::FILE* out = std::fopen(argv[2], "w");
  if (out == nullptr) die(std::string("can't write ") + argv[2]);
  std::fprintf(out,
               "// Generated from syscalls.txt by filter_compiler.\n#pragma once\n#include <linux/filter.h>\n"
               "namespace pawl::sandbox::filter {\n");
  print(out, "kArguments", argument_filter());
  print(out, "kList", list_filter(calls, false));
  print(out, "kTracedList", list_filter(calls, true));
  std::fprintf(out,
               "struct DeniedCall {\n  int number;\n  const char* name;\n};\ninline constexpr DeniedCall "
               "kDenied[] = {\n");
  for (const auto& [name, allowed] : calls)
    if (const int number = seccomp_syscall_resolve_name(name.c_str()); !allowed && number >= 0)
      std::fprintf(out, "    {%d, \"%s\"},\n", number, name.c_str());
  std::fprintf(out, "};\n");
  std::fprintf(out, "}  // namespace pawl::sandbox::filter\n");
  if (std::fclose(out) != 0) die(std::string("can't write ") + argv[2]);
}
