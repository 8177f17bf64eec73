// Mocha's own settings that choose its tests, or load a file of the work before them. Pure. A detail of this folder.
#pragma once

#include <string>

#include "base/policy.h"
#include "gates/policy/shadowing.h"

namespace pawl::gates {

// The first such setting that `change` adds to .mocharc.* or package.json, in words; "" when it adds none.
std::string mocha_setting(const FileChange& change, const Shadows& shadows);

}  // namespace pawl::gates
