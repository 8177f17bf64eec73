#include "egress/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/file.h"

namespace pawl::egress {
namespace {

constexpr int kPipeBytes = 1 << 20;  // the most for an ordinary user (pipe(7), pipe-max-size)

class Direction {
 public:
  Direction(int from, int to) : from_(from), to_(to) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      ended_ = true;
      return;
    }
    read_end_ = os::UniqueFd(ends[0]);
    write_end_ = os::UniqueFd(ends[1]);
    fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
  }
  bool ended() const { return ended_; }
  short wants_from() const { return !ended_ && !closed_ && held_ == 0 ? POLLIN : 0; }
  short wants_to() const { return !ended_ && held_ > 0 ? POLLOUT : 0; }

  // Returns the number of bytes that were passed on.
  std::int64_t move() {
    if (ended_) return 0;
    if (held_ == 0 && !closed_) {
      const ssize_t got =
          splice(from_, nullptr, write_end_.get(), nullptr, kPipeBytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (got > 0) held_ = got;
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) closed_ = true;
    }
    std::int64_t moved = 0;
    if (held_ > 0) {
      const ssize_t put = splice(read_end_.get(), nullptr, to_, nullptr, static_cast<std::size_t>(held_),
                                 SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (put > 0) moved = put;
      if (put < 0 && errno != EAGAIN && errno != EINTR) ended_ = true;
      held_ -= moved;
    }
    if (closed_ && held_ == 0) {
      ended_ = true;
      shutdown(to_, SHUT_WR);  // the other direction may continue
    }
    return moved;
  }

 private:
  int from_, to_;
  os::UniqueFd read_end_, write_end_;
  std::int64_t held_ = 0;
  bool closed_ = false, ended_ = false;
};

}  // namespace

RelayCount relay(int inner, int outer, int stop_fd, const std::function<bool(std::int64_t)>& may_move) {
  RelayCount count;
  Direction out(inner, outer), in(outer, inner);
  while (!out.ended() || !in.ended()) {
    std::array<pollfd, 3> fds{pollfd{inner, static_cast<short>(out.wants_from() | in.wants_to()), 0},
                              pollfd{outer, static_cast<short>(in.wants_from() | out.wants_to()), 0},
                              pollfd{stop_fd, POLLIN, 0}};
    // poll(2) reports a hang-up of a socket in any case, so a socket without wanted events is left out.
    for (auto& each : fds)
      if (each.events == 0) each.fd = -1;
    if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) break;
    if (fds[2].revents != 0) break;
    const std::int64_t sent = out.move(), received = in.move();
    count.sent += sent;
    count.received += received;
    if (!may_move(sent + received)) break;
  }
  return count;
}

}  // namespace pawl::egress
