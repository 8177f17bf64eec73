// Packages of other authors that a project stores as copies: `vendor` of Go and Composer, and C's test
// frameworks.
#pragma once

#include <functional>
#include <string>

#include "base/policy.h"

namespace pawl::gates {

// How `change` touches such a copy, in words; "" when it touches no copy. `was_there`: whether a path existed before
// the change; null: no path did.
std::string vendored(const FileChange& change, const std::function<bool(const std::string& path)>& was_there);

}  // namespace pawl::gates
