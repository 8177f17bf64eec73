#include "base/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace pawl::net {
namespace {

constexpr std::size_t kNameBytesMax = 253, kLabelBytesMax = 63;  // RFC 1035, 2.3.4
constexpr std::size_t kEntriesMax = 256, kStarsMax = 16;
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

struct Prefix {
  const char* text;
  int bits;
};

// IANA's registry of special-purpose IPv4 addresses (RFC 6890) without those that it calls globally
// reachable, multicast, and Azure's WireServer: a public address that leads to each machine's host.
constexpr Prefix kSpecial4[] = {
    {"0.0.0.0", 8},      {"10.0.0.0", 8},     {"100.64.0.0", 10}, {"127.0.0.0", 8},
    {"169.254.0.0", 16}, {"172.16.0.0", 12},  {"192.0.0.0", 24},  {"192.0.2.0", 24},
    {"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
    {"203.0.113.0", 24}, {"224.0.0.0", 4},    {"240.0.0.0", 4},   {"168.63.129.16", 32}};
// The range that IANA has given to the public internet. Outside are loopback, local and multicast addresses,
// and addresses that carry an IPv4 one: mapped, translated (::ffff:0:0:0/96), NAT64.
constexpr Prefix kPublic6 = {"2000::", 3};
// Special ranges within kPublic6: Teredo, ORCHID and other protocols; documentation; 6to4, which carries
// IPv4.
constexpr Prefix kSpecial6[] = {{"2001::", 23}, {"2001:db8::", 32}, {"2002::", 16}, {"3fff::", 20}};

bool has_prefix(const std::uint8_t* bytes, const std::uint8_t* prefix, int bits) {
  const int whole = bits / 8, rest = bits % 8;
  if (std::memcmp(bytes, prefix, static_cast<std::size_t>(whole)) != 0) return false;
  return rest == 0 || ((bytes[whole] ^ prefix[whole]) >> (8 - rest)) == 0;
}

// Addresses that no server has: "this host" (RFC 1122, 3.2.1.3), multicast and broadcast, and link-local addresses of
// IPv6, which need an interface beside them.
constexpr Prefix kOfNoServer4[] = {{"0.0.0.0", 8}, {"224.0.0.0", 4}, {"255.255.255.255", 32}};
constexpr Prefix kOfNoServer6[] = {{"::", 128}, {"fe80::", 10}, {"ff00::", 8}};

bool is_in(const Address& address, const Prefix& prefix) {
  std::array<std::uint8_t, 16> wanted{};
  const bool v4 = address.is_v4();
  inet_pton(v4 ? AF_INET : AF_INET6, prefix.text, wanted.data());
  return has_prefix(address.bytes.data() + (v4 ? kMapped.size() : 0), wanted.data(), prefix.bits);
}

bool is_of_no_server(const Address& address) {
  const auto holds = [&](const Prefix& prefix) { return is_in(address, prefix); };
  return address.is_v4() ? std::ranges::any_of(kOfNoServer4, holds)
                         : std::ranges::any_of(kOfNoServer6, holds);
}

Result<Endpoint> parse_entry(const std::string& entry) {
  const auto bad = [&](const std::string& why) {
    return fail(ErrorKind::kInvalid, "egress: \"" + entry.substr(0, 80) + "\": " + why);
  };
  const auto colon = entry.rfind(':');
  if (colon == std::string::npos) return bad("expected HOST:PORT");
  Endpoint out;
  const char* const end = entry.data() + entry.size();
  const auto [after, error] = std::from_chars(entry.data() + colon + 1, end, out.port);
  if (error != std::errc() || after != end || out.port == 0) return bad("expected a port from 1 to 65535");
  std::string_view host(entry.data(), colon);
  const auto with_address = [&]() -> Result<Endpoint> {
    if (!is_of_no_server(out.address)) return out;
    const auto port = std::to_string(out.port);
    return bad("no server has this address; for a server of this host write \"127.0.0.1:" + port +
               "\" or \"[::1]:" + port + "\"");
  };
  if (host.starts_with('[') && host.ends_with(']')) {
    if (!parse_address(host.substr(1, host.size() - 2), out.address)) return bad("not an IPv6 address");
    return with_address();
  }
  if (parse_address(host, out.address)) {
    if (!out.address.is_v4()) return bad("write an IPv6 address as [ADDRESS]:PORT");
    return with_address();
  }
  if (host.starts_with("*.")) {
    out.below = true;
    host.remove_prefix(2);
  }
  out.name = host_name(host);
  if (out.name.empty()) return bad("expected a name, *.name, or an address");
  if (in_addr number{}; inet_aton(out.name.c_str(), &number) == 1) {
    if (out.below) return bad("an address has no names below it");
    std::array<char, INET_ADDRSTRLEN> text{};  // programs take 127.1 and 0x7f000001 for an address, too
    inet_ntop(AF_INET, &number, text.data(), text.size());
    return bad(std::string("write this address as \"") + text.data() + ":" + std::to_string(out.port) + "\"");
  }
  if (out.below && out.name.find('.') == std::string::npos)
    return bad("a whole top-level domain can't be allowed");
  if (is_local_name(out.name)) {
    const auto port = std::to_string(out.port);
    return bad("inside, this name leads to the sandbox itself; for a server of this host write \"127.0.0.1:" +
               port + "\" or \"[::1]:" + port + "\"");
  }
  return out;
}

}  // namespace

bool Address::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes.begin()); }

std::uint32_t Address::v4() const {
  return std::uint32_t{bytes[12]} << 24 | std::uint32_t{bytes[13]} << 16 | std::uint32_t{bytes[14]} << 8 |
         bytes[15];
}

bool parse_address(std::string_view text, Address& out) {
  const std::string copy(text);
  std::copy(kMapped.begin(), kMapped.end(), out.bytes.begin());
  if (inet_pton(AF_INET, copy.c_str(), out.bytes.data() + kMapped.size()) == 1) return true;
  return inet_pton(AF_INET6, copy.c_str(), out.bytes.data()) == 1;
}

std::string to_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> out{};
  const bool v4 = address.is_v4();
  inet_ntop(v4 ? AF_INET : AF_INET6, address.bytes.data() + (v4 ? kMapped.size() : 0), out.data(),
            out.size());
  return out.data();
}

bool is_special(const Address& address) {
  const auto holds = [&](const Prefix& prefix) { return is_in(address, prefix); };
  if (address.is_v4()) return std::ranges::any_of(kSpecial4, holds);
  return !holds(kPublic6) || std::ranges::any_of(kSpecial6, holds);
}

bool is_loopback(const Address& address) {
  static constexpr std::array<std::uint8_t, 16> kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address.is_v4() ? address.v4() >> 24 == 127 : address.bytes == kLoopback6;
}

bool is_local_name(std::string_view name) {
  return name == "localhost" || name.ends_with(".localhost") || name == "localhost.localdomain" ||
         name == "localhost4" || name == "localhost4.localdomain4" || name == "localhost6" ||
         name == "localhost6.localdomain6" || name == "ip6-localhost" || name == "ip6-loopback";
}

Result<Allowlist> Allowlist::parse(const std::vector<std::string>& entries) {
  if (entries.size() > kEntriesMax)
    return fail(ErrorKind::kInvalid, "egress: more than " + std::to_string(kEntriesMax) + " entries");
  Allowlist out;
  for (const auto& entry : entries) {
    PAWL_TRY(auto endpoint, parse_entry(entry));
    out.endpoints_.push_back(std::move(endpoint));
  }
  if (std::ranges::count_if(out.endpoints_, &Endpoint::below) > static_cast<std::ptrdiff_t>(kStarsMax))
    return fail(ErrorKind::kInvalid, "egress: more than " + std::to_string(kStarsMax) + " entries with `*.`");
  return out;
}

namespace {
bool matches(const Endpoint& endpoint, std::string_view name) {
  if (endpoint.name.empty()) return false;
  if (!endpoint.below) return name == endpoint.name;
  return name.size() > endpoint.name.size() + 1 && name.ends_with(endpoint.name) &&
         name[name.size() - endpoint.name.size() - 1] == '.';
}
}  // namespace

bool Allowlist::allows_name(std::string_view name) const {
  return std::ranges::any_of(endpoints_, [&](const Endpoint& each) { return matches(each, name); });
}

bool Allowlist::allows(std::string_view name, std::uint16_t port) const {
  return std::ranges::any_of(endpoints_,
                             [&](const Endpoint& each) { return each.port == port && matches(each, name); });
}

bool Allowlist::allows(const Address& address, std::uint16_t port) const {
  return std::ranges::any_of(endpoints_, [&](const Endpoint& each) {
    return each.name.empty() && each.port == port && each.address == address;
  });
}

std::string host_name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || text.size() > kNameBytesMax) return {};
  std::string out;
  std::size_t label = 0;
  for (const char c : text) {
    if (c == '.') {
      if (label == 0) return {};
      label = 0;
      out += c;
      continue;
    }
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool fits =
        (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '-' || lower == '_';
    if (!fits || ++label > kLabelBytesMax) return {};
    out += lower;
  }
  return label == 0 ? std::string() : out;
}

}  // namespace pawl::net
