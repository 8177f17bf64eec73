// What a file of this folder gives: NAME.cc defines `pawl::gates::signals::NAME`, and that is all there is to
// add for another kind. CMakeLists.txt lists the files: those of this folder are kinds that a gate can
// require, those of attempt/ are about the whole attempt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates::signals {

struct Kind {
  std::string_view evidence;    // what a step of the gate must give: a family of reports, "trace", or ""
  std::vector<Detail> details;  // all that its signals can say
  // `base`: what on_base() said of base; null when it was not asked. Null for a kind of the whole attempt.
  Signal (*judge)(const GateFacts& facts, const Inventory* base) = nullptr;
  // What base has and the gate is compared with; null when the kind compares nothing.
  Inventory (*on_base)(const std::vector<StepFacts>& steps) = nullptr;
};

using GetKind = const Kind&();

}  // namespace pawl::gates::signals
