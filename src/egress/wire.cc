#include "egress/wire.h"

#include <algorithm>

#include "base/endpoint.h"

namespace pawl::egress {
namespace {

constexpr std::size_t kDnsHeaderBytes = 12;
constexpr std::uint16_t kClassInternet = 1;
constexpr std::uint32_t kTtlSeconds = 60;
constexpr std::uint8_t kTlsHandshake = 22, kClientHello = 1;  // RFC 8446, 5.1 and 4
// The record types that IANA has assigned, from change_cipher_spec to ACK.
constexpr std::uint8_t kFirstRecordType = 20, kTlsAlert = 21, kLastRecordType = 26;
constexpr std::uint8_t kTlsMajor = 3, kMajorMax = 0xF;
constexpr std::uint16_t kAlertBytes = 2;
constexpr std::uint8_t kSsl2LengthBit = 0x80;  // RFC 5246, E.2
constexpr std::uint16_t kServerName = 0;       // RFC 6066, 3
constexpr std::size_t kTlsRecordBytesMax = (1 << 14) + 256;

// Reads big-endian numbers and counted fields. After a read beyond the end, every further read fails.
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

// The only name of a server_name extension. Empty for several names, for none, or for a name that is not a
// host: servers disagree about these.
std::string server_name(std::string_view extension) {
  Reader list(extension);
  Reader entries(list.counted(2));
  const auto type = entries.number(1);
  const auto name = entries.counted(2);
  const bool is_one = list.ok() && list.left() == 0 && entries.ok() && entries.left() == 0;
  return is_one && type == 0 ? net::host_name(name) : std::string();
}

// A ClientHello may be split over several records.
OpeningResult read_tls(std::string_view bytes) {
  std::string hello;
  Reader records(bytes);
  while (records.left() > 0) {
    if (records.left() < 5) return {Opening::kMore, {}};
    const auto type = records.number(1);
    const auto version = records.number(2);
    const auto size = records.number(2);
    if (type != kTlsHandshake || version >> 8 != kTlsMajor || size == 0 || size > kTlsRecordBytesMax)
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
    if (!extensions.ok() || extension != kServerName) continue;
    if (!name.empty()) return {Opening::kBad, {}};
    name = server_name(content);
    if (name.empty()) return {Opening::kBad, {}};
  }
  if (!body.ok() || !extensions.ok()) return {Opening::kBad, {}};
  return {Opening::kTls, name};
}

// A client's first record contains its hello. Servers of Go, OpenSSL and BoringSSL drop alerts
// before it, so a hello after one would name a host that was not checked. Go does so for alerts of
// versions that never existed.
OpeningResult read_record(std::string_view bytes) {
  Reader head(bytes);
  const auto type = head.number(1);
  if (type == kTlsHandshake) return read_tls(bytes);
  const auto major = head.number(1);
  if (!head.ok()) return {Opening::kMore, {}};
  if (major == kTlsMajor) return {Opening::kBad, {}};
  if (type != kTlsAlert || major > kMajorMax) return {Opening::kOther, {}};
  head.take(1);
  const auto size = head.number(2);
  if (!head.ok()) return {Opening::kMore, {}};
  return {size == kAlertBytes ? Opening::kBad : Opening::kOther, {}};
}

// A hello in the frame of SSL 2.0, which OpenSSL and BoringSSL still read. It cannot name a host.
std::optional<OpeningResult> read_ssl2(std::string_view bytes) {
  Reader head(bytes);
  if ((head.number(1) & kSsl2LengthBit) == 0) return std::nullopt;
  head.take(1);
  const auto type = head.number(1);
  if (!head.ok()) return OpeningResult{};
  return type == kClientHello ? std::optional(OpeningResult{Opening::kTls, {}}) : std::nullopt;
}

bool equal_letters(char a, char b) { return (a | 0x20) == (b | 0x20); }

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || kMarks.contains(c);
  });
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The host of `host[:port]`. nullopt: servers may disagree about the host that it names.
std::optional<std::string> host_of(std::string_view authority) {
  const auto end = authority.starts_with('[') ? authority.find(']') : authority.find(':');
  const auto host =
      authority.substr(0, authority.starts_with('[') && end != std::string_view::npos ? end + 1 : end);
  auto port = authority.substr(host.size());
  if (port.starts_with(':')) port.remove_prefix(1);
  if (!std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  return std::string(host);
}

// The host in a request's target; empty without one (RFC 9112, 3.2). nullopt: the target is not valid.
std::optional<std::string> target_host(std::string_view method, std::string_view target) {
  if (target.starts_with('/') || target == "*") return std::string();
  auto authority = target;
  if (const auto scheme = target.find("://"); scheme != std::string_view::npos) {
    authority.remove_prefix(scheme + 3);
    authority = authority.substr(0, authority.find_first_of("/?#"));
  } else if (method != "CONNECT") {
    return std::nullopt;
  }
  auto host = host_of(authority);
  return host && host->empty() ? std::nullopt : host;
}

// Takes a line without its end from `left`. The end is CRLF, or LF, which servers also accept (RFC 9112,
// 2.2). nullopt: the line has no end yet.
std::optional<std::string_view> take_line(std::string_view& left) {
  const auto end = left.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  auto line = left.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  left.remove_prefix(end + 1);
  return line;
}

// A request that servers read in different ways is kBad, because the server's reading decides where it goes.
OpeningResult read_http(std::string_view bytes) {
  const auto first = take_line(bytes);
  if (!first) return {Opening::kMore, {}};
  OpeningResult out{.kind = Opening::kHttp};
  const auto method = first->substr(0, first->find_first_of(" \t\v\f\r"));
  const auto rest = trimmed(first->substr(method.size()));
  auto target = target_host(method, rest.substr(0, rest.find_first_of(" \t")));
  if (!target || first->find_first_of(std::string_view("\0\v\f\r", 4)) != std::string_view::npos)
    return {Opening::kBad, {}};
  out.target = *std::move(target);
  int hosts = 0;
  for (;;) {
    const auto line = take_line(bytes);
    if (!line) return {Opening::kMore, {}};
    if (line->empty()) break;
    const auto name = line->substr(0, line->find(':'));
    const bool broken = name.size() == line->size() || !is_token(name) ||
                        line->find_first_of(std::string_view("\0\r", 2)) != std::string_view::npos;
    if (broken) return {Opening::kBad, {}};  // also for a folded line
    if (!std::ranges::equal(name, std::string_view("host"), equal_letters)) continue;
    auto host = host_of(trimmed(line->substr(name.size() + 1)));
    if (++hosts > 1 || !host) return {Opening::kBad, {}};  // RFC 9112, 3.2
    out.host = *std::move(host);
  }
  return out;
}

// A token and a blank begin a request, whatever the token: servers accept unlisted methods. The first lines
// of SSH, git and others look like that, too. Methods in use have neither small letters nor digits, and
// without "HTTP/" only a request of HTTP/0.9 could be meant.
OpeningResult read_text(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\v\f\r\n"), bytes.size()));
  const auto method = bytes.substr(0, bytes.find_first_of(" \t\v\f\r\n"));
  if (!method.empty() && !is_token(method)) return {Opening::kOther, {}};
  const auto after = bytes.substr(method.size());
  if (after.empty() || after == "\r") return {Opening::kMore, {}};
  if (after.starts_with('\n') || after.starts_with("\r\n")) return {Opening::kOther, {}};
  if (method == "PRI") return {Opening::kHttp2, {}};
  const auto end = bytes.find_first_of(std::string_view("\0\n", 2));
  const bool like_a_method =
      std::ranges::all_of(method, [](char c) { return (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; });
  const bool has_version =
      !std::ranges::search(bytes.substr(0, end), std::string_view("HTTP/"), equal_letters).empty();
  if (!like_a_method && end != std::string_view::npos && !has_version) return {Opening::kOther, {}};
  return read_http(bytes);
}

}  // namespace

std::optional<Question> read_question(std::string_view datagram) {
  Reader reader(datagram);
  Question out;
  out.id = static_cast<std::uint16_t>(reader.number(2));
  const auto flags = reader.number(2);
  const auto questions = reader.number(2);
  reader.take(6);
  // Other packets than plain queries, such as responses, have no question.
  if (!reader.ok() || (flags & 0xF800) != 0 || questions != 1) return std::nullopt;
  std::string name;
  for (;;) {
    const auto size = reader.number(1);
    if (!reader.ok() || size > 63) return std::nullopt;  // no resolver sends a pointer in a question
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
  put(out, 0x8580U | (exists ? 0 : 3), 2);  // response, authoritative, recursion desired and available
  put(out, 1, 2);
  put(out, address ? 1 : 0, 2);
  put(out, 0, 4);
  out += question.wire;
  if (!address) return out;
  put(out, 0xC000U | kDnsHeaderBytes, 2);  // a pointer to the name of the question
  put(out, kTypeA, 2);
  put(out, kClassInternet, 2);
  put(out, kTtlSeconds, 4);
  put(out, 4, 2);
  put(out, *address, 4);
  return out;
}

OpeningResult read_opening(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto first = static_cast<std::uint8_t>(bytes.front());
  const bool is_record = first >= kFirstRecordType && first <= kLastRecordType;
  const auto ssl2 = read_ssl2(bytes);
  OpeningResult out = ssl2 ? *ssl2 : is_record ? read_record(bytes) : read_text(bytes);
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

}  // namespace pawl::egress
