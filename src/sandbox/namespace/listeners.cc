#include "sandbox/namespace/listeners.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "os/file.h"

namespace pawl::sandbox {
namespace {

constexpr int kBacklog = 128;

sockaddr_in ipv4(std::uint32_t address, std::uint16_t port = 0) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(address);
  return out;
}

// On the loopback device a whole prefix is local (RTN_LOCAL), not its first address only.
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

}  // namespace

bool add_addresses(const std::vector<Listener>& listeners) {
  const os::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || !add_alias(socket.get(), 0, kSyntheticNet + 1, kSyntheticMask)) return false;
  std::set<std::uint32_t> others;
  for (const auto& each : listeners)
    if ((each.address & kSyntheticMask) != kSyntheticNet && (each.address >> 24) != IN_LOOPBACKNET)
      others.insert(each.address);
  int number = 1;
  for (const auto address : others)
    if (!add_alias(socket.get(), number++, address, 0xFFFFFFFF)) return false;
  return true;
}

int open_listener(const Listener& listener) {
  const int type = (listener.datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
  os::UniqueFd fd(socket(AF_INET, type, 0));
  const sockaddr_in at = ipv4(listener.address, listener.port);
  const int on = 1;
  if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    return -1;
  if (!listener.datagram && listen(fd.get(), kBacklog) != 0) return -1;
  return fd.release();
}

}  // namespace pawl::sandbox
