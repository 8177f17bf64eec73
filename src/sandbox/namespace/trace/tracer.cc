#include "sandbox/namespace/trace/tracer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/json.h"
#include "base/private_names.h"
#include "os/clock.h"
#include "sandbox/namespace/filter.h"
#include "sandbox/spec.h"
#include "sandbox/trace_bounds.h"

namespace pawl::sandbox {
namespace {

// Reads the memory of one caller, never more bytes than requested.
class Caller {
 public:
  explicit Caller(pid_t pid) : pid_(pid) {}
  std::string bytes(std::uint64_t address, std::size_t size) const {
    std::string out(size, '\0');
    const iovec to{out.data(), size};
    const iovec from{reinterpret_cast<void*>(address),
                     size};  // NOLINT(performance-no-int-to-ptr): an address in another process
    const ssize_t got = address == 0 ? 0 : process_vm_readv(pid_, &to, 1, &from, 1, 0);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }
  // Reads page by page, so that a short string before an unmapped page is read in full.
  std::string text(std::uint64_t address, std::size_t most) const {
    constexpr std::uint64_t kPage = 4096;
    std::string out;
    while (out.size() < most) {
      const std::size_t size =
          std::min<std::size_t>(most - out.size(), kPage - (address + out.size()) % kPage);
      const std::string part = bytes(address + out.size(), size);
      const auto end = part.find('\0');
      out += part.substr(0, end);
      if (end != std::string::npos || part.size() < size) break;
    }
    return out;
  }
  std::vector<std::string> arguments(std::uint64_t address) const {
    std::vector<std::string> out;
    for (std::size_t i = 0; address != 0 && i < kTraceArgumentsMax; ++i) {
      const std::string raw = bytes(address + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
      std::uint64_t at = 0;
      if (raw.size() != sizeof at) break;
      std::memcpy(&at, raw.data(), sizeof at);
      if (at == 0) break;
      // Most arguments are short, and reading a whole page takes longer.
      out.push_back(text(at, kTraceArgumentBytesMax));
      if (auto& word = out.back(); word.size() == kTraceArgumentBytesMax)
        word += text(at + word.size(), kTraceLookBytesMax - word.size());
    }
    return out;
  }
  std::int64_t parent() const {
    auto stat = os::read_file("/proc/" + std::to_string(pid_) + "/stat", 4096);
    const auto after = stat ? stat->rfind(')') : std::string::npos;
    long parent = 0;
    if (after == std::string::npos || std::sscanf(stat->c_str() + after, ") %*c %ld", &parent) != 1) return 0;
    return parent;
  }

 private:
  pid_t pid_;
};

void describe_exec(const Caller& caller, std::uint64_t path, std::uint64_t argv, const Tracer::Redact& redact,
                   Json& line) {
  line["event"] = "exec";
  const std::string program = caller.text(path, PATH_MAX);
  line["path"] = printable(redact ? redact(program) : program);
  Json words = Json::array();
  std::string before;
  for (const auto& word : caller.arguments(argv)) {
    std::string told = redacted_argument(word, before);
    if (redact) told = redact(told);
    words.push_back(printable(told.substr(0, kTraceArgumentBytesMax)));  // cut only after the redaction
    before = word;
  }
  line["argv"] = std::move(words);
}

void describe_connect(const Caller& caller, const seccomp_data& call, Json& line) {
  line["event"] = "connect";
  const std::string raw =
      caller.bytes(call.args[1], std::min<std::size_t>(call.args[2], sizeof(sockaddr_un)));
  sockaddr_storage address{};
  std::memcpy(&address, raw.data(), std::min(raw.size(), sizeof address));
  std::array<char, INET6_ADDRSTRLEN> text{};
  line["port"] = 0;
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    line["address"] = inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size());
    line["port"] = ntohs(in.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    line["address"] = inet_ntop(AF_INET6, &in.sin6_addr, text.data(), text.size());
    line["port"] = ntohs(in.sin6_port);
  } else if (address.ss_family == AF_UNIX && raw.size() > sizeof(sa_family_t)) {
    std::string path = raw.substr(sizeof(sa_family_t));
    if (path.front() != '\0') path = path.substr(0, path.find('\0'));
    line["address"] = "unix:" + printable(path);
  } else {
    line["address"] = "family " + std::to_string(address.ss_family);
  }
}

bool is_rename(int call) {
#ifdef SYS_rename  // arm64 has no rename(2)
  if (call == SYS_rename) return true;
#endif
  return call == SYS_renameat || call == SYS_renameat2;
}

// proc(5), NSpid: the last number is that of the innermost namespace. 0: the thread has ended.
std::int32_t number_inside(std::uint32_t thread) {
  const auto status = os::read_file("/proc/" + std::to_string(thread) + "/status", 1 << 16);
  const auto line = status ? status->find("\nNSpid:") : std::string::npos;
  if (line == std::string::npos) return 0;
  const std::string numbers = status->substr(line, status->find('\n', line + 1) - line);
  return std::atoi(numbers.c_str() + numbers.find_last_of("\t ") + 1);
}

}  // namespace

std::string redacted_argument(const std::string& argument, const std::string& before) {
  constexpr std::string_view kRedacted = "[redacted]";
  const auto equals = argument.find('=');
  const auto names_secret = [](std::string_view name) {
    return name.starts_with('-') ? is_secret_variable(name) : is_secret_variable(name) && name.size() < 64;
  };
  if (equals != std::string::npos && names_secret(argument.substr(0, equals)))
    return argument.substr(0, equals + 1) + std::string(kRedacted);
  if (before.starts_with('-') && before.find('=') == std::string::npos && is_secret_variable(before))
    return std::string(kRedacted);
  const bool is_cut = argument.size() >= kTraceLookBytesMax;
  if (has_url_credentials(is_cut ? argument + "@" : argument)) return std::string(kRedacted);
  constexpr std::string_view kBearer = "authorization:";
  std::string lower = argument.substr(0, kBearer.size());
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == kBearer ? argument.substr(0, kBearer.size()) + std::string(kRedacted) : argument;
}

void Tracer::answer_rename(const seccomp_notif& asked) {
  AskedRename rename{.id = asked.id, .thread = number_inside(asked.pid), .call = asked.data.nr};
  std::ranges::copy_n(asked.data.args, std::size(rename.arguments), rename.arguments);
  const bool still_there = ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &rename.id) == 0;
  if (!still_there || (rename.thread > 0 && on_rename_(rename))) return;
  seccomp_notif_resp answer{.id = asked.id};
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void Tracer::handle_one() {
  seccomp_notif asked{};
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
    if (errno != ENOENT && errno != EINTR) over_ = true;  // ENOENT: the caller has ended
    return;
  }
  if (is_rename(asked.data.nr)) return answer_rename(asked);
  const auto thread = static_cast<pid_t>(asked.pid);
  const Caller caller(thread);
  execs_.settle(thread);
  Json line{{"time", rfc3339(os::SystemClock().wall())}, {"pid", asked.pid}, {"parent", caller.parent()}};
  seccomp_notif_resp answer{.id = asked.id};
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  const bool is_exec = asked.data.nr == SYS_execve || asked.data.nr == SYS_execveat;
  const bool is_end = asked.data.nr == SYS_exit || asked.data.nr == SYS_exit_group;
  if (is_exec) {
    const auto first = asked.data.nr == SYS_execve ? 0U : 1U;
    describe_exec(caller, asked.data.args[first], asked.data.args[first + 1], redact_, line);
  } else if (asked.data.nr == SYS_connect) {
    describe_connect(caller, asked.data, line);
  } else if (!is_end) {
    answer.flags = 0;
    line["event"] = "denied";
    line["call"] = denied_call_name(asked.data.nr);
    answer.error = -denied_call_error(asked.data);
  }
  // The caller may have ended and its pid may be reused: then the data read belongs to another process.
  const bool still_there = ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) == 0;
  if (still_there && is_exec && written_ <= kTraceBytesMax)
    execs_.add(thread, std::move(line));
  else if (still_there && !is_exec && !is_end)
    write(canonical(line));
  ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void Tracer::write_exec(Json line, bool started) {
  if (!started) line["event"] = "exec_failed";
  write(canonical(line));
}

void Tracer::write(const std::string& line) {
  if (written_ > kTraceBytesMax) return;
  written_ += static_cast<std::int64_t>(line.size()) + 1;
  on_line_(written_ > kTraceBytesMax ? R"({"event":"cut","reason":"a trace has 16 MiB at most"})" : line);
}

}  // namespace pawl::sandbox
