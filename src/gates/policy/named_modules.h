// Settings that have a test runner load a module of the workspace: pytest's -p, Jest's testRunner, a
// replacement of an assertion library. Pure. A detail of this folder.
#pragma once

#include <string>
#include <string_view>

#include "base/policy.h"

namespace pawl::gates {

// Whether a file at this path can have such settings.
bool may_name_modules(std::string_view path);

// The first such setting that the change adds, in words; "" when it adds none.
std::string named_module(const FileChange& change);

}  // namespace pawl::gates
