#include "egress/egress.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "base/json.h"
#include "egress/peek.h"
#include "egress/relay.h"
#include "egress/resolver.h"
#include "egress/wire.h"
#include "os/clock.h"
#include "os/defences.h"

namespace pawl::egress {
namespace {

constexpr std::uint32_t kOwnAddress = sandbox::kSyntheticNet + 1;  // the resolver's and the proxy's
constexpr std::uint16_t kDnsPort = 53, kProxyPort = 3128;
constexpr std::size_t kResolverIndex = 0, kProxyIndex = 1;
constexpr std::uint32_t kFirstName = sandbox::kSyntheticNet + 256;
constexpr std::string_view kTooManyBytes = "refused: more bytes than a step may move";
constexpr std::size_t kNameShownBytesMax = 260;  // a name, its port and some spare bytes
constexpr std::int64_t kResolveMs = 10'000, kConnectMs = 10'000, kWriteMs = 30'000;

sockaddr_storage to_sockaddr(const net::Address& address, std::uint16_t port, socklen_t& size) {
  sockaddr_storage out{};
  if (address.is_v4()) {
    auto& in = reinterpret_cast<sockaddr_in&>(out);
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    in.sin_addr.s_addr = htonl(address.v4());
    size = sizeof in;
  } else {
    auto& in = reinterpret_cast<sockaddr_in6&>(out);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(in.sin6_addr.s6_addr, address.bytes.data(), address.bytes.size());
    size = sizeof in;
  }
  return out;
}

net::Address from_v4(std::uint32_t address) {
  net::Address out{.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}};
  for (int i = 0; i < 4; ++i)
    out.bytes[static_cast<std::size_t>(12 + i)] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
  return out;
}

// False: the time is over, or `stop` is readable.
bool wait_for(int fd, short events, int stop, std::int64_t timeout_ms) {
  std::array<pollfd, 2> fds{pollfd{fd, events, 0}, pollfd{stop, POLLIN, 0}};
  int got = 0;
  do got = poll(fds.data(), fds.size(), static_cast<int>(timeout_ms));
  while (got < 0 && errno == EINTR);
  return got > 0 && fds[1].revents == 0;
}

bool write_all(int fd, std::string_view bytes, int stop) {
  while (!bytes.empty()) {
    const ssize_t put = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EAGAIN && wait_for(fd, POLLOUT, stop, kWriteMs)) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// A text longer than a name and a port is replaced by its length, because a cut could
// leave a part of a secret.
std::string told(const std::string& said) {
  return said.size() <= kNameShownBytesMax ? escaped(said)
                                           : "a name of " + std::to_string(said.size()) + " bytes";
}

// Spells a host like Access::host. A text that is neither a name nor an address stays as it is, and is not
// allowed.
std::string spelled(const std::string& said) {
  if (auto name = net::host_name(said); !name.empty()) return name;
  net::Address address;
  const bool is_bracketed = said.starts_with('[') && said.ends_with(']');
  if (is_bracketed && net::parse_address(std::string_view(said).substr(1, said.size() - 2), address))
    return net::to_text(address);
  return told(said);
}

MonoTime in_ms(std::int64_t ms) { return {os::SystemClock().mono().micros + ms * 1000}; }

void drop_peeked(int fd, std::size_t bytes) {
  std::array<char, kOpeningBytesMax> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv fills it
  recv(fd, buffer.data(), bytes, 0);
}

}  // namespace

struct Egress::Access {
  std::string host;  // a name, or an address as text
  std::uint16_t port = 0;
  bool by_number = false;
  bool through_proxy = false;
  net::Address address;
  bool has_address = false;
  RelayCount count;
  std::string verdict;  // "allowed", or "refused: why", "failed: why"
};

Egress::Egress(net::Allowlist allowlist, OnLine on_line, EgressCaps caps)
    : allowlist_(std::move(allowlist)), on_line_(std::move(on_line)), caps_(caps) {
  plan();
  sockets_.resize(listeners_.size());
  missing_ = listeners_.size();
  int ends[2];
  PAWL_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  stop_read_ = os::UniqueFd(ends[0]);
  stop_write_ = os::UniqueFd(ends[1]);
}

Egress::~Egress() {
  stop_write_.reset();  // a closed pipe is readable for every thread that waits
  if (server_.joinable()) server_.join();
  while (open_ > 0) os::SystemClock().sleep_ms(1);
}

void Egress::plan() {
  const auto add = [this](const net::Address& address, std::uint16_t port, const Place& place,
                          bool datagram = false) {
    listeners_.push_back({.address = address, .port = port, .datagram = datagram});
    places_.push_back(place);
  };
  add(from_v4(kOwnAddress), kDnsPort, {}, true);
  add(from_v4(kOwnAddress), kProxyPort, {});
  std::uint32_t next = kFirstName;
  for (const auto& endpoint : allowlist_.endpoints()) {
    if (endpoint.name.empty()) {
      // A kernel without IPv6 cannot make such an address local, and no connection to it is possible.
      if (endpoint.address.is_v4() || os::exists("/proc/net/if_inet6"))
        add(endpoint.address, endpoint.port, {});
    } else if (endpoint.below) {
      // One range of slots for all names below it, for every port.
      const auto [first, fresh] = slots_.emplace(endpoint.name, next);
      if (fresh) next += kNamesBelowMax;
      for (std::uint32_t slot = 0; slot < kNamesBelowMax; ++slot)
        add(from_v4(first->second + slot), endpoint.port, {.below = endpoint.name, .slot = slot});
    } else if (addresses_.emplace(endpoint.name, next).second) {
      for (std::uint32_t port = 1; port <= 0xFFFF; ++port)
        if (allowlist_.allows(endpoint.name, static_cast<std::uint16_t>(port)))
          add(from_v4(next), static_cast<std::uint16_t>(port), {.name = endpoint.name});
      ++next;
    }
  }
}

void Egress::take(std::size_t index, os::UniqueFd socket) {
  if (index >= sockets_.size() || sockets_[index]) return;
  sockets_[index] = std::move(socket);
  if (--missing_ == 0) server_ = std::thread([this] { serve(); });
}

void Egress::serve() {
  std::vector<pollfd> fds;
  for (const auto& socket : sockets_) fds.push_back({.fd = socket.get(), .events = POLLIN});
  fds.push_back({.fd = stop_read_.get(), .events = POLLIN});
  for (;;) {
    if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds.back().revents != 0) return;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      if ((fds[i].revents & POLLIN) == 0) continue;
      if (i == kResolverIndex)
        answer_question();
      else
        accept_from(i);
    }
  }
}

std::optional<std::uint32_t> Egress::address_of(const std::string& name) {
  const std::lock_guard guard(mutex_);
  if (const auto known = addresses_.find(name); known != addresses_.end()) return known->second;
  for (const auto& [suffix, first] : slots_) {
    auto& names = below_[suffix];
    if (!name.ends_with("." + suffix) || names.size() >= kNamesBelowMax) continue;
    names.push_back(name);
    return addresses_[name] = first + static_cast<std::uint32_t>(names.size() - 1);
  }
  return std::nullopt;
}

std::string Egress::name_of(const Place& place) {
  if (place.below.empty()) return place.name;
  const std::lock_guard guard(mutex_);
  const auto& names = below_[place.below];
  return place.slot < names.size() ? names[place.slot] : std::string();
}

void Egress::answer_question() {
  std::array<char, 1500> datagram{};
  sockaddr_in from{};
  socklen_t size = sizeof from;
  const ssize_t got = recvfrom(sockets_[kResolverIndex].get(), datagram.data(), datagram.size(), 0,
                               reinterpret_cast<sockaddr*>(&from), &size);
  if (got <= 0) return;
  const auto question = read_question({datagram.data(), static_cast<std::size_t>(got)});
  if (!question) return;
  const bool known = !question->name.empty() && allowlist_.allows_name(question->name);
  std::optional<std::uint32_t> address;
  if (known && question->type == kTypeA) address = address_of(question->name);
  if (!known || (question->type == kTypeA && !address)) {
    Access access{.host = question->name};
    access.verdict =
        known ? "refused: too many names below an allowed one" : "refused: this name is not allowed";
    if (question->type != kTypeA)
      access.verdict += " (a question of type " + std::to_string(question->type) + ")";
    log(access);
  }
  const std::string reply = answer(*question, known && (address || question->type != kTypeA), address);
  sendto(sockets_[kResolverIndex].get(), reply.data(), reply.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&from), size);
}

void Egress::accept_from(std::size_t index) {
  os::UniqueFd inner(accept4(sockets_[index].get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!inner) {
    if (errno != EAGAIN) os::SystemClock().sleep_ms(10);  // no descriptor is free: the connection waits
    return;
  }
  if (const auto why = too_many(); !why.empty()) {
    Access access = access_at(index);
    access.verdict = why;
    return log(access);
  }
  ++open_;
  ++total_;
  std::thread([this, index, socket = std::move(inner)]() mutable {
    connection(std::move(socket), index);
    --open_;  // last, because the destructor waits for it
  }).detach();
}

std::string_view Egress::too_many() {
  if (!rate_.take(os::SystemClock().mono())) return "refused: too many connections in a second";
  if (open_ >= kConnectionsAtOnce) return "refused: too many connections at once";
  if (total_ >= caps_.connections) return "refused: too many connections";
  return bytes_ > caps_.bytes ? kTooManyBytes : "";
}

Egress::Access Egress::access_at(std::size_t index) {
  Access access{.port = listeners_[index].port, .through_proxy = index == kProxyIndex};
  if (access.through_proxy) return access;  // the request has yet to name the host
  const Place& place = places_[index];
  access.by_number = place.name.empty() && place.below.empty();
  if (access.by_number) {
    access.address = listeners_[index].address;
    access.has_address = true;
  }
  access.host = access.by_number ? net::to_text(access.address) : name_of(place);
  return access;
}

void Egress::connection(os::UniqueFd inner, std::size_t index) {
  Access access = access_at(index);
  if (access.through_proxy) {
    if (proxy_target(access, inner.get())) pass(access, inner.get());
  } else if (access.host.empty()) {
    access.verdict = "refused: no name that was asked for leads here";
  } else {
    pass(access, inner.get());
  }
  log(access);
}

bool Egress::proxy_target(Access& access, int inner) {
  ConnectRequest request;
  {
    Peek peek(inner, stop_read_.get());
    for (const MonoTime deadline = in_ms(caps_.opening_ms); !request.whole;) {
      if (peek.more(deadline) != Peek::Why::kBytes) return false;
      request = read_connect(peek.bytes());
    }
  }
  drop_peeked(inner, request.bytes);
  const auto wanted = net::Allowlist::parse({request.target});
  if (wanted && !wanted->endpoints().front().below) {
    const net::Endpoint& endpoint = wanted->endpoints().front();
    access.port = endpoint.port;
    access.by_number = endpoint.name.empty();
    access.host = access.by_number ? net::to_text(endpoint.address) : endpoint.name;
    access.address = endpoint.address;
    access.has_address = access.by_number;
    if (access.by_number ? allowlist_.allows(endpoint.address, endpoint.port)
                         : allowlist_.allows(endpoint.name, endpoint.port))
      return true;
  } else {
    access.port = 0;
    access.host = told(request.target);
  }
  access.verdict = "refused: not on the allowlist";
  write_all(inner, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            stop_read_.get());
  return false;
}

os::UniqueFd Egress::connect_out(Access& access) {
  std::vector<net::Address> addresses{access.address};
  if (!access.by_number) {
    auto found = resolve(access.host, kResolveMs, stop_read_.get());
    if (!found) {
      access.verdict = "failed: " + found.error().message;
      return {};
    }
    addresses = *std::move(found);
  }
  access.verdict = "failed: no address answers";
  for (const auto& address : addresses) {
    access.address = address;
    access.has_address = true;
    if (net::is_special(address) && !allowlist_.allows(address, access.port) && os::defences().special) {
      access.verdict = "refused: " + access.host + " leads to " + net::to_text(address) +
                       ", which is not public; allow it by number if it is meant";
      continue;
    }
    socklen_t size = 0;
    const sockaddr_storage to = to_sockaddr(address, access.port, size);
    os::UniqueFd outer(socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!outer) continue;
    const int on = 1;
    setsockopt(outer.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int error = connect(outer.get(), reinterpret_cast<const sockaddr*>(&to), size) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      socklen_t length = sizeof error;
      if (!wait_for(outer.get(), POLLOUT, stop_read_.get(), kConnectMs))
        error = ETIMEDOUT;
      else
        getsockopt(outer.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error == 0) return outer;
    access.verdict = std::string("failed: connect: ") + std::strerror(error);
  }
  return {};
}

// The reason why the host named in the opening was not allowed; empty when it was.
std::string Egress::objection(const Access& access, const OpeningResult& opening) const {
  const auto leads_elsewhere = [&](const std::string& said) {
    if (said == access.host) return false;
    if (!access.by_number) return true;
    const bool is_this_host = net::is_loopback(access.address) && net::is_local_name(said);
    return !said.empty() && !is_this_host && !allowlist_.allows(said, access.port);
  };
  const std::string host = spelled(opening.host), target = spelled(opening.target);
  switch (opening.kind) {
    case Opening::kTls:
      return leads_elsewhere(host) ? "refused: the TLS hello names \"" + host + "\"" : "";
    case Opening::kHttp:
      if (!opening.target.empty() && leads_elsewhere(target))
        return "refused: the request's target names \"" + target + "\"";
      return leads_elsewhere(host) ? "refused: the Host header names \"" + host + "\"" : "";
    case Opening::kHttp2:
      return "refused: HTTP/2 without TLS, which hides the host that it names";
    default:
      return "refused: a broken TLS hello or HTTP request";
  }
}

// Reads the first bytes from the sandbox, and lets them pass only when they name the allowed host. A server
// that speaks first is not delayed: then there is no name to check.
bool Egress::check_opening(Access& access, int inner, int outer) {
  using Why = Peek::Why;
  if (!os::defences().opening) return true;
  Peek peek(inner, stop_read_.get());
  // A connection without a byte may stay open. Once it has begun, it must complete its opening in time.
  const Why first = peek.more({}, outer);
  const MonoTime deadline = in_ms(caps_.opening_ms);
  if (first == Why::kOtherReadable || first == Why::kEnded) return true;
  for (Why why = first; why != Why::kStopped; why = peek.more(deadline)) {
    if (why == Why::kEnded) access.verdict = "refused: it ended within its TLS hello or HTTP request";
    if (why == Why::kTimedOut)
      access.verdict =
          fmt::format("refused: no whole TLS hello or HTTP request in {} seconds", caps_.opening_ms / 1000);
    if (why != Why::kBytes) return false;
    const auto opening = read_opening(peek.bytes());
    if (opening.kind == Opening::kMore) continue;
    if (opening.kind == Opening::kOther) return true;
    auto objects = objection(access, opening);
    if (objects.empty()) return true;
    access.verdict = std::move(objects);
    return false;
  }
  return false;
}

void Egress::pass(Access& access, int inner) {
  const os::UniqueFd outer = connect_out(access);
  if (access.through_proxy)
    write_all(inner,
              outer ? "HTTP/1.1 200 Connection established\r\n\r\n"
                    : "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
              stop_read_.get());
  if (!outer) return;
  access.verdict = "allowed";
  if (!check_opening(access, inner, outer.get())) return;
  access.count = relay(inner, outer.get(), stop_read_.get(), [&](std::int64_t bytes) {
    if ((bytes_ += bytes) <= caps_.bytes) return true;
    access.verdict = kTooManyBytes;
    return false;
  });
}

void Egress::log(const Access& access) {
  if (access.verdict.empty()) return;
  // Many refusals must not hide a connection that is allowed after them.
  const int before = access.verdict.starts_with("refused") ? refused_++ : 0;
  const bool moved = access.count.sent + access.count.received > 0;  // it was allowed, and cut off later
  if (before < kRefusalsListedMax || moved) return tell(access);
  if (before == kRefusalsListedMax) tell({.verdict = "refused: further refusals are counted, not listed"});
}

void Egress::tell(const Access& access) {
  Json line{{"time", rfc3339(os::SystemClock().wall())},
            {"host", access.host},
            {"port", access.port},
            {"address", access.has_address ? net::to_text(access.address) : ""},
            {"sent", access.count.sent},
            {"received", access.count.received},
            {"verdict", access.verdict}};
  const std::lock_guard guard(mutex_);
  on_line_(canonical(line));
}

namespace {

// An egress holds a descriptor for each of its sockets, and six for each connection.
void raise_descriptor_limit() {
  constexpr rlim_t kWanted = 8192;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, kWanted);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<sandbox::OpenOutlet> outlet_of(const sandbox::SandboxSpec& spec, Egress::OnLine on_line) {
  if (spec.network == sandbox::Network::kNone) return sandbox::OpenOutlet();
  PAWL_TRY(auto allowlist, net::Allowlist::parse(spec.egress_allowlist));
  raise_descriptor_limit();
  return [allowlist = std::move(allowlist), on_line = std::move(on_line)] {
    return std::make_unique<Egress>(allowlist, on_line);
  };
}

sandbox::ClosedOutlets closed_outlets() {
  struct Refused {
    std::mutex mutex;
    std::set<std::string, std::less<>> hosts;  // guarded by mutex
  };
  const auto refused = std::make_shared<Refused>();
  // No name is allowed, so each line is about a refusal.
  const auto note = [refused](std::string_view line) {
    const auto json = parse_json(line);
    const std::lock_guard guard(refused->mutex);
    if (json) refused->hosts.insert(text_in(*json, "host"));
  };
  return {.open = [note] { return std::make_unique<Egress>(net::Allowlist(), note); },
          .have_refused =
              [refused](std::string_view host) {
                const std::lock_guard guard(refused->mutex);
                return refused->hosts.contains(host);
              }};
}

}  // namespace pawl::egress
