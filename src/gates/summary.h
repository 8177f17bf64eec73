// What failed, in words: for people and for the next agent. A detail of this room.
#pragma once

#include <string>

#include "gates/gates.h"

namespace pawl::gates {

// What failed first; then as much of the end of the output as fits. At most kSummaryBytesMax bytes of UTF-8.
std::string summary_of(const AttemptFacts& facts);

}  // namespace pawl::gates
