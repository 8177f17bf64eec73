// Claude Code: `claude -p ... --output-format json`, or stream-json with the same last line. That is an
// object of type "result" with the usage of each model since the process began. A recorded example:
// github.com/link-assistant/hive-mind/issues/640.
#include "agent/printed.h"
#include "agent/usage_reader.h"
#include "base/money.h"

namespace pawl::agent {

std::vector<Usage> claude_code(std::string_view printed, const std::string& model) {
  std::vector<Usage> out;
  for (const auto& result : printed_objects(printed, {"\"modelUsage\""})) {
    const auto models = result.object("modelUsage");
    if (result.text("type") != "result" || !models) continue;
    models->each_object([&](const std::string& name, const PrintedObject& used) {
      // Tokens written to the cache cost as much as input, and a little more.
      out.push_back(
          {.model = name,
           .input_tokens = sum_at_most_max(used.count("inputTokens"), used.count("cacheCreationInputTokens")),
           .output_tokens = used.count("outputTokens"),
           .cached_tokens = used.count("cacheReadInputTokens"),
           .usd_micros = used.usd_micros("costUSD")});
    });
    // Its provider refused the first call: its usage is zero, and that is known.
    if (models->is_empty()) out.push_back({.model = model.empty() ? "claude_code" : model, .usd_micros = 0});
  }
  return out;
}

}  // namespace pawl::agent
