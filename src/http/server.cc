#include <signal.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "http/connection_pool.h"
#include "http/http.h"
#include "http/socket_path.h"

namespace pawl::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Acceptor = asio::local::stream_protocol::acceptor;

constexpr auto kTick = std::chrono::milliseconds(250);
constexpr std::int64_t kStopMs = 2000;  // for responses that are being sent
// How long the thread polls before it sleeps. An agent's next request often follows the response at once. To
// wake a sleeping processor takes longer than most responses, above all in a virtual machine.
constexpr std::int64_t kLookMicros = 250;

// Blocks signals for a thread: the program's other threads handle them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

class AsioServer final : public Server {
 public:
  explicit AsioServer(std::vector<Listener> listeners) : listeners_(std::move(listeners)), tick_(context_) {}

  Status begin(const std::function<std::unique_ptr<Application>(Loop&)>& make) {
    application_ = make(pool_);
    pool_.serve(*application_);
    for (const auto& listener : listeners_) PAWL_OK(listen(listener));
    asio::co_spawn(context_, watch(), asio::detached);
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    return {};
  }

  ~AsioServer() override {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] { stop(); });
    thread_.join();
    for (const auto& listener : listeners_) unlink(listener.socket_path.c_str());
  }

 private:
  // Polls for a while before it sleeps, and yields the processor to any other thread meanwhile.
  void run() {
    while (context_.run_one() > 0) {
      MonoTime sleep_at{clock_.mono().micros + kLookMicros};
      while (clock_.mono() < sleep_at) {
        if (context_.poll() > 0)
          sleep_at = {clock_.mono().micros + kLookMicros};
        else
          std::this_thread::yield();
      }
    }
  }

  Status listen(const Listener& listener) {
    PAWL_TRY(auto fd, listen_at(listener.socket_path, listener.mode));
    acceptors_.push_back(std::make_unique<Acceptor>(context_, asio::local::stream_protocol(), fd.release()));
    acceptors_.back()->non_blocking(true);
    asio::co_spawn(context_, accept_all(acceptors_.size() - 1), asio::detached);
    return {};
  }

  asio::awaitable<void> accept_all(std::size_t listener) {
    Acceptor& acceptor = *acceptors_[listener];
    while (acceptor.is_open()) {
      auto [error, socket] = co_await acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
      if (!error) {
        pool_.add(std::move(socket), listener);
        continue;
      }
      // No descriptor is free: some become free when other connections end.
      asio::steady_timer pause(context_, kTick);
      if (acceptor.is_open()) co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }

  asio::awaitable<void> watch() {
    MonoTime stop_at{};
    for (;;) {
      tick_.expires_after(kTick);
      co_await tick_.async_wait(asio::as_tuple(asio::use_awaitable));
      pool_.check_all();
      if (!pool_.is_stopping()) continue;
      const MonoTime now = clock_.mono();
      if (stop_at.micros == 0) stop_at = {now.micros + kStopMs * 1000};
      if (pool_.empty()) co_return;
      if (now > stop_at) pool_.close_all();
    }
  }

  void stop() {
    for (std::size_t listener = 0; listener < acceptors_.size(); ++listener) {
      error_code error;
      while (!error) {
        UnixSocket socket(context_);
        acceptors_[listener]->accept(socket, error);
        if (!error) pool_.add(std::move(socket), listener);
      }
      acceptors_[listener]->close(error);
    }
    pool_.stop_all();
    tick_.cancel();
  }

  const std::vector<Listener> listeners_;
  const os::SystemClock clock_;
  std::unique_ptr<Application> application_;  // outlives all connections
  asio::io_context context_{1};
  ConnectionPool pool_{context_, clock_};
  std::vector<std::unique_ptr<Acceptor>> acceptors_;  // by listener
  asio::steady_timer tick_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(
    std::vector<Listener> listeners, const std::function<std::unique_ptr<Application>(Loop&)>& make) {
  auto server = std::make_unique<AsioServer>(std::move(listeners));
  PAWL_OK(server->begin(make));
  return server;
}

}  // namespace pawl::http
