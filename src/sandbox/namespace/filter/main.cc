// A build-time program: compiles syscalls.txt into the classic BPF programs that a sandbox installs, so that
// no program is compiled while a step starts. Usage: filter_compiler syscalls.txt OUT.h
//
// A program is a tree over ranges of call numbers, with tests of arguments at some leaves. Two variants
// exist: one asks the init about each rename; the other asks the supervisor about renames, exec,
// connect, the end of a thread and denied calls.
//
// libseccomp supplies the numbers. It could also make the program, but only from single numbers and four
// times as long; the kernel translates and measures the program anew for each sandbox.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "sandbox/inside.h"

namespace {

// sched.h. In clone(2) the bit of CLONE_NEWTIME is a part of the exit signal.
constexpr std::uint32_t kNewNamespaces = 0x7E020000, kNewTime = 0x80;
// ioctl_tty(2). TIOCSTI and TIOCLINUX push characters into a terminal's input, which a shell outside then
// runs. TIOCSETD loads line disciplines: modules with a history of holes (n_gsm, slip) that no build needs.
constexpr std::uint32_t kTerminalCalls[] = {0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */,
                                            0x5423 /* TIOCSETD */};
constexpr std::uint32_t kFamilies[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

// The sockets that socket(2) may make, besides every kind of AF_UNIX. All others (SCTP, MPTCP, SMC,
// the netlink of packet filters) are kernel code that no build needs. Much of it is in modules that
// load on a program's request.
struct SocketKind {
  std::uint32_t family, type, protocol;
};
constexpr SocketKind kSockets[] = {
    {AF_INET, SOCK_STREAM, 0},
    {AF_INET, SOCK_STREAM, IPPROTO_TCP},
    {AF_INET, SOCK_DGRAM, 0},
    {AF_INET, SOCK_DGRAM, IPPROTO_UDP},
    {AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
    {AF_INET6, SOCK_STREAM, 0},
    {AF_INET6, SOCK_STREAM, IPPROTO_TCP},
    {AF_INET6, SOCK_DGRAM, 0},
    {AF_INET6, SOCK_DGRAM, IPPROTO_UDP},
    {AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6},
    {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE},
    {AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE},
};
constexpr const char* kSocketCalls[] = {"socket", "socketpair"};
constexpr std::uint32_t kSocketTypeMask = 0xF;  // linux/net.h; above it are SOCK_NONBLOCK and SOCK_CLOEXEC
constexpr std::uint32_t kTypeShift = 8, kProtocolShift = 16, kProtocolsEnd = 1 << 16;

// Flags for the host's pool of huge pages, which no cgroup counts as the sandbox's
// memory. sys/mman.h, sys/shm.h.
struct HugePages {
  const char* call;
  unsigned argument;
  std::uint32_t flag;
};
constexpr HugePages kHugePages[] = {
    {"mmap", 3, MAP_HUGETLB}, {"memfd_create", 1, MFD_HUGETLB}, {"shmget", 2, SHM_HUGETLB}};

constexpr std::uint32_t kNoChange = UINT32_MAX;  // chown(2), setreuid(2): -1

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW, kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM, kUnknown = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t kNoFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "filter_compiler: %s\n", what.c_str());
  std::exit(1);
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

using Program = std::vector<sock_filter>;

constexpr std::uint32_t kArchitecture =
#if defined(__x86_64__)
    AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    AUDIT_ARCH_AARCH64;
#else
#error "no list of system calls for this architecture"
#endif
constexpr std::uint32_t kX32Bit = 0x40000000;  // x32 numbers (asm/unistd.h); no other ABI has that many
constexpr std::uint32_t kEnd = 1024;           // above every existing number

// Tests arguments. The kernel looks at their low 32 bits (little-endian here).
using Test = std::vector<sock_filter>;  // loads the tested arguments; ends with a return

// The action for the numbers from `from` up to the next range.
struct Range {
  std::uint32_t from, action;
  const Test* test = nullptr;  // runs before the action
};

sock_filter statement(unsigned code, std::uint32_t k) { return {static_cast<std::uint16_t>(code), 0, 0, k}; }
sock_filter load(std::size_t offset) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter give(std::uint32_t action) { return statement(BPF_RET | BPF_K, action); }
sock_filter jump(unsigned test, std::uint32_t k, std::size_t yes, std::size_t no) {
  if (yes > UINT8_MAX || no > UINT8_MAX) die("a jump too far");
  return {static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), static_cast<std::uint8_t>(yes),
          static_cast<std::uint8_t>(no), k};
}

sock_filter load_argument(unsigned argument) {
  return load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
}

Test no_bit_of(unsigned argument, std::uint32_t mask, std::uint32_t otherwise) {
  return {load_argument(argument), jump(BPF_JSET, mask, 0, 1), give(otherwise), give(kAllow)};
}

Test one_of(unsigned argument, std::span<const std::uint32_t> values, std::uint32_t then,
            std::uint32_t otherwise) {
  Test test{load_argument(argument)};
  for (std::size_t i = 0; i < values.size(); ++i)
    test.push_back(jump(BPF_JEQ, values[i], values.size() - i, 0));
  test.push_back(give(otherwise));
  test.push_back(give(then));
  return test;
}

// Tests `count` arguments from `first` on: each must be the id of the sandbox's user, or the
// value that leaves the id as it is.
//
// The kernel knows no other id in the sandbox and would return EINVAL. Programs expect the EPERM
// that an ordinary user gets for another user's id: fakeroot(1) and tar(1) tolerate it, and programs
// that test for it find it.
Test own_ids(unsigned first, unsigned count, std::uint32_t otherwise) {
  Test test;
  for (unsigned argument = first; argument < first + count; ++argument) {
    test.push_back(load_argument(argument));
    test.push_back(jump(BPF_JEQ, kNoChange, 2, 0));
    test.push_back(jump(BPF_JEQ, pawl::sandbox::inside::kUid, 1, 0));
    test.push_back(give(otherwise));
  }
  test.push_back(give(kAllow));
  return test;
}

using Tests = std::map<int, Test>;  // by the call's number

// The actions for denied calls. With a trace the supervisor returns the same errors (denied_call_error).
struct Answers {
  std::uint32_t refuse, no_family;
};
constexpr Answers kPlain{kRefuse, kNoFamily}, kTraced{SECCOMP_RET_USER_NOTIF, SECCOMP_RET_USER_NOTIF};

// Allows the kinds in kSockets, compared as one number: protocol, type and family, from the left.
Test known_sockets(const Answers& answers) {
  Test test{load_argument(0), jump(BPF_JEQ, AF_UNIX, 0, 1), give(kAllow)};
  for (std::size_t i = 0; i < std::size(kFamilies); ++i)
    test.push_back(jump(BPF_JEQ, kFamilies[i], std::size(kFamilies) - i, 0));
  test.push_back(give(answers.no_family));
  for (const sock_filter& one :
       {load_argument(1), statement(BPF_ALU | BPF_AND | BPF_K, kSocketTypeMask),
        statement(BPF_ALU | BPF_LSH | BPF_K, kTypeShift), statement(BPF_MISC | BPF_TAX, 0), load_argument(0),
        statement(BPF_ALU | BPF_OR | BPF_X, 0), statement(BPF_MISC | BPF_TAX, 0), load_argument(2),
        jump(BPF_JGE, kProtocolsEnd, 0, 1), give(answers.refuse),
        statement(BPF_ALU | BPF_LSH | BPF_K, kProtocolShift), statement(BPF_ALU | BPF_OR | BPF_X, 0)})
    test.push_back(one);
  for (std::size_t i = 0; i < std::size(kSockets); ++i) {
    const auto& [family, type, protocol] = kSockets[i];
    test.push_back(
        jump(BPF_JEQ, protocol << kProtocolShift | type << kTypeShift | family, std::size(kSockets) - i, 0));
  }
  test.push_back(give(answers.refuse));
  test.push_back(give(kAllow));
  return test;
}

enum class Asks { kNothing, kRenames, kAll };  // as in filter.h
const Answers& answers_of(Asks asks) { return asks == Asks::kAll ? kTraced : kPlain; }

Tests id_tests(const Answers& answers) {
  const auto number = [](const char* name) { return seccomp_syscall_resolve_name(name); };
  return {{number("chown"), own_ids(1, 2, answers.refuse)},
          {number("fchown"), own_ids(1, 2, answers.refuse)},
          {number("lchown"), own_ids(1, 2, answers.refuse)},
          {number("fchownat"), own_ids(2, 2, answers.refuse)},
          {number("setuid"), own_ids(0, 1, answers.refuse)},
          {number("setgid"), own_ids(0, 1, answers.refuse)},
          {number("setreuid"), own_ids(0, 2, answers.refuse)},
          {number("setregid"), own_ids(0, 2, answers.refuse)},
          {number("setresuid"), own_ids(0, 3, answers.refuse)},
          {number("setresgid"), own_ids(0, 3, answers.refuse)}};
}

Tests argument_tests(const Answers& answers) {
  const auto number = [](const char* name) { return seccomp_syscall_resolve_name(name); };
  Tests tests = id_tests(answers);
  tests[number("clone")] = no_bit_of(0, kNewNamespaces, answers.refuse);
  tests[number("unshare")] = no_bit_of(0, kNewNamespaces | kNewTime, answers.refuse);
  tests[number("ioctl")] = one_of(1, kTerminalCalls, answers.refuse, kAllow);
  for (const char* call : kSocketCalls) tests[number(call)] = known_sockets(answers);
  for (const auto& [call, argument, flag] : kHugePages)
    tests[number(call)] = no_bit_of(argument, flag, answers.refuse);
  return tests;
}

bool is_asked(const std::string& name, Asks asks) {
  // The end of a caller shows whether its last exec failed.
  const bool traced =
      name == "execve" || name == "execveat" || name == "connect" || name == "exit" || name == "exit_group";
  const bool renames = name == "rename" || name == "renameat" || name == "renameat2";
  return (traced && asks == Asks::kAll) || (renames && asks != Asks::kNothing);
}

// The action for each call number, as ranges.
std::vector<Range> ranges_of(const std::vector<Call>& calls, const Tests& tests, Asks asks) {
  std::vector<std::uint32_t> actions(kEnd, kUnknown);
  for (const auto& [name, allowed] : calls) {
    const int number = seccomp_syscall_resolve_name(name.c_str());
    if (number == __NR_SCMP_ERROR) die("no such call: " + name);
    if (number < 0) continue;  // this architecture does not have it: arm64 has no open(2)
    if (number >= static_cast<int>(kEnd)) die("a number that high: " + name);
    const std::uint32_t let = is_asked(name, asks) ? SECCOMP_RET_USER_NOTIF : kAllow;
    actions[static_cast<std::size_t>(number)] = allowed ? let : answers_of(asks).refuse;
  }
  std::vector<Range> ranges;
  for (std::uint32_t number = 0; number < kEnd; ++number) {
    const auto test = tests.find(static_cast<int>(number));
    const Range range{number, actions[number], test == tests.end() ? nullptr : &test->second};
    if (range.test != nullptr && range.action != kAllow) die("a test of a call that is denied");
    if (ranges.empty() || ranges.back().action != range.action || ranges.back().test != range.test)
      ranges.push_back(range);
  }
  ranges.push_back({kX32Bit, kKill});
  return ranges;
}

void add_tree(Program& program, std::span<const Range> ranges) {
  if (ranges.size() == 1) {
    const Test* test = ranges.front().test;
    if (test == nullptr) return program.push_back(give(ranges.front().action));
    program.insert(program.end(), test->begin(), test->end());
    return;
  }
  const auto lower = ranges.first(ranges.size() / 2), upper = ranges.subspan(ranges.size() / 2);
  const std::size_t at = program.size();
  program.emplace_back();
  add_tree(program, lower);
  program[at] = jump(BPF_JGE, upper.front().from, program.size() - at - 1, 0);
  add_tree(program, upper);
}

// The kernel's result (seccomp(2)), for the instructions that are used here.
std::uint32_t answer(const Program& program, const seccomp_data& call) {
  std::uint32_t loaded = 0, index = 0;
  for (std::size_t at = 0;; ++at) {
    const sock_filter& one = program.at(at);
    switch (one.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&loaded, reinterpret_cast<const char*>(&call) + one.k, sizeof loaded);
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += loaded == one.k ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += loaded >= one.k ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (loaded & one.k) != 0 ? one.jt : one.jf;
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        loaded &= one.k;
        break;
      case BPF_ALU | BPF_LSH | BPF_K:
        loaded <<= one.k;
        break;
      case BPF_ALU | BPF_OR | BPF_X:
        loaded |= index;
        break;
      case BPF_MISC | BPF_TAX:
        index = loaded;
        break;
      case BPF_RET | BPF_K:
        return one.k;
      default:
        die("an instruction that is not used here");
    }
  }
}

void check(const Program& program, const char* call, std::initializer_list<std::uint64_t> arguments,
           std::uint32_t expected) {
  seccomp_data data{.nr = seccomp_syscall_resolve_name(call), .arch = kArchitecture};
  if (data.nr < 0) return;  // this architecture does not have it
  std::ranges::copy(arguments, data.args);
  if (answer(program, data) != expected) die(std::string("the program is wrong about ") + call);
}

void check_ids(const Program& program, const Answers& answers, std::uint64_t high) {
  constexpr std::uint64_t kOwn = pawl::sandbox::inside::kUid, kOther = 0;
  for (const std::uint64_t one : {high | kOwn, high | kNoChange, high | kOther})
    for (const std::uint64_t two : {high | kOwn, high | kNoChange, high | kOther}) {
      const bool is_other = one == (high | kOther) || two == (high | kOther);
      const std::uint32_t expected = is_other ? answers.refuse : kAllow;
      for (const char* call : {"chown", "lchown", "fchown"})
        check(program, call, {kOther, one, two}, expected);
      check(program, "fchownat", {kOther, kOther, one, two, kOther}, expected);
      for (const char* call : {"setreuid", "setregid"}) check(program, call, {one, two, kOther}, expected);
      for (const char* call : {"setresuid", "setresgid"}) check(program, call, {kOwn, one, two}, expected);
      for (const char* call : {"setuid", "setgid"})
        check(program, call, {one, kOther}, one == (high | kOther) ? answers.refuse : kAllow);
    }
}

std::uint32_t expected_of(const SocketKind& asked, const Answers& answers) {
  if (asked.family == AF_UNIX) return kAllow;
  if (std::ranges::count(kFamilies, asked.family) == 0) return answers.no_family;
  const bool is_known = std::ranges::any_of(kSockets, [&](const SocketKind& known) {
    return known.family == asked.family && known.type == asked.type && known.protocol == asked.protocol;
  });
  return is_known ? kAllow : answers.refuse;
}

void check_sockets(const Program& program, const Answers& answers, std::uint64_t high) {
  std::vector<std::uint32_t> protocols{kProtocolsEnd - 1, kProtocolsEnd, kProtocolsEnd + IPPROTO_TCP,
                                       UINT32_MAX};
  for (std::uint32_t protocol = 0; protocol < 300; ++protocol) protocols.push_back(protocol);
  for (std::uint32_t family = 0; family < 64; ++family)
    for (std::uint32_t type = 0; type <= kSocketTypeMask; ++type)
      for (const std::uint32_t protocol : protocols)
        for (const char* call : kSocketCalls)
          for (const std::uint32_t flags : {0U, std::uint32_t{SOCK_CLOEXEC | SOCK_NONBLOCK}})
            check(program, call, {high | family, high | type | flags, high | protocol},
                  expected_of({family, type, protocol}, answers));
  for (const char* call : kSocketCalls)
    check(program, call, {high | 256 | AF_INET, high | SOCK_STREAM, high}, answers.no_family);
}

// A mistake in the program would open a hole in every sandbox, so the build checks the program.
void check(const Program& program, const std::vector<Range>& ranges, const Answers& answers) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::uint32_t last = i + 1 < ranges.size() ? ranges[i + 1].from - 1 : UINT32_MAX;
    for (const std::uint32_t number : {ranges[i].from, last})
      if (ranges[i].test == nullptr &&
          answer(program, {.nr = static_cast<int>(number), .arch = kArchitecture}) != ranges[i].action)
        die("the program is wrong about call " + std::to_string(number));
  }
  if (answer(program, {.nr = 0, .arch = AUDIT_ARCH_I386}) != kKill) die("another numbering is let in");
  constexpr std::uint64_t kHigh = 1ULL << 32;  // bits that the kernel ignores
  for (const std::uint64_t high : {0UL, kHigh}) {
    for (int bit = 0; bit < 32; ++bit) {
      const std::uint32_t flag = 1U << bit;
      check(program, "clone", {high | flag}, (flag & kNewNamespaces) != 0 ? answers.refuse : kAllow);
      check(program, "unshare", {high | flag},
            (flag & (kNewNamespaces | kNewTime)) != 0 ? answers.refuse : kAllow);
    }
    check_sockets(program, answers, high);
    for (const auto& [call, argument, flag] : kHugePages)
      for (int bit = 0; bit < 32; ++bit) {
        std::uint64_t arguments[4] = {};
        arguments[argument] = high | 1U << bit;
        check(program, call, {arguments[0], arguments[1], arguments[2], arguments[3]},
              1U << bit == flag ? answers.refuse : kAllow);
      }
    for (std::uint32_t request = 0x5400; request < 0x5500; ++request)
      check(program, "ioctl", {0, high | request},
            std::ranges::count(kTerminalCalls, request) == 1 ? answers.refuse : kAllow);
    check_ids(program, answers, high);
  }
}

Program list_program(const std::vector<Call>& calls, Asks asks) {
  const Answers& answers = answers_of(asks);
  const Tests tests = argument_tests(answers);
  const auto ranges = ranges_of(calls, tests, asks);
  Program program{load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0), give(kKill),
                  load(offsetof(seccomp_data, nr))};
  add_tree(program, ranges);
  check(program, ranges, answers);
  return program;
}

void print(std::FILE* out, const char* name, const Program& program) {
  std::fprintf(out, "inline constexpr sock_filter %s[] = {\n", name);
  for (const auto& one : program)
    std::fprintf(out, "    {0x%02x, %u, %u, 0x%08x},\n", one.code, one.jt, one.jf, one.k);
  std::fprintf(out, "};\n");
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
  print(out, "kList", list_program(calls, Asks::kNothing));
  print(out, "kRenamesList", list_program(calls, Asks::kRenames));
  print(out, "kTracedList", list_program(calls, Asks::kAll));
  std::fprintf(out,
               "struct DeniedCall {\n  int number, error;\n  const char* name;\n};\ninline constexpr "
               "DeniedCall kDenied[] = {\n");
  // Calls that are denied by argument are listed, too. For sockets the error is that of an unknown family.
  const Tests tests = argument_tests(kPlain);
  for (const auto& [name, allowed] : calls) {
    const int number = seccomp_syscall_resolve_name(name.c_str());
    const auto test = tests.find(number);
    if (number < 0 || (allowed && test == tests.end())) continue;
    const auto gives_no_family = [](const sock_filter& one) { return one.k == kNoFamily; };
    const bool no_family = test != tests.end() && std::ranges::any_of(test->second, gives_no_family);
    std::fprintf(out, "    {%d, %d, \"%s\"},\n", number, no_family ? EAFNOSUPPORT : EPERM, name.c_str());
  }
  std::fprintf(out, "};\ninline constexpr unsigned kFamilies[] = {");
  for (const std::uint32_t family : kFamilies) std::fprintf(out, "%u, ", family);
  std::fprintf(out, "};\n}  // namespace pawl::sandbox::filter\n");
  if (std::fclose(out) != 0) die(std::string("can't write ") + argv[2]);
}
