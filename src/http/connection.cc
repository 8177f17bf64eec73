#include "http/connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <utility>

namespace pawl::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// How much of a refused body is read: a client reads the response only after it has sent the body.
constexpr std::size_t kRefusedBytesMax = 128 << 20;
// A refused body up to this size is read, and the connection stays open.
constexpr std::size_t kRefusedAndReadBytesMax = 2 << 20;
constexpr auto kNothrow = asio::as_tuple(asio::use_awaitable);

// Suspends the coroutine until the function that `start` receives is called. `start` must not call it
// directly.
template <typename Start>
asio::awaitable<void> until_called(Start start) {
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
      [&start](auto handler) {
        start(std::move_only_function<void()>(
            [handler = std::move(handler)]() mutable { std::move(handler)(); }));
      },
      asio::use_awaitable);
}

}  // namespace

Connection::Connection(ConnectionPool& pool, UnixSocket socket, std::size_t listener)
    : pool_(pool),
      socket_(std::move(socket)),
      client_(pool.application().connect(listener)),
      waits_(pool.context()) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  life_.progress = pool.clock().mono();
}

asio::awaitable<void> Connection::run() {
  const std::shared_ptr<Connection> self = shared_from_this();
  const std::unique_ptr<Connection, void (*)(Connection*)> end(this, [](Connection* one) { one->leave(); });
  if (co_await first_bytes())
    while (co_await one_request()) {
    }
}

void Connection::close() {
  error_code ignored;
  socket_.close(ignored);
  waits_.cancel();
}

// Bytes that are already in the socket can still be read.
void Connection::stop() {
  error_code ignored;
  socket_.shutdown(UnixSocket::shutdown_receive, ignored);
  waits_.cancel();
}

void Connection::retry(const std::function<bool(const Exchange&)>& is_ready) {
  if (waiting_ != nullptr && is_ready(*waiting_)) waits_.cancel();
}

void Connection::leave() {
  give_back_turn();
  close();
  pool_.remove(*this);
}

// --- bytes

void Connection::moved(std::size_t bytes) {
  life_.progress = pool_.clock().mono();
  life_.bytes += static_cast<std::int64_t>(bytes);
}

// Waits for the first bytes without a buffer. False: the client is gone, or all seats are taken.
asio::awaitable<bool> Connection::first_bytes() {
  const auto [error] = co_await socket_.async_wait(UnixSocket::wait_read, kNothrow);
  if (error) co_return false;
  if (!pool_.has_seat()) {
    co_await refuse_for_good(pool_.application().problem(
        429, "too-many", "64 connections are open: close one, or try again later"));
    co_return false;
  }
  life_.stranger = false;
  co_return true;
}

// Returns 0 when the connection has ended.
asio::awaitable<std::size_t> Connection::read_some(asio::mutable_buffer room) {
  const auto [error, size] = co_await socket_.async_read_some(room, kNothrow);
  if (error) co_return 0;
  if (life_.state == State::kIdle) begin_request();
  moved(size);
  co_return size;
}

void Connection::begin_request() {
  life_.state = State::kReading;
  life_.progress = life_.request_began = pool_.clock().mono();
  life_.bytes = 0;
}

asio::awaitable<bool> Connection::write_all(std::string_view bytes) {
  life_.state = State::kWriting;
  life_.progress = pool_.clock().mono();
  error_code error;
  // Most responses fit into one write.
  std::size_t written =
      socket_.write_some(asio::buffer(bytes.data(), std::min(bytes.size(), kPieceBytes)), error);
  if (error && error != asio::error::would_block) co_return false;
  moved(written);
  bytes.remove_prefix(written);
  while (!bytes.empty()) {
    const auto piece = asio::buffer(bytes.data(), std::min(bytes.size(), kPieceBytes));
    const auto [failed, size] = co_await socket_.async_write_some(piece, kNothrow);
    if (failed) co_return false;
    moved(size);
    bytes.remove_prefix(size);
  }
  co_return true;
}

asio::awaitable<bool> Connection::write(const Response& response, bool keep_alive) {
  std::string head = head_of(response, keep_alive);
  const bool together = response.body.size() <= kSmallBytes;
  if (together) head += response.body;
  if (!co_await write_all(head)) co_return false;
  if (!together && !co_await write_all(response.body)) co_return false;
  life_.knows_us = true;
  co_return true;
}

// --- a request

// False: the connection ends.
asio::awaitable<bool> Connection::one_request() {
  const auto exchange = client_->begin();
  co_return co_await one_request(*exchange);
}

asio::awaitable<bool> Connection::one_request(Exchange& exchange) {
  const Application& application = pool_.application();
  Sink sink{.exchange = exchange};
  RequestParser parser(sink);
  life_.state = State::kIdle;
  if (!input_.empty()) begin_request();
  switch (co_await parse(parser, sink, [&] { return parser.is_header_done(); })) {
    case Parsed::kWhole:
      break;
    case Parsed::kTooLarge:
      co_return co_await refuse_for_good(
          application.problem(431, "too-large", "headers have at most 128 KiB"));
    case Parsed::kMalformed:
      co_return co_await refuse_for_good(application.problem(400, "invalid", "this is not HTTP/1.1"));
    case Parsed::kPeerGone:
    case Parsed::kFailed:
      co_return false;
  }
  auto refused = exchange.accept(parser.head());
  if (!refused) refused = parser.judge_body(application);
  if (refused && parser.head().method == "HEAD") refused->body.clear();
  if (refused) co_return co_await refuse(parser, sink, std::move(*refused));
  parser.eager(true);
  sink.size_max = exchange.body_bytes_max();
  if (auto stopped = co_await receive(parser, sink)) {
    if (auto* response = std::get_if<Response>(&*stopped))
      co_return co_await refuse(parser, sink, std::move(*response));
    co_return false;
  }
  const bool keep_alive = parser.keep_alive();
  co_await respond(exchange);
  const Response response = exchange.take_response();
  const bool written = co_await write(response, keep_alive);
  give_back_turn();
  input_.shrink();
  co_return written&& keep_alive;
}

// The memory of the exchange for the next bytes of a body whose size is known; empty: none.
std::span<char> Connection::place_for_body(const RequestParser& parser, Sink& sink) const {
  if (!parser.is_header_done() || sink.discards || !input_.empty()) return {};
  const auto rest = parser.content_length_remaining();
  return rest ? sink.exchange.place(std::min<std::uint64_t>(*rest, kPieceBytes)) : std::span<char>();
}

// Reads and parses until `enough` returns true.
template <typename Enough>
asio::awaitable<Parsed> Connection::parse(RequestParser& parser, Sink& sink, Enough enough) {
  std::string_view placed;  // bytes that were read into the memory of the exchange
  for (;;) {
    if (const auto bytes = placed.empty() ? input_.bytes() : std::exchange(placed, ""); !bytes.empty()) {
      const Consumed consumed = feed(parser, sink, bytes);
      if (!input_.empty()) input_.consume(consumed.bytes);
      if (consumed.parsed != Parsed::kWhole) co_return consumed.parsed;
      if (enough()) co_return Parsed::kWhole;
      if (!consumed.wants_more && !input_.empty()) continue;
    }
    const auto place = place_for_body(parser, sink);
    const auto room = place.empty() ? input_.room() : asio::buffer(place.data(), place.size());
    const std::size_t size = co_await read_some(room);
    if (size == 0) co_return Parsed::kPeerGone;
    if (place.empty())
      input_.arrived(size);
    else
      placed = {place.data(), size};
  }
}

// Receives the body. No value: it is complete.
asio::awaitable<std::optional<Connection::Refusal>> Connection::receive(RequestParser& parser, Sink& sink) {
  if (parser.body_size().value_or(0) > kSmallBytes) {
    if (auto problem = co_await prepare_large(parser, sink)) co_return Refusal(std::move(*problem));
  }
  if (parser.waits_for_continue() && input_.empty()) {
    if (!co_await write_all("HTTP/1.1 100 Continue\r\n\r\n")) co_return Refusal(PeerGone());
  }
  life_.state = State::kReading;
  const auto enough = [&] { return parser.is_done() || (life_.turn_bytes == 0 && sink.size > kSmallBytes); };
  while (!parser.is_done()) {
    switch (co_await parse(parser, sink, enough)) {
      case Parsed::kWhole:
        break;
      case Parsed::kPeerGone:
        co_return Refusal(PeerGone());
      case Parsed::kMalformed:
        co_return Refusal(
            pool_.application().problem(400, "invalid", "the body is not what its headers say"));
      case Parsed::kTooLarge:
        co_return Refusal(sink.exchange.body_too_large());
      case Parsed::kFailed:
        co_return Refusal(sink.exchange.append_failed(sink.status.error()));
    }
    if (parser.is_done()) break;
    if (auto problem = co_await prepare_large(parser, sink)) co_return Refusal(std::move(*problem));
    life_.state = State::kReading;
  }
  if (auto work = sink.exchange.work_after_body()) co_await offload(std::move(work));
  co_return std::nullopt;
}

asio::awaitable<std::optional<Response>> Connection::prepare_large(const RequestParser& parser, Sink& sink) {
  const auto announced = parser.body_size();
  const std::size_t most = announced.value_or(sink.size_max);
  co_await take_turn(most);
  co_return sink.exchange.begin_large_body(announced.value_or(sink.size), most);
}

asio::awaitable<void> Connection::respond(Exchange& exchange) {
  life_.state = State::kWorking;
  if (life_.turn_bytes == 0) {
    const std::size_t bytes = exchange.response_bytes();
    if (bytes > kSmallBytes) co_await take_turn(bytes);
    if (auto work = exchange.work_before_response(bytes)) co_await offload(std::move(work));
  }
  const MonoTime began = pool_.clock().mono();
  for (;;) {
    co_await until_called([&](std::move_only_function<void()> done) { exchange.respond(std::move(done)); });
    const std::int64_t waited_ms = ms_between(began, pool_.clock().mono());
    if (exchange.wait_ms() <= waited_ms || pool_.is_stopping() || !socket_.is_open()) co_return;
    waiting_ = &exchange;
    waits_.expires_after(std::chrono::milliseconds(exchange.wait_ms() - waited_ms));
    [[maybe_unused]] const auto [error] = co_await waits_.async_wait(kNothrow);
    waiting_ = nullptr;
  }
}

// --- turns

asio::awaitable<void> Connection::take_turn(std::size_t bytes) {
  bytes = std::min(bytes, kTurnsBytes);
  life_.state = State::kWorking;
  if (!pool_.turns().take_now(bytes))
    co_await until_called(
        [&](std::move_only_function<void()> granted) { pool_.turns().wait(bytes, std::move(granted)); });
  life_.turn_bytes = bytes;
  life_.turn_began = life_.progress = pool_.clock().mono();
}

void Connection::give_back_turn() {
  if (const auto bytes = std::exchange(life_.turn_bytes, 0); bytes > 0) pool_.turns().give_back(bytes);
}

// Runs `work` in the worker thread while other connections are served. `work` must not touch data that they
// use.
asio::awaitable<void> Connection::offload(std::move_only_function<void()> work) {
  life_.state = State::kWorking;
  std::exception_ptr thrown;
  co_await until_called([&](std::move_only_function<void()> done) {
    pool_.offload().run(std::ref(work), [&thrown, done = std::move(done)](std::exception_ptr what) mutable {
      thrown = std::move(what);
      done();
    });
  });
  if (thrown) std::rethrow_exception(thrown);
}

// --- refusing

// The connection stays open when the rest of the body is small enough to read.
asio::awaitable<bool> Connection::refuse(RequestParser& parser, Sink& sink, Response response) {
  sink.exchange.discard_body();
  sink.discards = true;
  give_back_turn();
  const auto rest = parser.content_length_remaining();
  const bool worth =
      parser.is_done() || (!parser.waits_for_continue() && rest && *rest <= kRefusedAndReadBytesMax);
  if (!worth) co_return co_await refuse_for_good(std::move(response));
  sink.size_max = 0;
  sink.status = {};
  parser.eager(true);
  life_.state = State::kReading;
  while (!parser.is_done())
    if (co_await parse(parser, sink, [&] { return parser.is_done(); }) != Parsed::kWhole) co_return false;
  const bool keep_alive = parser.keep_alive();
  const bool written = co_await write(response, keep_alive);
  co_return written&& keep_alive;
}

// Responds, then reads on for a while: a client that is still writing does not read the response.
asio::awaitable<bool> Connection::refuse_for_good(Response response) {
  if (!co_await write(response, false)) co_return false;
  error_code ignored;
  socket_.shutdown(UnixSocket::shutdown_send, ignored);
  life_.state = State::kReading;
  input_ = {};
  std::array<char, 16 << 10> nowhere;
  for (std::size_t bytes = 0; bytes < kRefusedBytesMax;) {
    const auto [error, size] = co_await socket_.async_read_some(asio::buffer(nowhere), kNothrow);
    if (error) break;
    moved(size);
    bytes += size;
  }
  co_return false;
}

}  // namespace pawl::http
