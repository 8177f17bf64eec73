#include "http/connection_pool.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>

#include "http/connection.h"

namespace pawl::http {
namespace {

using Life = Connection::Life;
using State = Connection::State;

constexpr std::int64_t kSilenceMs = 30'000;  // in an incomplete request, or in a response that is not read
// Limits for a connection whose turn others wait for: in all, and without progress.
constexpr std::int64_t kTurnMs = 30'000, kTurnSilenceMs = 5'000;
// A request may take a minute, plus a second for each kBytesPerSecondMin bytes: a slow drip of bytes does not
// keep it open.
constexpr std::int64_t kRequestMs = 60'000, kBytesPerSecondMin = 64 << 10;

bool takes_too_long(const Life& life, MonoTime now, bool others_wait) {
  const std::int64_t silent_ms = ms_between(life.progress, now);
  const bool moves_bytes = life.state == State::kReading || life.state == State::kWriting;
  if (life.stranger) return silent_ms > kSilenceMs;
  if (!moves_bytes) return false;
  if (silent_ms > kSilenceMs) return true;
  if (ms_between(life.request_began, now) > kRequestMs + life.bytes * 1000 / kBytesPerSecondMin) return true;
  if (life.turn_bytes == 0 || !others_wait) return false;
  return silent_ms > kTurnSilenceMs || ms_between(life.turn_began, now) > kTurnMs;
}

// The rank in which connections are closed when all seats are taken, highest first; 0: it stays.
int may_go(const Life& life, MonoTime now) {
  constexpr std::int64_t kFirstRequestMs = 1000;
  if (life.stranger) return 0;
  const std::int64_t silent_ms = ms_between(life.progress, now);
  if (!life.knows_us && life.state == State::kReading && silent_ms > kFirstRequestMs) return 2;
  if (life.state == State::kIdle && silent_ms > kSilenceMs) return 1;
  return 0;
}

bool is_stranger(const std::shared_ptr<Connection>& one) { return one->life().stranger; }

}  // namespace

ConnectionPool::ConnectionPool(boost::asio::io_context& context, const os::Clock& clock)
    : context_(context), clock_(clock), offload_(context) {}
ConnectionPool::~ConnectionPool() = default;

void ConnectionPool::post(std::move_only_function<void()> work) {
  boost::asio::post(context_, std::move(work));
}

void ConnectionPool::retry(const std::function<bool(const Exchange&)>& is_ready) {
  for (const auto& connection : connections_) connection->retry(is_ready);
}

void ConnectionPool::add(UnixSocket socket, std::size_t listener) {
  const auto connection = std::make_shared<Connection>(*this, std::move(socket), listener);
  make_room_for_a_stranger();
  connections_.push_back(connection);
  if (stopping_) connection->stop();  // it was accepted just before the listeners were closed
  // A request that finds no memory ends its connection, not the server.
  boost::asio::co_spawn(context_, connection->run(), [](const std::exception_ptr&) {});
}

void ConnectionPool::make_room_for_a_stranger() {
  if (std::ranges::count_if(connections_, is_stranger) < static_cast<std::ptrdiff_t>(kStrangersMax)) return;
  const auto oldest = std::ranges::find_if(connections_, is_stranger);
  (*oldest)->close();
  connections_.erase(oldest);  // at once: the next add() may come before the closed connection has noticed
}

void ConnectionPool::remove(const Connection& connection) {
  std::erase_if(connections_, [&](const auto& one) { return one.get() == &connection; });
}

bool ConnectionPool::has_seat() {
  const auto seated = std::ranges::count_if(connections_, [](const auto& one) { return !is_stranger(one); });
  if (seated < static_cast<std::ptrdiff_t>(kConnectionsMax)) return true;
  const MonoTime now = clock_.mono();
  auto chosen = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    const int rank = may_go((*it)->life(), now);
    if (rank == 0) continue;
    const bool first =
        chosen == connections_.end() || rank > may_go((*chosen)->life(), now) ||
        (rank == may_go((*chosen)->life(), now) && (*it)->life().progress < (*chosen)->life().progress);
    if (first) chosen = it;
  }
  if (chosen == connections_.end()) return false;
  (*chosen)->close();
  connections_.erase(chosen);
  return true;
}

void ConnectionPool::check_all() {
  const MonoTime now = clock_.mono();
  for (const auto& connection : connections_)
    if (takes_too_long(connection->life(), now, turns_.somebody_waits())) connection->close();
}

void ConnectionPool::close_all() {
  for (const auto& connection : connections_) connection->close();
}

void ConnectionPool::stop_all() {
  stopping_ = true;
  for (const auto& connection : connections_) connection->stop();
}

}  // namespace pawl::http
