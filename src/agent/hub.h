// The state that the connections of one server share, used in its one thread. A detail of server.cc and
// connection.cc.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <list>
#include <memory>
#include <string>

#include "agent/aside.h"
#include "agent/batch.h"
#include "agent/journals.h"
#include "agent/turns.h"
#include "os/clock.h"
#include "os/random.h"

namespace pawl::agent {

using UnixSocket = boost::asio::local::stream_protocol::socket;

constexpr std::size_t kConnectionsMax = 64;  // connections that have sent something
constexpr std::size_t kStrangersMax = 256;   // connections that have not: each costs a descriptor and 2 KiB
// Responses and bodies up to this size need no turn; larger ones take turns within kTurnsBytes. With 64
// connections, their buffers and the caches of the episodes, a server stays below kMemoryBytesMax.
constexpr std::size_t kSmallBytes = 256 << 10;
constexpr std::size_t kTurnsBytes = 160 << 20;
constexpr std::size_t kMemoryBytesMax = 512 << 20;
// A payload up to this size is cut, hashed and read in the server's own thread, in some milliseconds at most.
constexpr std::size_t kAsideBytes = 2 << 20;

constexpr std::int64_t kSilenceMs = 30'000;  // of an incomplete request, or of a response that is not read
// Limits for a connection whose turn others wait for: in all, and without progress.
constexpr std::int64_t kTurnMs = 30'000, kTurnSilenceMs = 5'000;
// A request may take a minute, plus a second for each kBytesPerSecondMin bytes: a slow drip of bytes does not
// keep it open.
constexpr std::int64_t kRequestMs = 60'000, kBytesPerSecondMin = 64 << 10;

class Connection {
 public:
  virtual ~Connection() = default;

  enum class State { kIdle, kReading, kWriting, kWorking };
  struct Life {
    State state = State::kIdle;
    bool stranger = true;      // has not sent anything
    bool knows_us = false;     // has received a response
    MonoTime progress{};       // when the last byte was read or written
    MonoTime request_began{};  // when its first byte arrived
    std::int64_t bytes = 0;    // of the request and its response so far
    std::size_t turn_bytes = 0;
    MonoTime turn_began{};
  };
  const Life& life() const { return life_; }
  virtual void close() = 0;
  virtual void stop() = 0;  // requests that have arrived are answered; no more are read
  virtual void question_answered(const EpisodeKey& key) = 0;

 protected:
  Life life_;
};

class Hub {
 public:
  Hub(boost::asio::io_context& context, Journals& journals, const os::Clock& clock);

  boost::asio::io_context& context;
  Journals& journals;
  const os::Clock& clock;
  os::SystemRandom random;
  Batch batch;
  Turns turns{kTurnsBytes};
  Aside aside;
  std::string session;  // of requests that name none; "": each connection is a session
  bool stopping = false;

  void add(std::shared_ptr<Connection> connection);
  void remove(const Connection& connection);
  // Called when a stranger has sent something. Closes an idle or stalled connection if 64 are seated. False:
  // none may be closed.
  bool has_seat();
  void check_all();  // closes connections that take too long
  void close_all();
  void stop_all();
  bool empty() const { return connections_.empty(); }

 private:
  std::list<std::shared_ptr<Connection>> connections_;  // oldest first
};

// Serves `socket` until it ends. The connection adds itself to the hub, and removes itself.
void serve(Hub& hub, UnixSocket socket, bool by_operator);

}  // namespace pawl::agent
