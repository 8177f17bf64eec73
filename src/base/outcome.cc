#include "base/outcome.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace pawl {

namespace {
constexpr std::array<std::string_view, 7> kOutcomes = {
    "exited", "signaled", "timed_out", "oom_killed", "output_limit", "disk_limit", "setup_failed"};
}  // namespace

std::string_view name(Outcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }

Result<Outcome> outcome_from_name(std::string_view name) {
  const auto found = std::ranges::find(kOutcomes, name);
  if (found == kOutcomes.end()) return fail(ErrorKind::kCorrupt, "no such outcome: " + std::string(name));
  return static_cast<Outcome>(found - kOutcomes.begin());
}

}  // namespace pawl
