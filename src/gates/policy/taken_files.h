// The choice of base's files that Jest, Vitest and AVA take for tests, by their settings. Pure. A detail of this folder.
#pragma once

#include <string>

#include "base/policy.h"
#include "gates/policy/shadowing.h"

namespace pawl::gates {

// Whether a file at this path has such settings; then its content has to be read.
bool may_choose_files(std::string_view path);

// How `change` leaves files of base out of the tests, in words; "" when each file that the settings of before take is
// taken, and when that can't be known.
std::string left_out_files(const FileChange& change, const Shadows& shadows);

}  // namespace pawl::gates
