#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <functional>

#include "agent/exchange.h"
#include "agent/hub.h"

namespace pawl::agent {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// How much of a refused body is read: a client reads the response only after it has sent the body.
constexpr std::size_t kRefusedBytesMax = 128 << 20;
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

class Served final : public Connection, public std::enable_shared_from_this<Served> {
 public:
  Served(Hub& hub, UnixSocket socket, bool by_operator)
      : hub_(hub), socket_(std::move(socket)), by_operator_(by_operator), answered_(hub.context) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    life_.progress = hub.clock.mono();
  }

  asio::awaitable<void> run() {
    const std::shared_ptr<Served> self = shared_from_this();
    const std::unique_ptr<Served, void (*)(Served*)> end(this, [](Served* one) { one->leave(); });
    if (co_await first_bytes())
      while (co_await one_request()) {
      }
  }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
    answered_.cancel();
  }
  // Bytes that are already in the socket can still be read.
  void stop() override {
    error_code ignored;
    socket_.shutdown(UnixSocket::shutdown_receive, ignored);
    answered_.cancel();
  }
  void question_answered(const EpisodeKey& key) override {
    if (key.goal_id == asked_.goal_id && key.episode_id == asked_.episode_id) answered_.cancel();
  }

 private:
  void leave() {
    give_back_turn();
    close();
    hub_.remove(*this);
  }

  // --- bytes

  void moved(std::size_t bytes) {
    life_.progress = hub_.clock.mono();
    life_.bytes += static_cast<std::int64_t>(bytes);
  }

  // Waits for the first bytes without a buffer. False: the client is gone, or all seats are taken.
  asio::awaitable<bool> first_bytes() {
    const auto [error] = co_await socket_.async_wait(UnixSocket::wait_read, kNothrow);
    if (error) co_return false;
    if (!hub_.has_seat()) {
      co_await refuse_for_good(
          problem(429, "too-many", "64 connections are open: close one, or try again later"));
      co_return false;
    }
    life_.stranger = false;
    co_return true;
  }

  // Returns 0 when the connection has ended.
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer room) {
    const auto [error, size] = co_await socket_.async_read_some(room, kNothrow);
    if (error) co_return 0;
    if (life_.state == State::kIdle) begin_request();
    moved(size);
    co_return size;
  }

  void begin_request() {
    life_.state = State::kReading;
    life_.progress = life_.request_began = hub_.clock.mono();
    life_.bytes = 0;
  }

  asio::awaitable<bool> write_all(std::string_view bytes) {
    life_.state = State::kWriting;
    life_.progress = hub_.clock.mono();
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

  asio::awaitable<bool> write(const Answer& answer, bool keep_alive) {
    std::string head = head_of(answer, keep_alive);
    const bool together = answer.body.size() <= kSmallBytes;
    if (together) head += answer.body;
    if (!co_await write_all(head)) co_return false;
    if (!together && !co_await write_all(answer.body)) co_return false;
    life_.knows_us = true;
    co_return true;
  }

  // --- a request

  // False: the connection ends.
  asio::awaitable<bool> one_request() {
    Sink sink;
    RequestParser parser(sink);
    life_.state = State::kIdle;
    if (!input_.empty()) begin_request();
    switch (co_await parse(parser, sink, [&] { return parser.is_header_done(); })) {
      case Came::kWhole:
        break;
      case Came::kTooLarge:
        co_return co_await refuse_for_good(problem(431, "too-large", "headers have at most 128 KiB"));
      case Came::kMalformed:
        co_return co_await refuse_for_good(problem(400, "invalid", "this is not HTTP/1.1"));
      case Came::kGone:
      case Came::kFailed:
        co_return false;
    }
    Job job;
    Request request;
    auto refused = judge(parser, hub_.journals, by_operator_, request);
    if (refused && parser.head().method == "HEAD") refused->body.clear();
    if (refused) co_return co_await refuse(parser, sink, std::move(*refused));
    parser.eager(true);
    job.call = std::move(request.call);
    job.key = std::move(request.key);
    sink.size_max = body_bytes_max(job.call.route.verb);
    if (auto problem = co_await receive(parser, sink, request, job)) {
      if (problem->status == 0) co_return false;
      if (job.api) job.api->settle(job.call, *problem, hub_.clock.wall());
      co_return co_await refuse(parser, sink, std::move(*problem));
    }
    const bool keep_alive = parser.keep_alive();
    co_await answer(job);
    sink = {};
    const bool written = co_await write(job.answer, keep_alive);
    give_back_turn();
    input_.shrink();
    co_return written&& keep_alive;
  }

  static asio::mutable_buffer place_in(Journal::Saving& saving, std::uint64_t rest) {
    const auto place = saving.place(std::min<std::uint64_t>(rest, kPieceBytes));
    return {place.data(), place.size()};
  }

  // Reads and parses until `enough` returns true.
  template <typename Enough>
  asio::awaitable<Came> parse(RequestParser& parser, Sink& sink, Enough enough) {
    std::string_view placed;  // bytes that were read into the payload's memory directly
    for (;;) {
      if (const auto bytes = placed.empty() ? input_.bytes() : std::exchange(placed, ""); !bytes.empty()) {
        const Fed fed = feed(parser, sink, bytes);
        if (!input_.empty()) input_.consume(fed.taken);
        if (fed.came != Came::kWhole) co_return fed.came;
        if (enough()) co_return Came::kWhole;
        if (!fed.wants_more && !input_.empty()) continue;
      }
      const bool in_place = sink.saving && input_.empty() && parser.content_length_remaining();
      const auto room = in_place ? place_in(*sink.saving, *parser.content_length_remaining()) : input_.room();
      const std::size_t size = co_await read_some(room);
      if (size == 0) co_return Came::kGone;
      if (in_place)
        placed = {static_cast<const char*>(room.data()), size};
      else
        input_.arrived(size);
    }
  }

  // Receives the body. Returns the response that refuses it; status 0 when the connection has ended.
  asio::awaitable<std::optional<Answer>> receive(RequestParser& parser, Sink& sink, const Request& request,
                                                 Job& job) {
    const bool saves = job.call.route.verb == Verb::kSave;
    const bool large = request.size.value_or(0) > kSmallBytes;
    if (large) {
      if (auto problem = co_await prepare_large(sink, job, request)) co_return problem;
    }
    if (parser.waits_for_continue() && input_.empty()) {
      if (!co_await write_all("HTTP/1.1 100 Continue\r\n\r\n")) co_return Answer{.status = 0};
    }
    life_.state = State::kReading;
    const auto enough = [&] {
      return parser.is_done() || (life_.turn_bytes == 0 && sink.size > kSmallBytes);
    };
    while (!parser.is_done()) {
      switch (co_await parse(parser, sink, enough)) {
        case Came::kWhole:
          break;
        case Came::kGone:
          co_return Answer{.status = 0};
        case Came::kMalformed:
          co_return problem(400, "invalid", "the body is not what its headers say");
        case Came::kTooLarge:
          co_return too_large(job.call.route.verb);
        case Came::kFailed:
          co_return problem(sink.status.error());
      }
      if (parser.is_done()) break;
      if (auto problem = co_await prepare_large(sink, job, request)) co_return problem;
      life_.state = State::kReading;
    }
    if (saves && sink.saving) {
      job.saving = std::move(sink.saving);
      if (sink.size > kAsideBytes) co_await aside([&job] { job.saving->prepare(); });
    }
    job.call.body = sink.body;
    co_return std::nullopt;
  }

  asio::awaitable<std::optional<Answer>> prepare_large(Sink& sink, Job& job, const Request& request) {
    const std::size_t bytes = request.size.value_or(sink.size_max);  // the most that may come
    co_await take_turn(bytes);
    if (job.call.route.verb != Verb::kSave) co_return std::nullopt;
    auto api = hub_.journals.find(job.key);
    if (!api) co_return std::move(api).error();
    job.api = std::move(*api);
    const auto known = static_cast<std::int64_t>(request.size.value_or(sink.size));
    auto saving = job.api->begin_save(job.call, known, hub_.clock.wall());
    if (!saving) co_return problem(saving.error());
    (*saving)->expect(bytes);
    if (const auto appended = (*saving)->append(sink.body); !appended) co_return problem(appended.error());
    sink.saving = std::move(*saving);
    sink.body = {};
    co_return std::nullopt;
  }

  asio::awaitable<void> answer(Job& job) {
    life_.state = State::kWorking;
    job.call.session = job.call.headers.session.value_or(own_session());
    if (life_.turn_bytes == 0 && answers_much(job.call.route.verb)) {
      if (const auto api = hub_.journals.find(job.key)) {
        const std::size_t bytes = (*api)->answer_bytes(job.call);
        if (bytes > kSmallBytes) co_await take_turn(bytes);
        if (job.call.route.verb == Verb::kLoad && bytes > kAsideBytes) co_await load_aside(job);
      }
    }
    const MonoTime asked = hub_.clock.mono();
    for (;;) {
      co_await until_called([&](std::move_only_function<void()> done) {
        job.done = std::move(done);
        hub_.batch.add(job);
      });
      const std::int64_t waited_ms = (hub_.clock.mono().micros - asked.micros) / 1000;
      if (job.answer.wait_ms <= waited_ms || hub_.stopping || !socket_.is_open()) co_return;
      asked_ = job.key;
      answered_.expires_after(std::chrono::milliseconds(job.answer.wait_ms - waited_ms));
      [[maybe_unused]] const auto [error] = co_await answered_.async_wait(kNothrow);
      asked_ = {};
    }
  }

  asio::awaitable<void> load_aside(Job& job) {
    job.call.loaded = std::make_shared<std::optional<Loaded>>();
    const std::string path = hub_.journals.path_of(job.key);
    const WallTime now = hub_.clock.wall();
    co_await aside([&] { *job.call.loaded = load_beside(path, job.call, now); });
  }

  // --- turns

  asio::awaitable<void> take_turn(std::size_t bytes) {
    bytes = std::min(bytes, kTurnsBytes);
    life_.state = State::kWorking;
    if (!hub_.turns.take_now(bytes))
      co_await until_called(
          [&](std::move_only_function<void()> granted) { hub_.turns.wait(bytes, std::move(granted)); });
    life_.turn_bytes = bytes;
    life_.turn_began = life_.progress = hub_.clock.mono();
  }
  void give_back_turn() {
    if (const auto bytes = std::exchange(life_.turn_bytes, 0); bytes > 0) hub_.turns.give_back(bytes);
  }

  // Runs `work` in the worker thread while other connections are served. `work` must not touch data that they
  // use.
  template <typename Work>
  asio::awaitable<void> aside(Work work) {
    life_.state = State::kWorking;
    std::exception_ptr thrown;
    co_await until_called([&](std::move_only_function<void()> done) {
      hub_.aside.run(std::ref(work), [&thrown, done = std::move(done)](std::exception_ptr what) mutable {
        thrown = std::move(what);
        done();
      });
    });
    if (thrown) std::rethrow_exception(thrown);
  }

  // --- refusing

  // The connection stays open when the rest of the body is small enough to read.
  asio::awaitable<bool> refuse(RequestParser& parser, Sink& sink, Answer answer) {
    sink.saving.reset();
    sink.discards = true;
    give_back_turn();
    const auto rest = parser.content_length_remaining();
    const bool worth = parser.is_done() || (!parser.waits_for_continue() && rest && *rest <= kBodyBytesMax);
    if (!worth) co_return co_await refuse_for_good(std::move(answer));
    sink.size_max = 0;
    sink.status = {};
    parser.eager(true);
    life_.state = State::kReading;
    while (!parser.is_done())
      if (co_await parse(parser, sink, [&] { return parser.is_done(); }) != Came::kWhole) co_return false;
    const bool keep_alive = parser.keep_alive();
    const bool written = co_await write(answer, keep_alive);
    co_return written&& keep_alive;
  }

  // Responds, then reads on for a while: a client that is still writing does not read the response.
  asio::awaitable<bool> refuse_for_good(Answer answer) {
    if (!co_await write(answer, false)) co_return false;
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

  // Processes of a step that send no Pawl-Session share one session: a step's server lives as long as the
  // step.
  const std::string& own_session() {
    if (!hub_.session.empty()) return hub_.session;
    if (own_session_.empty()) own_session_ = "connection-" + os::random_word(hub_.random);
    return own_session_;
  }

  Hub& hub_;
  UnixSocket socket_;
  const bool by_operator_;
  std::string own_session_;
  Input input_;
  asio::steady_timer answered_;  // of the question that the request waits for
  EpisodeKey asked_;
};

}  // namespace

void serve(Hub& hub, UnixSocket socket, bool by_operator) {
  auto connection = std::make_shared<Served>(hub, std::move(socket), by_operator);
  hub.add(connection);
  // A request that finds no memory ends its connection, not the server.
  asio::co_spawn(hub.context, connection->run(), [](const std::exception_ptr&) {});
}

}  // namespace pawl::agent
