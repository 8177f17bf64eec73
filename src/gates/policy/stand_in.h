// New files that a loader finds before a file of the project: before a protected file of the same module, or before a
// module of the source. Pure. A detail of this folder.
#pragma once

#include <string>

#include "base/policy.h"
#include "gates/policy/shadowing.h"

namespace pawl::gates {

// How `change` replaces such a file, in words; "" when it does not.
std::string stands_in_for_own(const FileChange& change, const Shadows& shadows);

}  // namespace pawl::gates
