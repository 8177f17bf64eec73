// Agents that speak the Agent Client Protocol: the last line of Pawl's own client (agent/acp/client.h), which runs
// beside the agent and says what the agent said.
#include "agent/printed.h"
#include "agent/usage_reader.h"

namespace pawl::agent {

std::vector<Usage> acp(std::string_view printed, const std::string& model) {
  std::vector<Usage> out;
  for (const auto& end : printed_objects(printed, {"\"acp_end\""}, 1)) {
    if (end.text("type") != "acp_end") continue;
    for (const auto& used : end.objects("usage")) {
      std::string name = used.text("model");
      if (name.empty()) name = model.empty() ? "acp" : model;
      const auto cost = used.json("usd_micros", 20);
      add_usage(out, {.model = name,
                      .input_tokens = used.count("input_tokens"),
                      .output_tokens = used.count("output_tokens"),
                      .cached_tokens = used.count("cached_tokens"),
                      .usd_micros = cost ? std::optional(used.count("usd_micros")) : std::nullopt});
    }
    if (end.json("usage_is_part", 4) == "true") out.push_back(unknown_usage("", "acp"));
  }
  return out;
}

}  // namespace pawl::agent
