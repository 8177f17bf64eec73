// The source's .gitignore matches a part of what the agent left; that part is not work.
#include "gates/signals/kind.h"

namespace pawl::gates::signals {

const Kind& ignored() {
  using enum Detail::Type;
  static const Kind kind = {
      .evidence = "",
      .details = {{"entries", kInteger},
                  {"bytes", kInteger},
                  {"work", kText},
                  {"lost", kInteger},
                  {"lost_names", kText}},
  };
  return kind;
}

}  // namespace pawl::gates::signals
