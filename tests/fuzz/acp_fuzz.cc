// Messages of an agent, to the client of the Agent Client Protocol. The first byte of an input says whether there was
// a session before, whether a person answers, and in which pieces the rest arrives.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "agent/acp/client.h"
#include "agent/usage_reader.h"
#include "base/error.h"
#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pawl::agent;
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  acp::Client client({.prompt = "goal",
                      .folder = "/workspace",
                      .before = {.id = (data[0] & 1U) != 0 ? "s" : ""},
                      .asks_person = (data[0] & 2U) != 0});
  std::string sent, lines;
  while (!text.empty()) {
    const auto piece = text.substr(0, 1 + data[0]);
    text.remove_prefix(piece.size());
    client.hear(piece);
    for (const auto& question : client.take_questions()) {
      PAWL_CHECK(!question.choices.empty() && question.text.size() <= 8192);  // what the API takes
      if (data[0] % 3 == 0) client.answer(question.key, question.choices.back());
      if (data[0] % 3 == 1) client.reject(question.key, "why");
    }
    sent += client.take_messages();
    lines += client.take_lines();
  }
  client.cancel();
  client.hear_end();
  sent += client.take_messages();
  lines += client.take_lines();
  PAWL_CHECK(client.ended());
  while (!sent.empty()) {
    const auto end = sent.find('\n');
    PAWL_CHECK(end != std::string::npos && pawl::Json::accept(sent.substr(0, end)));
    sent.erase(0, end + 1);
  }
  PAWL_CHECK(lines.ends_with('\n') && lines.size() <= acp::kLinesBytesMax + 2 * acp::kMessageBytesMax);
  const std::string last = client.last_line();
  PAWL_CHECK(pawl::Json::accept(last) && std::ranges::count(last, '\n') == 1);
  static_cast<void>(usage_reader("acp")(last, "model"));
  return 0;
}
