// The first bytes of a stream, looked at without taking them, as they come.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "sandbox/egress/wire.h"

namespace pawl::sandbox::egress {

// Of one connected TCP socket that does not block. Not thread-safe.
class Peek {
 public:
  enum class Why { kBytes, kEnded, kOtherReadable, kTimedOut, kStopped };

  Peek(int fd, int stop_fd) : fd_(fd), stop_fd_(stop_fd) {}
  ~Peek();  // the socket is again readable from its first byte on
  Peek(const Peek&) = delete;
  Peek& operator=(const Peek&) = delete;

  // Waits, without asking again and again, until there is more than bytes() has, and until `deadline` at most
  // (0 microseconds: for ever). kEnded: it came to its end or broke, and has said no more. kOtherReadable:
  // the socket `other` (-1: none) has something first.
  Why more(MonoTime deadline, int other = -1);
  std::string_view bytes() const { return {buffer_.data(), seen_}; }

 private:
  void want(std::size_t bytes) const;

  const int fd_, stop_fd_;
  std::size_t seen_ = 0;
  std::array<char, kOpeningBytesMax> buffer_{};
};

}  // namespace pawl::sandbox::egress
