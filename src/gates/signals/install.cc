// The dependencies of the work can be installed: the deciding steps held (step_held() in gates.h).
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& install() {
  static const Kind kind = {
      .evidence = "",
      .details = with_exit({}),
      .judge = [](const GateFacts& facts, const Inventory*) { return exit_signal(facts, "install"); },
  };
  return kind;
}

}  // namespace pawl::gates::signals
