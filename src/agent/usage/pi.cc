// pi: `pi -p --mode json`, one line per event. Each message of the model has its usage and cost. The event that
// ends the agent repeats all of its messages; of an agent that was ended, only those count whose own event is
// there. A cost of 0 is what pi says of a model without a price.
#include "agent/printed.h"
#include "agent/usage_reader.h"
#include "base/money.h"

namespace pawl::agent {
namespace {

void add_message(const PrintedObject& message, const std::string& model, std::vector<Usage>& to) {
  const auto used = message.object("usage");
  if (message.text("role") != "assistant" || !used) return;
  std::string name = message.text("model");
  if (name.empty()) name = model.empty() ? "pi" : model;
  const auto cost = used->object("cost");
  auto total = cost ? cost->usd_micros("total") : std::nullopt;
  if (total == 0) total.reset();
  add_usage(to, {.model = name,
                 .input_tokens = sum_at_most_max(used->count("input"), used->count("cacheWrite")),
                 .output_tokens = used->count("output"),
                 .cached_tokens = used->count("cacheRead"),
                 .usd_micros = total});
}

}  // namespace

std::vector<Usage> pi(std::string_view printed, const std::string& model) {
  std::vector<Usage> ended, open;
  for (const auto& event : printed_objects(printed, {"\"message_end\"", "\"agent_end\""}, kLinesMax)) {
    const std::string type = event.text("type");
    if (type == "message_end")
      if (const auto message = event.object("message")) add_message(*message, model, open);
    if (type != "agent_end") continue;
    open.clear();
    for (const auto& message : event.objects("messages")) add_message(message, model, ended);
  }
  for (const auto& used : open) add_usage(ended, used);
  return ended;
}

}  // namespace pawl::agent
