#include "sandbox/namespace/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pawl::sandbox {
namespace {

constexpr std::size_t kChunkBytes = 64 << 10;  // the capacity of a pipe

bool is_for_later(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

Result<Input> Input::make(int source, const Identity& identity) {
  Input input;
  if (source < 0) return input;
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  input.source_ = source;
  input.from_.reset(fds[0]);
  input.to_.reset(fds[1]);
  fcntl(fds[1], F_SETFL, O_NONBLOCK);
  give_pipe(fds[0], identity);
  return input;
}

void Input::ask(std::span<pollfd, kPolled> fds) const {
  fds[0] = {.fd = to_ && waits_.empty() ? source_ : -1, .events = POLLIN, .revents = 0};
  fds[1] = {.fd = waits_.empty() ? -1 : to_.get(), .events = POLLOUT, .revents = 0};
}

void Input::pass_on(std::span<const pollfd, kPolled> fds) {
  if (fds[0].revents != 0) {
    waits_.resize(kChunkBytes);
    const ssize_t got = read(source_, waits_.data(), waits_.size());
    const bool is_over = got == 0 || (got < 0 && !is_for_later(errno));
    waits_.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (is_over) return to_.reset();
  }
  if (waits_.empty()) return;
  const ssize_t put = write(to_.get(), waits_.data(), waits_.size());
  if (put < 0 && !is_for_later(errno)) return to_.reset();
  waits_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
}

}  // namespace pawl::sandbox
