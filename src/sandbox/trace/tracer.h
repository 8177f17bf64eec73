// What a step executes, connects to and is denied, as it happens, made outside of it (seccomp_unotify(2)).
// A filter has one listener (seccomp(2)), so it hears of renames, too, and passes them on.
//
// The filter stops the caller only for those few calls; the tracer reads their arguments from the caller's
// memory, writes a line, and lets the kernel go on with the call (or answers the filter's error to one that
// is denied). What it reads can be changed by another thread before the kernel reads it again: a trace tells
// what a program asked for, the walls do not rest on it.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "os/file.h"
#include "sandbox/namespace/handover.h"

namespace pawl::sandbox {

inline constexpr std::int64_t kTraceBytesMax = 16 << 20;  // then one line says that it was cut
inline constexpr std::size_t kTraceArgumentsMax = 64, kTraceArgumentBytesMax = 256;
// What is looked at of an argument that is longer: a secret that begins within what is told ends in here.
inline constexpr std::size_t kTraceLookBytesMax = kTraceArgumentBytesMax + 4096;

class Tracer {
 public:
  // Lines are JSON objects without a newline: {"time", "pid", "parent", "event": "exec", "path", "argv"},
  // {.., "event": "connect", "address", "port"}, {.., "event": "denied", "call"}. The last one may be
  // {"event": "cut", "reason"}.
  using OnLine = std::function<void(std::string_view)>;
  // `redact`: what more is secret in an argument; null: nothing.
  using Redact = std::function<std::string(std::string_view)>;
  // Passes a rename on to the one that answers it; false: the kernel is to go on with it.
  using OnRename = std::function<bool(const AskedRename&)>;
  Tracer(os::UniqueFd listener, OnLine on_line, Redact redact, OnRename on_rename)
      : listener_(std::move(listener)),
        on_line_(std::move(on_line)),
        redact_(std::move(redact)),
        on_rename_(std::move(on_rename)) {}

  int fd() const { return listener_.get(); }
  void handle_one();  // when fd() is readable
  bool over() const { return over_; }

 private:
  void answer_rename(const seccomp_notif& asked);
  void write(const std::string& line);
  os::UniqueFd listener_;
  OnLine on_line_;
  Redact redact_;
  OnRename on_rename_;
  std::int64_t written_ = 0;
  bool over_ = false;
};

// Secrets in arguments: the value after --token, --password, ..., of NAME=value with a denied name, and a URL
// with credentials is "[redacted]"; so is one of kTraceLookBytesMax that ends where they would stand.
std::string redacted_argument(const std::string& argument, const std::string& before);

}  // namespace pawl::sandbox
