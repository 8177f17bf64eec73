// Gemini CLI: `gemini -p ... --output-format json`, one object on many lines. stats.models has the usage of
// each model (geminicli.com/docs/cli/headless), without money.
#include <iterator>

#include "agent/printed.h"
#include "agent/usage_reader.h"

namespace pawl::agent {

std::vector<Usage> gemini_cli(std::string_view printed, const std::string& /*model*/) {
  std::vector<Usage> out;
  for (const auto& answer : printed_objects(printed, {"\"stats\""}))
    if (const auto stats = answer.object("stats"))
      std::ranges::move(usage_by_model(*stats), std::back_inserter(out));
  return out;
}

}  // namespace pawl::agent
