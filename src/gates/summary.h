// The failures of an attempt as text, for people and for the next agent. A detail of this room.
#pragma once

#include <string>

#include "gates/gates.h"

namespace pawl::gates {

// The failing signals, then the failing tests with their messages, first the tests that do not fail on base. Then the
// output of the last step that failed: its lines that report failures, and its end. At most kSummaryBytesMax bytes of
// UTF-8.
std::string summary_of(const AttemptFacts& facts);

// The last line of an agent that failed, such as an option that it does not know, or a key that it misses. "": it did
// not fail, or has no output. One line, valid UTF-8.
std::string last_line_of_agent(const AttemptFacts& facts);

}  // namespace pawl::gates
