// Qwen Code: `qwen -p ... --output-format json`, a list of all messages on one line. The last is of type "result",
// with the usage of its session so far: by model in `stats`, or in `usage` when it failed.
#include <algorithm>

#include "agent/printed.h"
#include "agent/usage_reader.h"

namespace pawl::agent {

std::vector<Usage> qwen_code(std::string_view printed, const std::string& model) {
  const auto result = printed_result(printed);
  if (!result) return {};
  const std::string session = result->text("session_id");
  const auto count_of = [&](const std::string& of) { return session.empty() ? "" : session + ":" + of; };
  if (const auto stats = result->object("stats"))
    if (auto used = usage_by_model(*stats); !used.empty()) {
      for (auto& usage : used) usage.id = count_of(usage.model);
      return used;
    }
  const auto used = result->object("usage");
  if (!used) return {};
  const std::int64_t cached = used->count("cache_read_input_tokens");  // part of the input tokens
  const std::string named = model.empty() ? "qwen_code" : model;
  return {{.id = count_of(named),
           .model = named,
           .input_tokens = std::max<std::int64_t>(used->count("input_tokens") - cached, 0),
           .output_tokens = used->count("output_tokens"),
           .cached_tokens = cached}};
}

}  // namespace pawl::agent
