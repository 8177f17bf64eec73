// Records which programs a step executes, which addresses it connects to, and which calls it is denied. The
// tracer runs outside of the sandbox (seccomp_unotify(2)). A filter has only one listener (seccomp(2)), so
// the tracer also receives renames and passes them on.
//
// The filter stops the caller only for these few calls, and at its end, when it is known whether its last exec
// failed. The tracer reads their arguments from the caller's memory and writes a line. Then it lets the kernel
// continue the call, or returns the filter's error for a denied call. The line of an exec comes later, when its result
// is known. Another thread can change the arguments before the kernel reads them again. A trace therefore records
// what a program requested; no isolation mechanism depends on it.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "os/file.h"
#include "sandbox/namespace/handover.h"
#include "sandbox/namespace/trace/asked_execs.h"

namespace pawl::sandbox {

class Tracer {
 public:
  // Called for each line of the trace, with one JSON object without a newline: {"time", "pid", "parent", "event":
  // "exec", "path", "argv"}, the same with "exec_failed", {.., "event": "connect", "address", "port"} or {..,
  // "event": "denied", "call"}. The last line may be {"event": "cut", "reason"}.
  using OnLine = std::function<void(std::string_view)>;
  // Replaces further secrets in an argument; null: there are no others.
  using Redact = std::function<std::string(std::string_view)>;
  // Passes a rename on to the process that performs it; false: the kernel continues the call instead.
  using OnRename = std::function<bool(const AskedRename&)>;
  Tracer(os::UniqueFd listener, OnLine on_line, Redact redact, OnRename on_rename)
      : listener_(std::move(listener)),
        on_line_(std::move(on_line)),
        redact_(std::move(redact)),
        on_rename_(std::move(on_rename)),
        execs_([this](Json line, bool started) { write_exec(std::move(line), started); }) {}
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  int fd() const { return listener_.get(); }
  void handle_one();                  // REQUIRES: fd() is readable
  void finish() { execs_.finish(); }  // writes the lines of execs that did not settle; the last call
  bool over() const { return over_; }

 private:
  void answer_rename(const seccomp_notif& asked);
  void write_exec(Json line, bool started);
  void write(const std::string& line);
  os::UniqueFd listener_;
  OnLine on_line_;
  Redact redact_;
  OnRename on_rename_;
  AskedExecs execs_;
  std::int64_t written_ = 0;
  bool over_ = false;
};

// Replaces secrets in an argument by "[redacted]": the value after --token, --password, ..., and the value
// of NAME=value with a denied name. Also the value of an Authorization header, and any argument with
// credentials in a URL. An argument of kTraceLookBytesMax is redacted, too, when it ends where the
// credentials of a URL would be. `before` is the previous argument.
std::string redacted_argument(const std::string& argument, const std::string& before);

}  // namespace pawl::sandbox
