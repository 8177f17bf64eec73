#include "sandbox/namespace/listeners.h"

#include <arpa/inet.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/file.h"

namespace pawl::sandbox {
namespace {

constexpr int kBacklog = 128;
constexpr int kBindTriesMax = 5000;  // 1 ms each

sockaddr_in ipv4(std::uint32_t address, std::uint16_t port = 0) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(address);
  return out;
}

// On the loopback device a whole prefix is local (RTN_LOCAL), not only its first address.
bool add_alias(int socket, int number, std::uint32_t address, std::uint32_t mask) {
  const auto set = [&](unsigned long request, std::uint32_t value) {
    ifreq wanted{};
    std::snprintf(wanted.ifr_name, sizeof wanted.ifr_name, "lo:%d", number);
    const sockaddr_in as_address = ipv4(value);
    std::memcpy(&wanted.ifr_addr, &as_address, sizeof as_address);
    return ioctl(socket, request, &wanted) == 0;
  };
  return set(SIOCSIFADDR, address) && set(SIOCSIFNETMASK, mask);
}

bool add_address6(const net::Address& address) {
  const os::UniqueFd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  in6_ifreq wanted{};
  std::memcpy(&wanted.ifr6_addr, address.bytes.data(), address.bytes.size());
  wanted.ifr6_prefixlen = 128;
  wanted.ifr6_ifindex = static_cast<int>(if_nametoindex("lo"));
  return socket && (ioctl(socket.get(), SIOCSIFADDR, &wanted) == 0 || errno == EEXIST);
}

sockaddr_storage to_sockaddr(const Listener& listener) {
  sockaddr_storage out{};
  if (listener.address.is_v4()) {
    const sockaddr_in at = ipv4(listener.address.v4(), listener.port);
    std::memcpy(&out, &at, sizeof at);
    return out;
  }
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  at.sin6_port = htons(listener.port);
  std::memcpy(&at.sin6_addr, listener.address.bytes.data(), listener.address.bytes.size());
  std::memcpy(&out, &at, sizeof at);
  return out;
}

// A new IPv6 address is usable only after a kernel worker has checked it (addrconf_dad_work), which
// is late on a busy machine.
bool bind_to(int fd, const sockaddr_storage& at, socklen_t size) {
  for (int tries = 1;; ++tries) {
    if (bind(fd, reinterpret_cast<const sockaddr*>(&at), size) == 0) return true;
    if (errno != EADDRNOTAVAIL || at.ss_family != AF_INET6 || tries == kBindTriesMax) return false;
    poll(nullptr, 0, 1);
  }
}

}  // namespace

bool add_addresses(const std::vector<Listener>& listeners) {
  const os::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || !add_alias(socket.get(), 0, kSyntheticNet + 1, kSyntheticMask)) return false;
  int number = 1;
  for (auto each = listeners.begin(); each != listeners.end(); ++each) {
    if (!each->address.is_v4()) {
      if (!add_address6(each->address)) return false;
      continue;
    }
    const std::uint32_t address = each->address.v4();
    const bool is_local = (address & kSyntheticMask) == kSyntheticNet || (address >> 24) == IN_LOOPBACKNET;
    // A search, because a set would allocate. There are few listeners.
    const bool is_added = std::ranges::any_of(listeners.begin(), each, [&](const Listener& earlier) {
      return earlier.address.is_v4() && earlier.address.v4() == address;
    });
    if (!is_local && !is_added && !add_alias(socket.get(), number++, address, 0xFFFFFFFF)) return false;
  }
  return true;
}

int open_listener(const Listener& listener) {
  const int type = (listener.datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const sockaddr_storage at = to_sockaddr(listener);
  const bool v6 = at.ss_family == AF_INET6;
  os::UniqueFd fd(socket(at.ss_family, type, 0));
  const int on = 1;
  if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      !bind_to(fd.get(), at, v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in)))
    return -1;
  if (!listener.datagram && listen(fd.get(), kBacklog) != 0) return -1;
  return fd.release();
}

}  // namespace pawl::sandbox
