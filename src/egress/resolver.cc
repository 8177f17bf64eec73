#include "egress/resolver.h"

#include <ares.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "os/clock.h"

namespace pawl::egress {
namespace {

struct Answer {
  bool done = false;
  int status = ARES_SUCCESS;
  std::vector<net::Address> addresses;
};

void take_answer(void* to, int status, int, ares_addrinfo* found) {
  auto& answer = *static_cast<Answer*>(to);
  answer.done = true;
  answer.status = status;
  for (const auto* node = found == nullptr ? nullptr : found->nodes; node != nullptr; node = node->ai_next) {
    net::Address address;
    if (node->ai_family == AF_INET) {
      const auto* in = reinterpret_cast<const sockaddr_in*>(node->ai_addr);
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&in->sin_addr);
      address.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
      std::copy_n(bytes, 4, address.bytes.begin() + 12);
    } else if (node->ai_family == AF_INET6) {
      const auto* in = reinterpret_cast<const sockaddr_in6*>(node->ai_addr);
      std::copy_n(in->sin6_addr.s6_addr, 16, address.bytes.begin());
    } else {
      continue;
    }
    answer.addresses.push_back(address);
  }
  if (found != nullptr) ares_freeaddrinfo(found);
}

// Drives the channel until the answer has arrived, the time is over, or `stop_fd` is readable.
void drive(ares_channel channel, const Answer& answer, std::int64_t timeout_ms, int stop_fd) {
  const os::SystemClock clock;
  const MonoTime begun = clock.mono();
  while (!answer.done) {
    std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
    const auto mask = static_cast<unsigned>(ares_getsock(channel, sockets.data(), sockets.size()));
    std::vector<pollfd> fds;
    for (unsigned i = 0; i < sockets.size(); ++i) {
      const short wanted = static_cast<short>((ARES_GETSOCK_READABLE(mask, i) ? POLLIN : 0) |
                                              (ARES_GETSOCK_WRITABLE(mask, i) ? POLLOUT : 0));
      if (wanted != 0) fds.push_back({.fd = sockets[i], .events = wanted});
    }
    const std::int64_t left = timeout_ms - ms_between(begun, clock.mono());
    if (left <= 0) return ares_cancel(channel);
    fds.push_back({.fd = stop_fd, .events = POLLIN});
    poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left, 100)));
    if (fds.back().revents != 0) return ares_cancel(channel);
    fds.pop_back();
    for (const auto& each : fds)
      ares_process_fd(channel, (each.revents & (POLLIN | POLLERR | POLLHUP)) != 0 ? each.fd : ARES_SOCKET_BAD,
                      (each.revents & POLLOUT) != 0 ? each.fd : ARES_SOCKET_BAD);
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // timeouts
  }
}

}  // namespace

Result<std::vector<net::Address>> resolve(const std::string& name, std::int64_t timeout_ms, int stop_fd) {
  static std::once_flag once;
  std::call_once(once, [] { ares_library_init(ARES_LIB_INIT_ALL); });
  ares_channel channel = nullptr;
  if (ares_init(&channel) != ARES_SUCCESS)
    return fail(ErrorKind::kIndeterminate, "the resolver does not start");
  Answer answer;
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ares_getaddrinfo(channel, name.c_str(), nullptr, &hints, take_answer, &answer);
  drive(channel, answer, timeout_ms, stop_fd);
  ares_destroy(channel);
  if (answer.addresses.empty())
    return fail(ErrorKind::kNotFound, name + " does not resolve: " + ares_strerror(answer.status));
  return answer.addresses;
}

}  // namespace pawl::egress
