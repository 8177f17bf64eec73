// Codex: `codex exec --json`, a line for each event; the one that ends a turn has what the turn used, without
// the model's name and without money. A recorded one: github.com/openai/codex/issues/5276.
#include <algorithm>

#include "agent/printed.h"
#include "agent/usage_reader.h"

namespace pawl::agent {

std::vector<Usage> codex(std::string_view printed, const std::string& model) {
  std::vector<Usage> out;
  for (const auto& event : printed_objects(printed, "\"turn.completed\"")) {
    const auto used = event.object("usage");
    if (event.text("type") != "turn.completed" || !used) continue;
    const std::int64_t cached = used->count("cached_input_tokens");  // among the input
    out.push_back({.model = model.empty() ? "codex" : model,
                   .input_tokens = std::max<std::int64_t>(used->count("input_tokens") - cached, 0),
                   .output_tokens = used->count("output_tokens"),
                   .cached_tokens = cached});
  }
  return out;
}

}  // namespace pawl::agent
