#include "sandbox/namespace/trace/asked_execs.h"

#include <sys/stat.h>

#include <cstdlib>
#include <sstream>
#include <utility>

#include "os/file.h"

namespace pawl::sandbox {
namespace {

std::string proc_of(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

// The process of a thread; 0 when the thread has ended.
pid_t process_of(pid_t thread) {
  constexpr std::string_view kLine = "\nTgid:";
  const auto status = os::read_file(proc_of(thread, "status"), 1 << 16);
  const auto line = status ? status->find(kLine) : std::string::npos;
  return line == std::string::npos ? 0 : std::atoi(status->c_str() + line + kLine.size());
}

}  // namespace

// proc(5), /proc/pid/stat: the fields 22 (starttime) and 28 (startstack). The kernel shows 0 for the latter to
// those who may not examine the process.
std::optional<AskedExecs::Program> AskedExecs::program_of(pid_t process) {
  constexpr int kFirst = 3, kStartTime = 22, kStartStack = 28;  // the text after ")" begins with field 3
  struct stat program {};
  if (stat(proc_of(process, "exe").c_str(), &program) != 0) return std::nullopt;
  const auto text = os::read_file(proc_of(process, "stat"), 4096);
  const auto name_end = text ? text->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text->substr(name_end + 2));
  Program out{.device = program.st_dev, .inode = program.st_ino, .start = {}};
  std::string field;
  for (int number = kFirst; number <= kStartStack && fields >> field; ++number) {
    if (number == kStartTime) out.start = field + " ";
    if (number != kStartStack) continue;
    out.start += field;
    return field == "0" ? std::nullopt : std::optional(std::move(out));
  }
  return std::nullopt;
}

// Another thread of the process may still be in its exec, so only a call of the same thread shows that an exec
// ended without a new program.
AskedExecs::Result AskedExecs::result_of(const Asked& asked, pid_t caller) {
  const auto now = asked.before ? program_of(asked.process) : std::nullopt;
  if (!now || now != asked.before) return Result::kStarted;
  return asked.thread == caller ? Result::kFailed : Result::kOpen;
}

void AskedExecs::add(pid_t thread, Json line) {
  if (open_.size() == kOpenMax) {
    on_settled_(std::move(open_.front().line), true);
    open_.pop_front();
  }
  const pid_t process = process_of(thread);
  open_.push_back({.thread = thread,
                   .process = process,
                   .before = process == 0 ? std::nullopt : program_of(process),
                   .line = std::move(line)});
}

void AskedExecs::settle(pid_t caller) {
  std::deque<Asked> still_open;
  for (auto& asked : std::exchange(open_, {})) {
    const auto result = result_of(asked, caller);
    if (result == Result::kOpen)
      still_open.push_back(std::move(asked));
    else
      on_settled_(std::move(asked.line), result == Result::kStarted);
  }
  open_ = std::move(still_open);
}

void AskedExecs::finish() {
  for (auto& asked : std::exchange(open_, {})) on_settled_(std::move(asked.line), true);
}

}  // namespace pawl::sandbox
