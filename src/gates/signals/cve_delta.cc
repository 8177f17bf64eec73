// Scanners find no vulnerability in the work that they do not find on base.
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& cve_delta() {
  static const Kind kind = {
      .evidence = kVulnerabilitiesFamily,
      .details = delta_details(),
      .judge =
          [](const GateFacts& facts, const Inventory* base) {
            return delta_signal(facts, "cve_delta", kVulnerabilitiesFamily, base);
          },
      .on_base =
          [](const std::vector<StepFacts>& steps) { return findings_on_base(steps, kVulnerabilitiesFamily); },
  };
  return kind;
}

}  // namespace pawl::gates::signals
