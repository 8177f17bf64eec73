// Phases that ran at once changed the same paths, or were judged together. The later phase starts again from
// the result of the earlier ones.
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
