// Finds out whether the programs that threads requested were started. A tracer sees an exec before the kernel tries
// it (seccomp_unotify(2)), and the kernel reports no result.
//
// An exec failed when the thread makes another call and its process still is the program that it was. In all
// other cases it counts as started: the process is another program, ended by a signal, or cannot be examined.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/json.h"

namespace pawl::sandbox {

class AskedExecs {
 public:
  // Called with each exec, and whether it was started.
  using OnSettled = std::function<void(Json line, bool started)>;
  explicit AskedExecs(OnSettled on_settled) : on_settled_(std::move(on_settled)) {}

  // REQUIRES: the thread waits for the answer to its exec.
  void add(pid_t thread, Json line);
  // Settles the execs whose result can be known now. `caller`: the thread whose next call waits for an answer.
  void settle(pid_t caller);
  void finish();  // settles the rest, when all processes have ended

 private:
  // The program of a process. A process cannot change these values without an exec: it has no privileges.
  struct Program {
    std::uint64_t device = 0, inode = 0;
    std::string start;  // when the process began, and where its stack begins
    bool operator==(const Program&) const = default;
  };
  struct Asked {
    pid_t thread, process;
    std::optional<Program> before;  // absent: the process cannot be examined
    Json line;
  };
  static std::optional<Program> program_of(pid_t process);
  enum class Result { kOpen, kStarted, kFailed };
  static Result result_of(const Asked& asked, pid_t caller);

  static constexpr std::size_t kOpenMax = 1000;  // threads whose exec is not settled
  OnSettled on_settled_;
  std::deque<Asked> open_;  // in the order in which they asked
};

}  // namespace pawl::sandbox
