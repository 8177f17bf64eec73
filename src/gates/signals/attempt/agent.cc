// How the agent's step ended.
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& agent() {
  static const Kind kind = {
      .evidence = "",
      .details = with_refusals({{"outcome", Detail::Type::kText},
                                {"exit_code", Detail::Type::kInteger},
                                {"means", Detail::Type::kText},
                                {"withheld_names", Detail::Type::kText},
                                {"problem", Detail::Type::kText}}),
  };
  return kind;
}

}  // namespace pawl::gates::signals
