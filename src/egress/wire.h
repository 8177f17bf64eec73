// Parses the bytes that a sandbox sends, with limits: DNS questions, the name in a TLS hello, the host of an
// HTTP request. Pure functions over bytes from an attacker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::egress {

// --- DNS (RFC 1035): one question a datagram, as every stub resolver sends.
struct Question {
  std::uint16_t id = 0, type = 0;
  std::string name;  // in the form of host_name()
  std::string wire;  // the question section as received, for the answer
};
inline constexpr std::uint16_t kTypeA = 1;
std::optional<Question> read_question(std::string_view datagram);
// `exists` false: NXDOMAIN. Without an address: the name has no record of this type.
std::string answer(const Question& question, bool exists, std::optional<std::uint32_t> address);

// --- the first bytes of a stream
enum class Opening {
  kMore,   // too few bytes to decide
  kOther,  // neither TLS nor HTTP
  // host: the server name; empty without one (RFC 6066, 3), as in a hello of SSL 2.0
  kTls,
  // host: of the Host header, empty without one; target: the host in the request line, if any
  kHttp,
  kHttp2,  // without TLS, from the first byte (RFC 9113, 3.3): its names are compressed
  kBad,    // begins like one of them and breaks its rules, for example a TLS record before the hello
};
struct OpeningResult {
  Opening kind = Opening::kMore;
  std::string host, target = {};
};
inline constexpr std::size_t kOpeningBytesMax = 32 << 10;  // longer openings are kBad
OpeningResult read_opening(std::string_view bytes);

// The CONNECT of an HTTP proxy (RFC 9110, 9.3.6): the target, as it was written.
struct ConnectRequest {
  bool whole = false;  // false: more bytes are needed
  std::string target;  // empty in a whole request: not a CONNECT
  std::size_t bytes = 0;
};
ConnectRequest read_connect(std::string_view bytes);

}  // namespace pawl::egress
