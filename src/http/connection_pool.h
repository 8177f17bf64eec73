// The connections of one server, and the memory, the worker thread and the clock that they share. Used in the
// server's one thread. A detail of this room.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/time.h"
#include "http/http.h"
#include "http/offload.h"
#include "http/turns.h"
#include "os/clock.h"

namespace pawl::http {

using UnixSocket = boost::asio::local::stream_protocol::socket;

class Connection;

class ConnectionPool final : public Loop {
 public:
  // `context` and `clock` must outlive it.
  ConnectionPool(boost::asio::io_context& context, const os::Clock& clock);
  ~ConnectionPool() override;
  // REQUIRED before add(). `application` must outlive the last connection.
  void serve(Application& application) { application_ = &application; }

  boost::asio::io_context& context() { return context_; }
  const os::Clock& clock() const { return clock_; }
  Application& application() { return *application_; }
  Turns& turns() { return turns_; }
  Offload& offload() { return offload_; }
  bool is_stopping() const { return stopping_; }

  void post(std::move_only_function<void()> work) override;
  void retry(const std::function<bool(const Exchange&)>& is_ready) override;

  // Serves `socket` until it ends, in the context.
  void add(UnixSocket socket, std::size_t listener);
  void remove(const Connection& connection);
  // Called when a stranger has sent something. Closes an idle or stalled connection if all seats are taken.
  // False: none may be closed.
  bool has_seat();
  void check_all();  // closes connections that take too long
  void close_all();
  void stop_all();  // requests that have arrived are answered; no more are read
  bool empty() const { return connections_.empty(); }

 private:
  void make_room_for_a_stranger();

  boost::asio::io_context& context_;
  const os::Clock& clock_;
  Application* application_ = nullptr;
  Turns turns_{kTurnsBytes};
  Offload offload_;
  bool stopping_ = false;
  std::list<std::shared_ptr<Connection>> connections_;  // oldest first
};

}  // namespace pawl::http
