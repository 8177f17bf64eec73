// Which endpoints a step may reach: what a plan's `egress` says, parsed. Pure values.
//
//   name:port            exactly this name
//   *.name:port          any name below it, not the name itself
//   192.0.2.7:port, [2001:db8::1]:port   an address, by number: also allows names to lead there when it is
//   private
//
// localhost is not an entry: inside, it is the sandbox itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::net {

// IPv4 as ::ffff:a.b.c.d.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  bool is_v4() const;
  std::uint32_t v4() const;  // in host order. REQUIRES: is_v4()
  bool operator==(const Address&) const = default;
};
bool parse_address(std::string_view text, Address& out);
std::string to_text(const Address& address);
// Private, loopback, link-local (where clouds keep their metadata), Azure's WireServer, shared, multicast,
// reserved, documentation, or an IPv6 address that carries an IPv4 one (IANA's special-purpose registries,
// RFC 6890): nothing that a name of the internet leads to.
bool is_special(const Address& address);
bool is_loopback(const Address& address);
// localhost and its other names (RFC 6761, 6.3): programs know what they lead to, and ask no resolver.
// REQUIRES: as host_name() gives it.
bool is_local_name(std::string_view name);

struct Endpoint {
  std::string name;    // lower case; empty when it is an address
  bool below = false;  // `*.`: any name below `name`
  Address address;
  std::uint16_t port = 0;
};

class Allowlist {
 public:
  // kInvalid, naming the entry.
  static Result<Allowlist> parse(const std::vector<std::string>& entries);

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  bool allows_name(std::string_view name) const;  // with any port
  bool allows(std::string_view name, std::uint16_t port) const;
  bool allows(const Address& address, std::uint16_t port) const;  // by number

 private:
  std::vector<Endpoint> endpoints_;
};

// Lower case, without a dot at the end. Empty when it is no host name (RFC 1123: letters, digits, hyphens;
// `_`, too).
std::string host_name(std::string_view text);

}  // namespace pawl::net
