// The interface of a file of this folder: NAME.cc defines `pawl::gates::signals::NAME`. CMakeLists.txt
// collects the files. A kind also needs its rows in docs/signals.md and docs/plan.schema.json
// (docs/extending.md). A gate can require the kinds of this folder; those of attempt/ describe the whole
// attempt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates::signals {

struct Kind {
  // Evidence that a step of the gate must provide: a family of reports, "trace", "policy" or "".
  std::string_view evidence;
  std::vector<Detail> details;  // all keys that its signals can have
  // Makes the signal. `base`: the result of on_base(); null when none was taken. Null for kinds of attempt/.
  Signal (*judge)(const GateFacts& facts, const Inventory* base) = nullptr;
  // The names that base has for this kind, to compare the work with. Null when the kind does not compare with
  // base.
  Inventory (*on_base)(const std::vector<StepFacts>& steps) = nullptr;
};

using GetKind = const Kind&();

}  // namespace pawl::gates::signals
