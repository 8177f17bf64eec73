#include "egress/peek.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "os/clock.h"

namespace pawl::egress {
namespace {

constexpr std::int64_t kPressureMs = 10;

int timeout_until(MonoTime deadline, MonoTime now) {
  if (deadline.micros == 0) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(ms_between(now, deadline) + 1, 0, INT_MAX));
}

}  // namespace

Peek::~Peek() { want(1); }

// Peeked bytes stay readable, so poll(2) must wait for one more (SO_RCVLOWAT in socket(7), which poll
// respects for TCP since Linux 2.6.28). poll(2) reports the end of the stream in any case.
void Peek::want(std::size_t bytes) const {
  const int least = static_cast<int>(bytes);
  setsockopt(fd_, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

Peek::Why Peek::more(MonoTime deadline, int other) {
  const os::SystemClock clock;
  want(seen_ + 1);
  for (;;) {
    const MonoTime now = clock.mono();
    if (deadline.micros != 0 && now >= deadline) return Why::kTimedOut;
    std::array<pollfd, 3> fds{pollfd{fd_, POLLIN | POLLRDHUP, 0}, pollfd{other, POLLIN, 0},
                              pollfd{stop_fd_, POLLIN, 0}};
    if (poll(fds.data(), fds.size(), timeout_until(deadline, now)) < 0 && errno != EINTR) return Why::kEnded;
    if (fds[2].revents != 0) return Why::kStopped;
    if (fds[0].revents == 0 && fds[1].revents != 0) return Why::kOtherReadable;
    if (fds[0].revents == 0) continue;
    const ssize_t got = recv(fd_, buffer_.data(), buffer_.size(), MSG_PEEK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return Why::kEnded;
    const auto size = static_cast<std::size_t>(got);
    if (size > seen_) {
      seen_ = size;
      return Why::kBytes;
    }
    if ((fds[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return Why::kEnded;
    clock.sleep_ms(kPressureMs);  // short of memory, the kernel reports POLLIN without new bytes
  }
}

}  // namespace pawl::egress
