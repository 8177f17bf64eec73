// Qwen Code: `qwen -p ... --output-format json`, a list of all messages on one line. The last is of type "result",
// with the usage of the process: by model in `stats`, or in `usage` when it failed. The list may be longer than what
// is read, so that only its end is looked for; stream-json ends with the same object.
#include <algorithm>

#include "agent/printed.h"
#include "agent/usage_reader.h"

namespace pawl::agent {
namespace {

// Inside of a string the quotes would be escaped.
constexpr std::string_view kResult = R"({"type":"result")";

std::optional<PrintedObject> last_result(std::string_view printed) {
  const auto start = printed.rfind(kResult);
  if (start == std::string_view::npos) return std::nullopt;
  auto text = printed.substr(start);
  text = text.substr(0, text.find('\n'));
  while (text.ends_with(']') || text.ends_with('\r')) text.remove_suffix(1);
  return PrintedObject::parse(std::string(text));
}

}  // namespace

std::vector<Usage> qwen_code(std::string_view printed, const std::string& model) {
  const auto result = last_result(printed);
  if (!result) return {};
  if (const auto stats = result->object("stats"))
    if (auto used = usage_by_model(*stats); !used.empty()) return used;
  const auto used = result->object("usage");
  if (!used) return {};
  const std::int64_t cached = used->count("cache_read_input_tokens");  // part of the input tokens
  return {{.model = model.empty() ? "qwen_code" : model,
           .input_tokens = std::max<std::int64_t>(used->count("input_tokens") - cached, 0),
           .output_tokens = used->count("output_tokens"),
           .cached_tokens = cached}};
}

}  // namespace pawl::agent
