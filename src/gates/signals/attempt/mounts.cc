// Files or folders that the host shows every step changed between two steps.
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& mounts() {
  static const Kind kind = {
      .evidence = "",
      .details = {{"changed", Detail::Type::kText}, {"problem", Detail::Type::kText}},
  };
  return kind;
}

}  // namespace pawl::gates::signals
