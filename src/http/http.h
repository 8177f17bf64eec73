// A small HTTP/1.1 server on Unix sockets, for one application. This header is the entry to the room.
//
// The server reads requests, limits their time and memory, and writes responses. The application knows paths,
// methods and fields. A client is treated as an attacker: each size, count and time has a bound.
//
// All functions of the application are called in the server's one thread, except the work that it gives away
// (Exchange::work_after_body(), work_before_response()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::http {

constexpr std::size_t kHeaderBytesMax = 128 << 10;  // for a request line and all fields
constexpr std::size_t kConnectionsMax = 64;         // connections that have sent something
constexpr std::size_t kStrangersMax = 256;  // connections that have not: each costs a descriptor and 2 KiB
// Responses and bodies up to this size need no turn; larger ones take turns within kTurnsBytes. With 64
// connections, their buffers and 16 SQLite caches of the application, a server stays below kMemoryBytesMax.
constexpr std::size_t kSmallBytes = 256 << 10;
constexpr std::size_t kTurnsBytes = 160 << 20;
constexpr std::size_t kMemoryBytesMax = 512 << 20;
// Work on more bytes than this takes more than some milliseconds: it belongs into the worker thread.
constexpr std::size_t kOffloadBytes = 2 << 20;

struct Response {
  int status = 200;
  std::string_view type;  // the Content-Type; "": none
  std::string headers;    // more header lines, each with its CRLF
  std::string body;
};

// A request before its body.
struct Head {
  std::string method, target;
};

// One request and its response: the application's half. The functions are called in the order of their
// declaration. A request that is refused ends early.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Each header field, as it arrives.
  virtual void take_field(std::string_view name, std::string_view value) = 0;
  // Returns the response that refuses the request.
  virtual std::optional<Response> accept(const Head& head) = 0;
  // The limit of the body that accept() allows; 0: the request takes no body.
  virtual std::size_t body_bytes_max() const = 0;
  virtual Response body_too_large() const = 0;

  // The body is larger than kSmallBytes, and its turn has come. `known`: its size, or how much of it has
  // arrived when no size was announced; `most`: the most that may come. Returns the response that refuses it.
  virtual std::optional<Response> begin_large_body(std::size_t known, std::size_t most) = 0;
  // Memory into which the next bytes may be read, at most `bytes_max`. append() gets them in any case. Empty:
  // the server's buffer is used.
  virtual std::span<char> place(std::size_t bytes_max) = 0;
  virtual Status append(std::string_view bytes) = 0;
  virtual Response append_failed(const Error& error) = 0;
  // The request is refused: frees what append() has collected.
  virtual void discard_body() = 0;
  // Work on the whole body that would delay other requests; nullptr: none. It runs in the worker thread.
  virtual std::move_only_function<void()> work_after_body() = 0;

  // Approximate size of the response; 0: small. Not called for a request with a large body.
  virtual std::size_t response_bytes() = 0;
  // Work on a response of so many bytes that would delay other requests; as work_after_body().
  virtual std::move_only_function<void()> work_before_response(std::size_t bytes) = 0;
  // Makes response(), then calls `done`, not before respond() has returned.
  virtual void respond(std::move_only_function<void()> done) = 0;
  // How long after respond() the request may wait for a better response. Then, or after Loop::retry(),
  // respond() is called again. 0: the response is final.
  virtual std::int64_t wait_ms() const = 0;
  virtual Response take_response() = 0;
};

// The application's half of a connection.
class Client {
 public:
  virtual ~Client() = default;
  virtual std::unique_ptr<Exchange> begin() = 0;
};

class Application {
 public:
  virtual ~Application() = default;
  // `listener`: the index of the listener that accepted the connection.
  virtual std::unique_ptr<Client> connect(std::size_t listener) = 0;
  // The response to a request that is not HTTP as the server takes it. `type`: one word, as `too-large`.
  virtual Response problem(int status, std::string_view type, std::string_view detail) const = 0;
};

// For the application, in the server's thread.
class Loop {
 public:
  virtual ~Loop() = default;
  // Calls `work` soon, after the work that is ready now.
  virtual void post(std::move_only_function<void()> work) = 0;
  // Calls respond() again for the waiting requests that `is_ready` picks.
  virtual void retry(const std::function<bool(const Exchange&)>& is_ready) = 0;
};

struct Listener {
  std::string socket_path;  // may be longer than an address (socket_path.h)
  unsigned mode = 0600;
};

class Server {
 public:
  // Requests are answered when this returns. A stale socket is replaced. kDenied, kUnavailable, kConflict: a
  // socket cannot be created.
  static Result<std::unique_ptr<Server>> start(
      std::vector<Listener> listeners, const std::function<std::unique_ptr<Application>(Loop&)>& make);
  // Answers the requests that have arrived, then closes all connections and ends the application. Takes a few
  // seconds at most.
  virtual ~Server() = default;
};

}  // namespace pawl::http
