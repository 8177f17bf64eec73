// opencode: `opencode run --format json`, one line per event. The event that ends a step has the tokens of this
// step and what it cost, without the model's name. A cost of 0 is what opencode says of a model whose price it
// does not know.
#include "agent/printed.h"
#include "agent/usage_reader.h"
#include "base/money.h"

namespace pawl::agent {

std::vector<Usage> opencode(std::string_view printed, const std::string& model) {
  std::vector<Usage> out;
  for (const auto& event : printed_objects(printed, {"\"step_finish\""}, kLinesMax)) {
    const auto step = event.object("part");
    const auto tokens = step ? step->object("tokens") : std::nullopt;
    if (event.text("type") != "step_finish" || !tokens) continue;
    const auto cache = tokens->object("cache");
    auto cost = step->usd_micros("cost");
    if (cost == 0) cost.reset();
    add_usage(out,
              {.model = model.empty() ? "opencode" : model,
               .input_tokens = sum_at_most_max(tokens->count("input"), cache ? cache->count("write") : 0),
               .output_tokens = sum_at_most_max(tokens->count("output"), tokens->count("reasoning")),
               .cached_tokens = cache ? cache->count("read") : 0,
               .usd_micros = cost});
  }
  return out;
}

}  // namespace pawl::agent
