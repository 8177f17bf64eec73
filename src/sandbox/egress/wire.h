// What a sandbox says on the wire, read with limits: DNS questions, the name in a TLS hello, the host of an
// HTTP request. Pure functions over bytes that an attacker wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::sandbox::egress {

// --- DNS (RFC 1035): one question a datagram, as every stub resolver asks.
struct Question {
  std::uint16_t id = 0, type = 0;
  std::string name;  // as host_name() gives it
  std::string wire;  // the question section as it came, to be repeated in the answer
};
inline constexpr std::uint16_t kTypeA = 1;
std::optional<Question> read_question(std::string_view datagram);
// NXDOMAIN: `exists` is false. Without an address: the name has none of this type.
std::string answer(const Question& question, bool exists, std::optional<std::uint32_t> address);

// --- the first bytes of a stream
enum class Opening {
  kMore,   // too little to tell
  kOther,  // neither TLS nor HTTP
  kTls,    // host: the server name, empty when it names none (RFC 6066, 3), as a hello of SSL 2.0 does
  kHttp,   // host: of the Host header, empty without one; target: the one in the request's line, if any
  kHttp2,  // without TLS, from the first byte (RFC 9113, 3.3): its names are compressed
  kBad,    // begins like one of them and breaks its rules: a TLS record before the hello does, too
};
struct OpeningResult {
  Opening kind = Opening::kMore;
  std::string host, target = {};
};
inline constexpr std::size_t kOpeningBytesMax = 32 << 10;  // a larger one is kBad
OpeningResult read_opening(std::string_view bytes);

// CONNECT of an HTTP proxy (RFC 9110, 9.3.6): the target, as it was written.
struct ConnectRequest {
  bool whole = false;  // false: more bytes are needed
  std::string target;  // empty in a whole one: it is no CONNECT
  std::size_t bytes = 0;
};
ConnectRequest read_connect(std::string_view bytes);

}  // namespace pawl::sandbox::egress
