// The sockets inside a network namespace on which the supervisor listens. They are the only way out of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/endpoint.h"

namespace pawl::sandbox {

// The address and port of one listener. The address is made local to the namespace.
struct Listener {
  net::Address address;
  std::uint16_t port = 0;
  bool datagram = false;
};

// Makes the addresses local. Allocates no memory (child.h). False with errno. REQUIRES: the caller is in the
// namespace, with CAP_NET_ADMIN.
bool add_addresses(const std::vector<Listener>& listeners);
// Returns a bound socket, which also listens unless it is a datagram socket; -1 with errno.
int open_listener(const Listener& listener);

// The synthetic addresses: 198.18.0.0/16, a part of the block for benchmarks (RFC
// 2544) that is routed nowhere.
inline constexpr std::uint32_t kSyntheticNet = 0xC6120000;
inline constexpr std::uint32_t kSyntheticMask = 0xFFFF0000;

}  // namespace pawl::sandbox
