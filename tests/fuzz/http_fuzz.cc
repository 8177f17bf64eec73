// The bytes that arrive on an agent's socket, without the socket: Beast's parser, the checks before a body,
// the body by Content-Length or in chunks, and the request. An input is the bytes of one connection. They
// arrive whole, and once more in small pieces, which must make no difference.
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/api_exchange.h"
#include "agent/served_journals.h"
#include "base/json.h"
#include "http/request_parser.h"
#include "os/file.h"

namespace {

using namespace pawl::agent;
using namespace pawl::http;
constexpr pawl::WallTime kNow{1'780'000'000'000'000};
constexpr int kRequestsMax = 20;
constexpr std::size_t kSmallPiece = 7;
constexpr std::size_t kOperators = 0;  // the only listener

const ServeSpec& spec() {
  static char folder[] = "/dev/shm/pawl-http-fuzz-XXXXXX";
  static const ServeSpec out = [] {
    PAWL_CHECK(mkdtemp(folder) != nullptr);
    std::atexit([] { static_cast<void>(pawl::os::remove_tree(folder)); });
    return ServeSpec{.pawl_folder = folder, .context = Context{.key = {"run", "goal", "episode"}}};
  }();
  return out;
}

// As a connection reads: what the parser leaves is given again, with what comes next.
class Wire {
 public:
  Wire(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}

  template <typename Enough>
  Parsed parse(RequestParser& parser, const Sink& sink, Enough enough) {
    for (;;) {
      if (arrived_ > 0) {
        const Consumed consumed = feed(parser, sink, bytes_.substr(0, arrived_));
        PAWL_CHECK(consumed.bytes <= arrived_);
        bytes_.remove_prefix(consumed.bytes);
        arrived_ -= consumed.bytes;
        if (consumed.parsed != Parsed::kWhole) return consumed.parsed;
        if (enough()) return Parsed::kWhole;
        if (!consumed.wants_more && arrived_ > 0) continue;
      }
      if (arrived_ == bytes_.size()) return Parsed::kPeerGone;
      arrived_ = std::min(bytes_.size(), arrived_ + piece_);
    }
  }

 private:
  std::string_view bytes_;  // not taken yet
  const std::size_t piece_;
  std::size_t arrived_ = 0;  // the bytes that have arrived
};

int check(const pawl::http::Response& response) {
  PAWL_CHECK(response.status >= 200 && response.status < 600);
  PAWL_CHECK(response.status != 503);
  if (response.type.ends_with("json")) PAWL_CHECK(pawl::Json::accept(response.body));
  const std::string head = head_of(response, true);
  PAWL_CHECK(head.starts_with("HTTP/1.1 ") && head.ends_with("\r\n\r\n"));
  PAWL_CHECK(head.find("\r\n\r\n") == head.size() - 4);
  return response.status;
}
int check(ApiResponse answer) { return check(http_response(std::move(answer))); }

// The requests are answered here, and not by a server's loop.
class Loose final : public Loop {
 public:
  void post(std::move_only_function<void()>) override {}
  void retry(const std::function<bool(const Exchange&)>&) override {}
};

int answer(Api& api, Call& call) {
  static_cast<void>(api.answer_bytes(call));
  if (call.route.verb != Verb::kSave) return check(api.handle(call, kNow));
  const auto saving = api.begin_save(call, static_cast<std::int64_t>(call.body.size()), kNow);
  if (!saving) return check(problem(saving.error()));
  if (const auto appended = (*saving)->append(call.body); !appended) return check(problem(appended.error()));
  return check(api.finish_save(call, **saving, kNow));
}

// False when the connection ends. What is malformed may be found out earlier when less of it has come: it has
// no answer here.
bool one_request(Wire& wire, ServedJournals& journals, std::vector<int>& answers) {
  static Loose loop;
  static ApiApplication application(loop, journals, kOperators, "own");
  const auto client = application.connect(kOperators);
  const auto exchange = client->begin();
  auto& of_api = static_cast<ApiExchange&>(*exchange);
  Sink sink{.exchange = *exchange};
  RequestParser parser(sink);
  if (wire.parse(parser, sink, [&] { return parser.is_header_done(); }) != Parsed::kWhole) return false;
  auto refused = exchange->accept(parser.head());
  if (!refused) refused = parser.judge_body(application);
  if (refused) {
    answers.push_back(check(*refused));
    sink.discards = true;
  } else {
    sink.size_max = exchange->body_bytes_max();
  }
  parser.eager(true);
  if (!parser.is_done() && wire.parse(parser, sink, [&] { return parser.is_done(); }) != Parsed::kWhole)
    return false;
  if (!refused) {
    Call& call = of_api.call();
    if (const auto size = parser.body_size()) PAWL_CHECK(call.body.size() == *size);
    const auto api = journals.find(of_api.key());
    PAWL_CHECK(api);
    answers.push_back(answer(**api, call));
  }
  return parser.keep_alive();
}

// Taken back in the end: an input means the same whatever came before it.
std::vector<int> converse(ServedJournals& journals, std::string_view bytes, std::size_t piece) {
  const auto api = journals.find(spec().context->key);
  PAWL_CHECK(api);
  PAWL_CHECK((*api)->begin_group());
  std::vector<int> answers;
  Wire wire(bytes, piece);
  for (int i = 0; i < kRequestsMax && one_request(wire, journals, answers); ++i) continue;
  (*api)->roll_back();
  return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ServedJournals& journals =
      *(*ServedJournals::open(spec())).release();  // it outlives all that it uses
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = converse(journals, bytes, std::max<std::size_t>(size, 1));
  const auto in_pieces = converse(journals, bytes, kSmallPiece);
  // Earlier inputs use up the bytes that a step may log in its life, and nothing gives them back.
  const bool used_up = std::ranges::find(in_pieces, 429) != in_pieces.end();
  PAWL_CHECK(whole == in_pieces || used_up);
  return 0;
}
