// How a Makefile of the work weakens the targets that a gate runs. Pure. A detail of this folder.
#pragma once

#include <string>
#include <string_view>

#include "base/policy.h"
#include "gates/policy/run_targets.h"

namespace pawl::gates {

// Whether make reads the file at `path` for a gate: a Makefile of a folder that commands go to, a file that they
// name, or a file that such a file includes.
bool is_read_by_make(std::string_view path, const RunTargets& targets);

// How a new, changed or deleted file weakens the targets of a gate, in words; "" when it does not.
std::string weakened_make(const FileChange& change, const RunTargets& targets);

}  // namespace pawl::gates
