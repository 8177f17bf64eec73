// The failure of an attempt in a form that two attempts can be compared by: the names of failing tests, and
// otherwise how steps ended.
#pragma once

#include <string>
#include <string_view>

#include "gates/gates.h"

namespace pawl::gates {

// The last lines of an output without parts that differ from run to run although the work does not: numbers,
// times, hexadecimal words, absolute paths outside the workspace, colours.
std::string normalised_end(std::string_view output);

// BLAKE3 of the failures of an attempt and of the model that worked on it. Two attempts that failed in the
// same way have the same digest. One more or one fewer failing test, another step, another exit code or
// another model gives another digest. docs/ledger-format.md defines the bytes.
std::string failure_digest(const AttemptFacts& facts);

}  // namespace pawl::gates
