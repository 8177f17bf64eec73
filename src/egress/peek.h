// Reads the first bytes of a stream as they arrive, and leaves them in the socket.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "egress/wire.h"

namespace pawl::egress {

// Peeks at one connected, non-blocking TCP socket. Not thread-safe.
class Peek {
 public:
  enum class Why { kBytes, kEnded, kOtherReadable, kTimedOut, kStopped };

  Peek(int fd, int stop_fd) : fd_(fd), stop_fd_(stop_fd) {}
  ~Peek();  // the socket is readable again from its first byte
  Peek(const Peek&) = delete;
  Peek& operator=(const Peek&) = delete;

  // Blocks, without polling in a loop, until the socket has more than bytes(), and until `deadline` at most
  // (0 microseconds: for ever). kEnded: the stream ended or failed without a further byte. kOtherReadable:
  // the socket `other` (-1: none) is readable first.
  Why more(MonoTime deadline, int other = -1);
  std::string_view bytes() const { return {buffer_.data(), seen_}; }

 private:
  void want(std::size_t bytes) const;

  const int fd_, stop_fd_;
  std::size_t seen_ = 0;
  std::array<char, kOpeningBytesMax> buffer_{};
};

}  // namespace pawl::egress
