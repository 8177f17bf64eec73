// The way out of a sandbox with network scoped. A backend knows sockets only: it makes the
// addresses of the listeners local inside, opens a socket for each, and gives the sockets to the outlet. The
// outlet, outside of the sandbox, decides what each connection may reach. There is no other way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "os/file.h"

namespace pawl::sandbox {

// The address and port of one listener inside.
struct Listener {
  net::Address address;
  std::uint16_t port = 0;
  bool datagram = false;
};

// The synthetic addresses: 198.18.0.0/16, a part of the block for benchmarks (RFC 2544) that is routed nowhere.
// A backend makes all of them local inside, also the addresses without a listener. An outlet lets them stand for
// names.
inline constexpr std::uint32_t kSyntheticNet = 0xC6120000;
inline constexpr std::uint32_t kSyntheticMask = 0xFFFF0000;

class Outlet {
 public:
  virtual ~Outlet() = default;  // ends every connection

  // The listeners stay the same for the whole life of the outlet. The first listener is the resolver of
  // inside::kResolvConf.
  virtual const std::vector<Listener>& listeners() const = 0;
  // Takes the socket that was opened inside for listeners()[index]: bound, not blocking, and listening unless
  // it is a datagram socket. When all sockets have arrived, connections are served.
  virtual void take(std::size_t index, os::UniqueFd socket) = 0;
  virtual std::int64_t refused() const = 0;  // number of refused accesses so far
};

// Makes the outlet of one sandbox. A backend calls it again when it makes the sandbox in another way.
using OpenOutlet = std::function<std::unique_ptr<Outlet>()>;

// Outlets that allow no name, for Backend::health().
struct ClosedOutlets {
  OpenOutlet open;
  std::function<bool(std::string_view host)> have_refused;  // whether an outlet refused this host
};

}  // namespace pawl::sandbox
