#include "egress/egress.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <thread>

#include "egress/wire.h"
#include "os/clock.h"

namespace pawl::egress {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

std::uint16_t bind_loopback(int fd) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  PAWL_CHECK(bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  PAWL_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

os::UniqueFd connected(int type, std::uint16_t port) {
  os::UniqueFd out(socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const sockaddr_in to = loopback(port);
  EXPECT_EQ(connect(out.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return out;
}

void say(const os::UniqueFd& to, std::string_view text) {
  EXPECT_EQ(send(to.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::string hear(const os::UniqueFd& from) {
  pollfd waits{.fd = from.get(), .events = POLLIN, .revents = 0};
  std::string out(512, '\0');
  const ssize_t got = poll(&waits, 1, 10'000) == 1 ? recv(from.get(), out.data(), out.size(), 0) : 0;
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return out;
}

// The sockets of this egress are on loopback, not in a sandbox. The allowlist has one server, by number.
class EgressTest : public ::testing::Test {
 protected:
  explicit EgressTest(EgressCaps caps = {}) {
    server_ = os::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const std::uint16_t server_port = bind_loopback(server_.get());
    PAWL_CHECK(listen(server_.get(), 64) == 0);
    const auto list = net::Allowlist::parse({"127.0.0.1:" + std::to_string(server_port)});
    egress_.emplace(
        *list, [this](std::string_view line) { lines_.emplace_back(line); }, caps);
    for (std::size_t i = 0; i < egress_->listeners().size(); ++i) {
      const bool datagram = egress_->listeners()[i].datagram;
      os::UniqueFd socket(
          ::socket(AF_INET, (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ports_.push_back(bind_loopback(socket.get()));
      if (!datagram) PAWL_CHECK(listen(socket.get(), 256) == 0);
      egress_->take(i, std::move(socket));
    }
  }

  std::string ask(const os::UniqueFd& resolver, const std::string& name, std::uint16_t type) {
    std::string question("\0\1\1\0\0\1\0\0\0\0\0\0", 12);
    question += static_cast<char>(name.size()) + name + std::string("\4test\0", 6);
    question += {static_cast<char>(type >> 8), static_cast<char>(type & 0xFF), 0, 1};
    say(resolver, question);
    return hear(resolver);
  }

  // Stops the egress and returns all its lines.
  const std::vector<std::string>& lines() {
    egress_.reset();
    return lines_;
  }
  std::ptrdiff_t count(std::string_view text) {
    return std::ranges::count_if(lines_, [&](const auto& line) { return line.contains(text); });
  }

  os::UniqueFd server_;
  std::vector<std::string> lines_;
  std::optional<Egress> egress_;
  std::vector<std::uint16_t> ports_;  // the ports of the resolver, the proxy and the server
};

TEST_F(EgressTest, RefusalsDoNotHideWhatIsAllowed) {
  const auto resolver = connected(SOCK_DGRAM, ports_[0]);
  constexpr int kAsked = 12'000;
  for (int i = 0; i < kAsked; ++i) ASSERT_NE(ask(resolver, "evil", kTypeA), "");
  const auto client = connected(SOCK_STREAM, ports_[2]);
  const os::UniqueFd peer(accept(server_.get(), nullptr, nullptr));
  say(peer, "welcome");
  EXPECT_EQ(hear(client), "welcome");
  EXPECT_EQ(egress_->refused(), kAsked);
  shutdown(client.get(), SHUT_RDWR);
  shutdown(peer.get(), SHUT_RDWR);
  lines();
  EXPECT_EQ(count("this name is not allowed"), kRefusalsListedMax);
  EXPECT_EQ(count("further refusals are counted, not listed"), 1);
  EXPECT_EQ(count(R"("verdict":"allowed")"), 1);
}

TEST_F(EgressTest, WhoLeavesTheProxyEarlyTakesNoPlace) {
  for (int i = 0; i < kConnectionsAtOnce; ++i) say(connected(SOCK_STREAM, ports_[1]), "C");
  os::SystemClock().sleep_ms(1000);
  const auto client = connected(SOCK_STREAM, ports_[1]);
  say(client, "CONNECT evil.test:443 HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(hear(client).starts_with("HTTP/1.1 403")) << "it is served";
  lines();
  EXPECT_EQ(count("too many connections"), 0);
}

TEST_F(EgressTest, RefusedQuestionsOfEveryTypeAreLines) {
  constexpr std::uint16_t kTypeText = 16, kTypeAaaa = 28;
  const auto resolver = connected(SOCK_DGRAM, ports_[0]);
  for (const auto type : {kTypeA, kTypeText, kTypeAaaa}) ASSERT_NE(ask(resolver, "evil", type), "");
  EXPECT_EQ(egress_->refused(), 3);
  lines();
  EXPECT_EQ(count(R"("verdict":"refused: this name is not allowed")"), 1);
  EXPECT_EQ(count("not allowed (a question of type 16)"), 1);
  EXPECT_EQ(count("not allowed (a question of type 28)"), 1);
}

// The number of times that all threads of this process waited during a second.
long waits_in_a_second() {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  os::SystemClock().sleep_ms(1000);
  getrusage(RUSAGE_SELF, &after);
  return after.ru_nvcsw - before.ru_nvcsw;
}

TEST_F(EgressTest, WhoBeginsAndDoesNotGoOnIsWaitedForAndNotAskedAgainAndAgain) {
  const auto client = connected(SOCK_STREAM, ports_[2]), proxied = connected(SOCK_STREAM, ports_[1]);
  say(client, "\x16\x03\x01");
  say(proxied, "CONNECT ");
  EXPECT_LT(waits_in_a_second(), 50);
  shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(hear(client), "");
  lines();
  EXPECT_EQ(count("refused: it ended within its TLS hello or HTTP request"), 1);
}

TEST_F(EgressTest, ARequestMayComeInPieces) {
  const auto client = connected(SOCK_STREAM, ports_[2]);
  const os::UniqueFd peer(accept(server_.get(), nullptr, nullptr));
  const std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  for (const char letter : request) {
    say(client, {&letter, 1});
    os::SystemClock().sleep_ms(1);
  }
  EXPECT_EQ(hear(peer), request);
  say(client, "x");
  EXPECT_EQ(hear(peer), "x") << "one byte is enough again";
}

class CappedEgressTest : public EgressTest {
 protected:
  CappedEgressTest() : EgressTest({.connections = 20, .opening_ms = 1000, .bytes = 1 << 20}) {}
};

TEST_F(CappedEgressTest, ConnectionsAreCounted) {
  for (int i = 0; i < 25; ++i) {
    const auto client = connected(SOCK_STREAM, ports_[2]);
    if (i < 20) close(accept(server_.get(), nullptr, nullptr));
    EXPECT_EQ(hear(client), "");
  }
  lines();
  EXPECT_EQ(count(R"("verdict":"allowed")"), 20);
  EXPECT_EQ(count(R"("verdict":"refused: too many connections")"), 5);
}

TEST_F(CappedEgressTest, AnOpeningHasATime) {
  const auto client = connected(SOCK_STREAM, ports_[2]);
  say(client, "GET / HTTP/1.1\r\n");
  EXPECT_EQ(hear(client), "");
  lines();
  EXPECT_EQ(count("refused: no whole TLS hello or HTTP request in 1 seconds"), 1);
}

TEST_F(CappedEgressTest, BytesAreCountedOverAllConnections) {
  std::thread server([&] {
    const os::UniqueFd peer(accept(server_.get(), nullptr, nullptr));
    const std::string block(1 << 16, 'x');
    for (int i = 0; i < 256 && send(peer.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0;) ++i;
  });
  std::size_t got = 0;
  const auto client = connected(SOCK_STREAM, ports_[2]);
  for (std::string part = hear(client); !part.empty(); part = hear(client)) got += part.size();
  server.join();
  EXPECT_GT(got, 0U);
  EXPECT_LT(got, 4U << 20) << "of 16 MiB: what was allowed, and what was in a buffer";
  const auto later = connected(SOCK_STREAM, ports_[2]);
  EXPECT_EQ(hear(later), "") << "nor is there more by another connection";
  lines();
  EXPECT_EQ(count(R"("verdict":"refused: more bytes than a step may move")"), 2);
  EXPECT_EQ(count(R"("verdict":"allowed")"), 0);
}

}  // namespace
}  // namespace pawl::egress
