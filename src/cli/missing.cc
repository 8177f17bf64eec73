#include "cli/missing.h"

#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "views/accepted.h"

namespace pawl::cli {

void report_missing(const std::vector<store::PhaseRow>& phases) {
  constexpr std::size_t kNamed = 20;
  std::size_t count = 0;
  for (const auto& phase : phases) {
    if (!views::is_missing(phase) || ++count > kNamed) continue;
    const std::string reason = visible(phase.last_failure_reason);
    tell("pawl: without the work of phase {}, which is {}{}\n", phase.phase_id, name(phase.state),
         reason.empty() ? "" : ": " + reason);
  }
  if (count > kNamed) tell("pawl: and of {} more phases\n", count - kNamed);
}

}  // namespace pawl::cli
