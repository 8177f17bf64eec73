#include "agent/hub.h"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace pawl::agent {
namespace {

using Life = Connection::Life;
using State = Connection::State;

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

}  // namespace

Hub::Hub(boost::asio::io_context& io, Episodes& of, const os::Clock& at)
    : context(io),
      episodes(of),
      clock(at),
      batch(of, at, [this] { boost::asio::post(context, [this] { batch.run(); }); }),
      aside(io) {
  batch.on_answered = [this](const EpisodeKey& key) {
    for (const auto& connection : connections_) connection->question_answered(key);
  };
}

void Hub::add(std::shared_ptr<Connection> connection) {
  const auto is_stranger = [](const auto& one) { return one->life().stranger; };
  if (std::ranges::count_if(connections_, is_stranger) >= static_cast<std::ptrdiff_t>(kStrangersMax)) {
    const auto oldest = std::ranges::find_if(connections_, is_stranger);
    (*oldest)->close();
    connections_.erase(oldest);  // at once: the next add() may come before the closed connection has noticed
  }
  connections_.push_back(std::move(connection));
}

void Hub::remove(const Connection& connection) {
  std::erase_if(connections_, [&](const auto& one) { return one.get() == &connection; });
}

bool Hub::has_seat() {
  const auto seated =
      std::ranges::count_if(connections_, [](const auto& one) { return !one->life().stranger; });
  if (seated < static_cast<std::ptrdiff_t>(kConnectionsMax)) return true;
  const MonoTime now = clock.mono();
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

void Hub::check_all() {
  const MonoTime now = clock.mono();
  for (const auto& connection : connections_)
    if (takes_too_long(connection->life(), now, turns.somebody_waits())) connection->close();
}

void Hub::close_all() {
  for (const auto& connection : connections_) connection->close();
}

void Hub::stop_all() {
  stopping = true;
  for (const auto& connection : connections_) connection->stop();
}

}  // namespace pawl::agent
