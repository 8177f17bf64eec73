#include "agent/server.h"

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

#include "agent/hub.h"
#include "agent/socket_path.h"

namespace pawl::agent {
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
  explicit AsioServer(ServeSpec spec) : spec_(std::move(spec)), tick_(context_) {}

  Status begin() {
    PAWL_TRY(journals_, Journals::open(spec_));
    hub_ = std::make_unique<Hub>(context_, *journals_, clock_);
    if (spec_.context) hub_->session = "step-" + os::random_word(hub_->random);
    PAWL_OK(listen(spec_.socket_path, spec_.socket_mode, false));
    if (!spec_.operator_socket_path.empty()) PAWL_OK(listen(spec_.operator_socket_path, 0600, true));
    asio::co_spawn(context_, watch(), asio::detached);
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    return {};
  }

  ~AsioServer() override {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] { stop(); });
    thread_.join();
    for (const auto* path : {&spec_.socket_path, &spec_.operator_socket_path})
      if (!path->empty()) unlink(path->c_str());
  }

 private:
  struct Door {
    Acceptor acceptor;
    bool by_operator;
  };

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

  Status listen(const std::string& path, unsigned mode, bool by_operator) {
    PAWL_TRY(auto fd, listen_at(path, mode));
    doors_.push_back(std::make_unique<Door>(
        Door{Acceptor(context_, asio::local::stream_protocol(), fd.release()), by_operator}));
    doors_.back()->acceptor.non_blocking(true);
    asio::co_spawn(context_, accept_all(*doors_.back()), asio::detached);
    return {};
  }

  asio::awaitable<void> accept_all(Door& door) {
    while (door.acceptor.is_open()) {
      auto [error, socket] = co_await door.acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
      if (!error) {
        serve(*hub_, std::move(socket), door.by_operator);
        continue;
      }
      // No descriptor is free: some become free when other connections end.
      asio::steady_timer pause(context_, kTick);
      if (door.acceptor.is_open()) co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }

  asio::awaitable<void> watch() {
    MonoTime stop_at{};
    for (;;) {
      tick_.expires_after(kTick);
      co_await tick_.async_wait(asio::as_tuple(asio::use_awaitable));
      hub_->check_all();
      if (!hub_->stopping) continue;
      const MonoTime now = clock_.mono();
      if (stop_at.micros == 0) stop_at = {now.micros + kStopMs * 1000};
      if (hub_->empty()) co_return;
      if (now > stop_at) hub_->close_all();
    }
  }

  void stop() {
    for (const auto& door : doors_) {
      error_code error;
      while (!error) {
        UnixSocket socket(context_);
        door->acceptor.accept(socket, error);
        if (!error) serve(*hub_, std::move(socket), door->by_operator);
      }
      door->acceptor.close(error);
    }
    hub_->stop_all();
    tick_.cancel();
  }

  const ServeSpec spec_;
  const os::SystemClock clock_;
  std::unique_ptr<Journals> journals_;
  asio::io_context context_{1};
  std::unique_ptr<Hub> hub_;
  std::vector<std::unique_ptr<Door>> doors_;
  asio::steady_timer tick_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServeSpec spec) {
  auto server = std::make_unique<AsioServer>(std::move(spec));
  PAWL_OK(server->begin());
  return server;
}

}  // namespace pawl::agent
