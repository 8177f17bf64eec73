// Pytest's own settings that choose fewer tests. Pure. A detail of this folder.
#pragma once

#include <string>

#include "base/policy.h"
#include "gates/policy/shadowing.h"

namespace pawl::gates {

// The first such setting that `change` adds to a file of pytest's settings, in words; "" when it adds none.
std::string pytest_choice(const FileChange& change, const Shadows& shadows);

}  // namespace pawl::gates
