// The work builds: the deciding steps held (step_held() in gates.h).
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& build() {
  static const Kind kind = {
      .evidence = "",
      .details = with_exit({}),
      .judge = [](const GateFacts& facts, const Inventory*) { return exit_signal(facts, "build"); },
  };
  return kind;
}

}  // namespace pawl::gates::signals
