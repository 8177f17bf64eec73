// What failed, so that two attempts can be compared: by the names of failing tests, else by how steps ended.
#pragma once

#include <string>
#include <string_view>

#include "gates/gates.h"

namespace pawl::gates {

// The last lines of an output without what differs from run to run though nothing else does: numbers, times,
// hexadecimal words, absolute paths outside of the workspace, colours.
std::string normalised_end(std::string_view output);

// BLAKE3 of what failed in an attempt and of the model that worked on it. Equal for two attempts that failed
// in the same way; a failing test more or less, another step, exit code or model makes it another one.
// docs/ledger-format.md says of which bytes.
std::string failure_digest(const AttemptFacts& facts);

}  // namespace pawl::gates
