// The bytes that arrive on an agent's socket, without the socket: Beast's parser, the checks before a body,
// the body by Content-Length or in chunks, and the request. An input is the bytes of one connection. They
// arrive whole, and once more in small pieces, which must make no difference.
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/exchange.h"
#include "agent/journals.h"
#include "base/json.h"
#include "os/file.h"

namespace {

using namespace pawl::agent;
constexpr pawl::WallTime kNow{1'780'000'000'000'000};
constexpr int kRequestsMax = 20;
constexpr std::size_t kSmallPiece = 7;

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
  Came parse(RequestParser& parser, const Sink& sink, Enough enough) {
    for (;;) {
      if (arrived_ > 0) {
        const Fed fed = feed(parser, sink, bytes_.substr(0, arrived_));
        PAWL_CHECK(fed.taken <= arrived_);
        bytes_.remove_prefix(fed.taken);
        arrived_ -= fed.taken;
        if (fed.came != Came::kWhole) return fed.came;
        if (enough()) return Came::kWhole;
        if (!fed.wants_more && arrived_ > 0) continue;
      }
      if (arrived_ == bytes_.size()) return Came::kGone;
      arrived_ = std::min(bytes_.size(), arrived_ + piece_);
    }
  }

 private:
  std::string_view bytes_;  // not taken yet
  const std::size_t piece_;
  std::size_t arrived_ = 0;  // of them
};

int check(const Answer& answer) {
  PAWL_CHECK(answer.status >= 200 && answer.status < 600);
  PAWL_CHECK(answer.status != 503);
  if (answer.type.ends_with("json")) PAWL_CHECK(pawl::Json::accept(answer.body));
  const std::string head = head_of(answer, true);
  PAWL_CHECK(head.starts_with("HTTP/1.1 ") && head.ends_with("\r\n\r\n"));
  PAWL_CHECK(head.find("\r\n\r\n") == head.size() - 4);
  return answer.status;
}

int answer(Api& api, Call& call) {
  call.session = call.headers.session.value_or("own");
  static_cast<void>(api.answer_bytes(call));
  if (call.route.verb != Verb::kSave) return check(api.handle(call, kNow));
  const auto saving = api.begin_save(call, static_cast<std::int64_t>(call.body.size()), kNow);
  if (!saving) return check(problem(saving.error()));
  if (const auto appended = (*saving)->append(call.body); !appended) return check(problem(appended.error()));
  return check(api.finish_save(call, **saving, kNow));
}

// False when the connection ends. What is malformed may be found out earlier when less of it has come: it has
// no answer here.
bool one_request(Wire& wire, Journals& journals, std::vector<int>& answers) {
  Sink sink;
  RequestParser parser(sink);
  if (wire.parse(parser, sink, [&] { return parser.is_header_done(); }) != Came::kWhole) return false;
  Request request;
  const auto refused = judge(parser, journals, true, request);
  if (refused) {
    answers.push_back(check(*refused));
    sink.discards = true;
  } else {
    sink.size_max = body_bytes_max(request.call.route.verb);
  }
  parser.eager(true);
  if (!parser.is_done() && wire.parse(parser, sink, [&] { return parser.is_done(); }) != Came::kWhole)
    return false;
  if (!refused) {
    if (request.size) PAWL_CHECK(sink.body.size() == *request.size);
    request.call.body = sink.body;
    const auto api = journals.find(request.key);
    PAWL_CHECK(api);
    answers.push_back(answer(**api, request.call));
  }
  return parser.keep_alive();
}

// Taken back in the end: an input means the same whatever came before it.
std::vector<int> converse(Journals& journals, std::string_view bytes, std::size_t piece) {
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
  static Journals& journals = *(*Journals::open(spec())).release();  // it outlives all that it uses
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = converse(journals, bytes, std::max<std::size_t>(size, 1));
  const auto in_pieces = converse(journals, bytes, kSmallPiece);
  // Earlier inputs use up the bytes that a step may log in its life, and nothing gives them back.
  const bool used_up = std::ranges::find(in_pieces, 429) != in_pieces.end();
  PAWL_CHECK(whole == in_pieces || used_up);
  return 0;
}
