// The end of an agent's output, in which words of a refusal are looked for. The first byte of an input is the
// exit code.
#include <cstdint>
#include <string_view>

#include "agent/refusal.h"
#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pawl::agent;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const EndTime ended{.at = {1'795'874'400'000'000}, .utc_offset_seconds = 3600};
  constexpr pawl::WallTime kAfter{4'102'531'200'000'000};  // a day in 2100
  for (const auto* program : {"claude_code", "codex", "gemini_cli", "acp", "opencode", "pi", "qwen_code"}) {
    const auto& signs = *refusal_signs(program);
    const auto found = refusal_in(signs, data[0], text, ended);
    if (!found) continue;
    PAWL_CHECK(data[0] != 0 || signs.may_end_with_0);
    PAWL_CHECK(found->line.size() <= kRefusalLineBytesMax);
    PAWL_CHECK(!found->reset || (found->reset->at.micros >= 0 && found->reset->at < kAfter));
  }
  return 0;
}
