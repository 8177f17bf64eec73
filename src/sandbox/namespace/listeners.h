// The sockets inside a network namespace on which its supervisor listens. They are all that leads out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/endpoint.h"

namespace pawl::sandbox {

// Where one listens: an address that is made local to the namespace, and a port.
struct Listener {
  net::Address address;
  std::uint16_t port = 0;
  bool datagram = false;
};

// In the namespace, with CAP_NET_ADMIN there: makes the addresses local. False with errno.
bool add_addresses(const std::vector<Listener>& listeners);
// A bound (and listening) socket, or -1 with errno.
int open_listener(const Listener& listener);

// The synthetic addresses: 198.18.0.0/16, of the block for benchmarks (RFC 2544), which is routed nowhere.
inline constexpr std::uint32_t kSyntheticNet = 0xC6120000;
inline constexpr std::uint32_t kSyntheticMask = 0xFFFF0000;

}  // namespace pawl::sandbox
