// Codex: `codex exec --json`, one line per event. The event that ends a turn has the usage of its thread so
// far (github.com/openai/codex/issues/17539), without the model's name and without money. So the last such
// event of each thread counts. A resumed thread also begins with its name. A recorded example:
// github.com/openai/codex/issues/5276.
#include <algorithm>
#include <utility>

#include "agent/printed.h"
#include "agent/usage_reader.h"

namespace pawl::agent {

std::vector<Usage> codex(std::string_view printed, const std::string& model) {
  std::vector<std::pair<std::string, Usage>> threads;  // in the order of their first turns
  std::string thread;                                  // "": its first line is no longer in `printed`
  for (const auto& event : printed_objects(printed, {"\"thread.started\"", "\"turn.completed\""})) {
    const std::string type = event.text("type");
    if (type == "thread.started") thread = event.text("thread_id");
    const auto used = event.object("usage");
    if (type != "turn.completed" || !used) continue;
    auto found = std::ranges::find(threads, thread, &std::pair<std::string, Usage>::first);
    if (found == threads.end()) found = threads.insert(found, {thread, {}});
    const std::int64_t cached = used->count("cached_input_tokens");  // part of the input tokens
    found->second = {.id = thread,
                     .model = model.empty() ? "codex" : model,
                     .input_tokens = std::max<std::int64_t>(used->count("input_tokens") - cached, 0),
                     .output_tokens = used->count("output_tokens"),
                     .cached_tokens = cached};
  }
  std::vector<Usage> out;
  for (auto& [name, usage] : threads) out.push_back(std::move(usage));
  return out;
}

}  // namespace pawl::agent
