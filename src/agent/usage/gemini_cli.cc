// Gemini CLI: `gemini -p ... --output-format json`, one object on many lines. stats.models has the usage of
// each model (geminicli.com/docs/cli/headless), without money.
#include <algorithm>

#include "agent/printed.h"
#include "agent/usage_reader.h"
#include "base/money.h"

namespace pawl::agent {

std::vector<Usage> gemini_cli(std::string_view printed, const std::string& /*model*/) {
  std::vector<Usage> out;
  for (const auto& answer : printed_objects(printed, {"\"stats\""})) {
    const auto stats = answer.object("stats");
    const auto models = stats ? stats->object("models") : std::nullopt;
    if (!models) continue;
    models->each_object([&](const std::string& name, const PrintedObject& model) {
      const auto tokens = model.object("tokens");
      if (!tokens) return;
      const std::int64_t cached = tokens->count("cached");  // part of the prompt
      out.push_back({.model = name,
                     .input_tokens = sum_at_most_max(
                         std::max<std::int64_t>(tokens->count("prompt") - cached, 0), tokens->count("tool")),
                     .output_tokens = sum_at_most_max(tokens->count("candidates"), tokens->count("thoughts")),
                     .cached_tokens = cached});
    });
  }
  return out;
}

}  // namespace pawl::agent
