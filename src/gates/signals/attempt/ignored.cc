// A part of what the agent left is named by the source's .gitignore, and is no work.
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& ignored() {
  using enum Detail::Type;
  static const Kind kind = {
      .evidence = "",
      .details = {{"entries", kInteger}, {"bytes", kInteger}, {"work", kText}},
  };
  return kind;
}

}  // namespace pawl::gates::signals
