// A step of a gate that did not hold, and that no required signal names.
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& step() {
  static const Kind kind = {
      .evidence = "",
      .details = with_exit({}),
  };
  return kind;
}

}  // namespace pawl::gates::signals
