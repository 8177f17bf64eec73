// The endpoints that a step may reach: the plan's `egress`, parsed. Pure values.
//
//   name:port            exactly this name
//   *.name:port          any name below it, not the name itself
//   192.0.2.7:port, [2001:db8::1]:port   an address; a name may then also resolve to it if it is private
//
// localhost is not a valid entry: inside a sandbox it is the sandbox itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::net {

// IPv4 is stored as ::ffff:a.b.c.d.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  bool is_v4() const;
  std::uint32_t v4() const;  // in host order. REQUIRES: is_v4()
  bool operator==(const Address&) const = default;
};
bool parse_address(std::string_view text, Address& out);
std::string to_text(const Address& address);
// Not a public internet address: private, loopback, link-local (cloud metadata), Azure's WireServer, shared,
// multicast, reserved, documentation, or an IPv6 address that carries an IPv4 one. Sources: IANA's
// special-purpose registries, RFC 6890. No name of the internet should resolve to it.
bool is_special(const Address& address);
bool is_loopback(const Address& address);
// localhost and its other names (RFC 6761, 6.3), which programs resolve without a resolver. REQUIRES: `name`
// is a result of host_name().
bool is_local_name(std::string_view name);

struct Endpoint {
  std::string name;    // lower case; empty: the endpoint is an address
  bool below = false;  // `*.`: any name below `name`
  Address address;
  std::uint16_t port = 0;
};

class Allowlist {
 public:
  // kInvalid: an entry is malformed, and named, or there are too many.
  static Result<Allowlist> parse(const std::vector<std::string>& entries);

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  bool allows_name(std::string_view name) const;  // with some port
  bool allows(std::string_view name, std::uint16_t port) const;
  bool allows(const Address& address, std::uint16_t port) const;  // an entry names this address itself

 private:
  std::vector<Endpoint> endpoints_;
};

// Lower case, without a final dot. Empty: not a host name (RFC 1123: letters, digits, hyphens; this function
// also allows `_`).
std::string host_name(std::string_view text);

}  // namespace pawl::net
