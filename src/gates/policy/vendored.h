// Packages of others that a project keeps as copies: Go's and Composer's `vendor`, and C's test frameworks.
#pragma once

#include <functional>
#include <string>

#include "base/policy.h"

namespace pawl::gates {

// Says in words how `change` touches such a copy; "" when it touches none. `was_there`: of a path before the
// change; empty: nothing was.
std::string vendored(const FileChange& change, const std::function<bool(const std::string& path)>& was_there);

}  // namespace pawl::gates
