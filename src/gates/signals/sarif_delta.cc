// Static analysis has no finding in the work that it does not have on base.
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& sarif_delta() {
  static const Kind kind = {
      .evidence = kAnalysisFamily,
      .details = delta_details(),
      .judge =
          [](const GateFacts& facts, const Inventory* base) {
            return delta_signal(facts, "sarif_delta", kAnalysisFamily, base);
          },
      .on_base = [](const std::vector<StepFacts>& steps) { return findings_on_base(steps, kAnalysisFamily); },
  };
  return kind;
}

}  // namespace pawl::gates::signals
