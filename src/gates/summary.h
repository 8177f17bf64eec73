// What failed, in words: for people and for the next agent. A detail of this room.
#pragma once

#include <string>

#include "gates/gates.h"

namespace pawl::gates {

// The failing signals; the failing tests with what they say, those first that base does not have as failing;
// of the output of the step that failed the lines that tell of failures, and its end. At most
// kSummaryBytesMax bytes of UTF-8.
std::string summary_of(const AttemptFacts& facts);

}  // namespace pawl::gates
