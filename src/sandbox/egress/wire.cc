#include "sandbox/egress/wire.h"

#include <algorithm>
#include <array>

#include "base/endpoint.h"

namespace pawl::sandbox::egress {
namespace {

constexpr std::size_t kDnsHeaderBytes = 12;
constexpr std::uint16_t kClassInternet = 1;
constexpr std::uint32_t kTtlSeconds = 60;
constexpr std::uint8_t kTlsHandshake = 22, kClientHello = 1;  // RFC 8446, 5.1 and 4
constexpr std::uint16_t kServerName = 0;                      // RFC 6066, 3
constexpr std::size_t kTlsRecordBytesMax = (1 << 14) + 256;

// Reads big-endian numbers and counted fields; one step beyond the end makes everything after it fail.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  std::size_t left() const { return bytes_.size(); }
  std::uint32_t number(std::size_t size) {
    std::uint32_t out = 0;
    for (const char byte : take(size)) out = out << 8 | static_cast<std::uint8_t>(byte);
    return out;
  }
  std::string_view take(std::size_t size) {
    if (!ok_ || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const auto out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  std::string_view counted(std::size_t length_size) { return take(number(length_size)); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

void put(std::string& out, std::uint32_t value, int size) {
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

std::string server_name(std::string_view extension) {
  Reader list(extension);
  Reader entries(list.counted(2));
  while (entries.ok() && entries.left() > 0) {
    const auto type = entries.number(1);
    const auto name = entries.counted(2);
    if (entries.ok() && type == 0) return net::host_name(name);
  }
  return {};
}

// A ClientHello may come in several records.
OpeningResult read_tls(std::string_view bytes) {
  std::string hello;
  Reader records(bytes);
  while (records.left() > 0) {
    if (records.left() < 5) return {Opening::kMore, {}};
    const auto type = records.number(1);
    const auto version = records.number(2);
    const auto size = records.number(2);
    if (type != kTlsHandshake || version >> 8 != 3 || size == 0 || size > kTlsRecordBytesMax)
      return {Opening::kBad, {}};
    if (records.left() < size) {
      hello += records.take(records.left());
      break;
    }
    hello += records.take(size);
    if (hello.size() >= 4) {
      Reader head(hello);
      if (head.number(1) != kClientHello) return {Opening::kBad, {}};
      const std::size_t wanted = head.number(3);
      if (wanted > kOpeningBytesMax) return {Opening::kBad, {}};
      if (head.left() >= wanted) break;
    }
  }
  Reader head(hello);
  const auto type = head.number(1);
  const std::size_t wanted = head.number(3);
  if (!head.ok() || (type == kClientHello && head.left() < wanted)) return {Opening::kMore, {}};
  if (type != kClientHello) return {Opening::kBad, {}};
  Reader body(head.take(wanted));
  body.take(2 + 32);  // version, random
  body.counted(1);    // session
  body.counted(2);    // cipher suites
  body.counted(1);    // compression
  if (!body.ok()) return {Opening::kBad, {}};
  std::string name;
  Reader extensions(body.left() > 0 ? body.counted(2) : std::string_view());
  while (extensions.ok() && extensions.left() > 0) {
    const auto extension = extensions.number(2);
    const auto content = extensions.counted(2);
    if (extensions.ok() && extension == kServerName) name = server_name(content);
  }
  if (!body.ok() || !extensions.ok()) return {Opening::kBad, {}};
  return {Opening::kTls, name};
}

constexpr std::array<std::string_view, 9> kMethods = {"GET ",     "HEAD ",    "POST ",  "PUT ",  "DELETE ",
                                                      "OPTIONS ", "CONNECT ", "TRACE ", "PATCH "};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

OpeningResult read_http(std::string_view bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return {Opening::kMore, {}};
  std::string_view head = bytes.substr(0, end + 2);
  std::string host;
  int hosts = 0;
  for (head.remove_prefix(head.find("\r\n") + 2); !head.empty(); head.remove_prefix(head.find("\r\n") + 2)) {
    const auto line = head.substr(0, head.find("\r\n"));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !equal_ignoring_case(line.substr(0, colon), "host")) continue;
    ++hosts;
    auto value = line.substr(colon + 1);
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
    if (!value.starts_with('[')) value = value.substr(0, value.find(':'));
    host = value;
  }
  if (hosts > 1) return {Opening::kBad, {}};  // RFC 9112, 3.2
  return {Opening::kHttp, host};
}

}  // namespace

std::optional<Question> read_question(std::string_view datagram) {
  Reader reader(datagram);
  Question out;
  out.id = static_cast<std::uint16_t>(reader.number(2));
  const auto flags = reader.number(2);
  const auto questions = reader.number(2);
  reader.take(6);
  if (!reader.ok() || (flags & 0xF800) != 0 || questions != 1)
    return std::nullopt;  // a response, or no plain query
  std::string name;
  for (;;) {
    const auto size = reader.number(1);
    if (!reader.ok() || size > 63)
      return std::nullopt;  // a pointer in a question is nothing a resolver sends
    if (size == 0) break;
    name += (name.empty() ? "" : ".");
    name += reader.take(size);
  }
  out.type = static_cast<std::uint16_t>(reader.number(2));
  if (reader.number(2) != kClassInternet || !reader.ok()) return std::nullopt;
  out.name = net::host_name(name);
  out.wire = datagram.substr(kDnsHeaderBytes, datagram.size() - kDnsHeaderBytes - reader.left());
  return out;
}

std::string answer(const Question& question, bool exists, std::optional<std::uint32_t> address) {
  std::string out;
  put(out, question.id, 2);
  put(out, 0x8580U | (exists ? 0 : 3), 2);  // response, authoritative, recursion asked for and available
  put(out, 1, 2);
  put(out, address ? 1 : 0, 2);
  put(out, 0, 4);
  out += question.wire;
  if (!address) return out;
  put(out, 0xC000U | kDnsHeaderBytes, 2);  // the name of the question
  put(out, kTypeA, 2);
  put(out, kClassInternet, 2);
  put(out, kTtlSeconds, 4);
  put(out, 4, 2);
  put(out, *address, 4);
  return out;
}

OpeningResult read_opening(std::string_view bytes) {
  OpeningResult out;
  if (bytes.empty()) return out;
  if (static_cast<std::uint8_t>(bytes.front()) == kTlsHandshake) {
    out = read_tls(bytes);
  } else {
    const bool may_be = std::ranges::any_of(kMethods, [&](std::string_view method) {
      return method.starts_with(bytes.substr(0, method.size()));
    });
    if (!may_be) return {Opening::kOther, {}};
    out = read_http(bytes);
  }
  if (out.kind == Opening::kMore && bytes.size() >= kOpeningBytesMax) out.kind = Opening::kBad;
  return out;
}

ConnectRequest read_connect(std::string_view bytes) {
  ConnectRequest out;
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    out.whole = bytes.size() >= kOpeningBytesMax;
    return out;
  }
  out.whole = true;
  out.bytes = end + 4;
  const auto line = bytes.substr(0, bytes.find("\r\n"));
  constexpr std::string_view kConnect = "CONNECT ";
  const auto space = line.rfind(" HTTP/1.");
  if (line.starts_with(kConnect) && space != std::string_view::npos && space > kConnect.size())
    out.target = line.substr(kConnect.size(), space - kConnect.size());
  return out;
}

}  // namespace pawl::sandbox::egress
