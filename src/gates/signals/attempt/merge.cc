// Phases that ran at once changed the same paths, or were judged together: the later one starts again from
// what the earlier ones made.
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& merge() {
  static const Kind kind = {
      .evidence = "",
      .details = {{"overlaps_phase", Detail::Type::kText},
                  {"paths", Detail::Type::kText},
                  {"judged_with", Detail::Type::kText},
                  {"problem", Detail::Type::kText}},
  };
  return kind;
}

}  // namespace pawl::gates::signals
