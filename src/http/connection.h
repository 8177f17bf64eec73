// One connection: reads requests, gives them to its client's exchanges, and writes responses. Used in the
// server's one thread. A detail of this room.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "base/time.h"
#include "http/connection_pool.h"
#include "http/http.h"
#include "http/request_parser.h"

namespace pawl::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionPool& pool, UnixSocket socket, std::size_t listener);

  enum class State { kIdle, kReading, kWriting, kWorking };
  struct Life {
    State state = State::kIdle;
    bool stranger = true;      // has not sent anything
    bool knows_us = false;     // has received a response
    MonoTime progress{};       // when the last byte was read or written
    MonoTime request_began{};  // when its first byte arrived
    std::int64_t bytes = 0;    // the request and its response so far
    std::size_t turn_bytes = 0;
    MonoTime turn_began{};
  };
  const Life& life() const { return life_; }

  boost::asio::awaitable<void> run();  // removes the connection from the pool in the end
  void close();
  void stop();  // requests that have arrived are answered; no more are read
  void retry(const std::function<bool(const Exchange&)>& is_ready);

 private:
  struct PeerGone {};
  using Refusal = std::variant<PeerGone, Response>;
  template <typename T>
  using Async = boost::asio::awaitable<T>;

  void leave();
  void moved(std::size_t bytes);
  void begin_request();
  Async<bool> first_bytes();
  Async<std::size_t> read_some(boost::asio::mutable_buffer room);
  Async<bool> write_all(std::string_view bytes);
  Async<bool> write(const Response& response, bool keep_alive);

  Async<bool> one_request();
  Async<bool> one_request(Exchange& exchange);
  template <typename Enough>
  Async<Parsed> parse(RequestParser& parser, Sink& sink, Enough enough);
  std::span<char> place_for_body(const RequestParser& parser, Sink& sink) const;
  Async<std::optional<Refusal>> receive(RequestParser& parser, Sink& sink);
  Async<std::optional<Response>> prepare_large(const RequestParser& parser, Sink& sink);
  Async<void> respond(Exchange& exchange);
  Async<void> offload(std::move_only_function<void()> work);
  Async<void> take_turn(std::size_t bytes);
  void give_back_turn();
  Async<bool> refuse(RequestParser& parser, Sink& sink, Response response);
  Async<bool> refuse_for_good(Response response);

  ConnectionPool& pool_;
  UnixSocket socket_;
  const std::unique_ptr<Client> client_;
  Life life_;
  Input input_;
  boost::asio::steady_timer waits_;  // for a better response to waiting_
  const Exchange* waiting_ = nullptr;
};

}  // namespace pawl::http
