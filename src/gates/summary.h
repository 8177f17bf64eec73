// The failures of an attempt as text, for people and for the next agent. A detail of this room.
#pragma once

#include <string>

#include "gates/gates.h"

namespace pawl::gates {

// The failing signals, then the failing tests with their messages, first the tests that do not fail on base. Then the
// output of the last step that failed: its lines that report failures, and its end. At most kSummaryBytesMax bytes of
// UTF-8.
std::string summary_of(const AttemptFacts& facts);

// The words that an agent ended with: StepFacts::said_error. Otherwise, when it failed, the last line of
// its output, such as a key that it misses. When the output ends in JSON, the last line that says an error. "": there is none. One line,
// valid UTF-8.
std::string end_of_agent(const AttemptFacts& facts);

}  // namespace pawl::gates
