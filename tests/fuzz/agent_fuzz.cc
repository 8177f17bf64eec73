// Requests of an agent, on an episode without sockets. An input is some requests with the byte 0x1E between
// them: `METHOD target`, header lines, an empty line, a body; each line ends with \n alone.
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "agent/api.h"
#include "base/json.h"
#include "os/file.h"

namespace {

using namespace pawl::agent;
constexpr pawl::WallTime kNow{1'780'000'000'000'000};

std::string_view take_until(std::string_view& text, char end) {
  const auto part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

std::unique_ptr<Api> make_api() {
  static char folder[] = "/dev/shm/pawl-agent-fuzz-XXXXXX";
  PAWL_CHECK(mkdtemp(folder) != nullptr);
  std::atexit([] { static_cast<void>(pawl::os::remove_tree(folder)); });
  const Context context{.key = {"run", "goal", "episode"}, .usd_micros_cap = 1'000'000, .tokens_cap = 1000};
  const auto path = episode_path(folder, context.key);
  auto episode = Journal::open(*path, Journal::Access::kReadWrite);
  PAWL_CHECK(episode);
  return std::make_unique<Api>(std::move(*episode), context, Api::Hooks{});
}

void check(const ApiResponse& answer) {
  PAWL_CHECK(answer.status >= 200 && answer.status < 600);
  PAWL_CHECK(answer.status != 503);
  if (answer.type.ends_with("json")) PAWL_CHECK(pawl::Json::accept(answer.body));
  PAWL_CHECK(std::ranges::count(answer.headers, '\n') <= 1);
}

void one_request(Api& api, std::string_view text) {
  Headers headers;
  std::string_view first = take_until(text, '\n');
  const auto method = take_until(first, ' ');
  while (!text.empty()) {
    auto line = take_until(text, '\n');
    if (line.empty()) break;
    const auto name = take_until(line, ':');
    static_cast<void>(take_header(headers, name, line));
  }
  auto route = find_route(method, first, true);
  if (!route) return check(route.error());
  const Call call{.route = std::move(*route),
                  .headers = headers,
                  .session = headers.session.value_or("own"),
                  .body = text};
  static_cast<void>(api.answer_bytes(call));
  if (call.route.verb != Verb::kSave) return check(api.handle(call, kNow));
  const auto saving = api.begin_save(call, static_cast<std::int64_t>(call.body.size()), kNow);
  if (!saving) return check(problem(saving.error()));
  if (const auto appended = (*saving)->append(call.body); !appended) return check(problem(appended.error()));
  check(api.finish_save(call, **saving, kNow));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto api = make_api();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  // Taken back in the end: an input means the same whatever came before it.
  PAWL_CHECK(api->begin_group());
  for (int i = 0; i < 20 && !text.empty(); ++i) one_request(*api, take_until(text, '\x1E'));
  api->roll_back();
  return 0;
}
