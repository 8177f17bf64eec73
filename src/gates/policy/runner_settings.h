// Settings by which a build tool runs another program than its own in place of a test or a compiler, or takes
// failures for success. Its file may change for many reasons, so the added lines decide. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/policy.h"

namespace pawl::gates {

// Whether a file of this path has such settings: then its lines have to be read, whatever the policy asks
// for.
bool has_runner_settings(std::string_view path);

// The first such setting that `change` adds, in words with its line; "" when there is none.
std::string runner_setting(const FileChange& change);

}  // namespace pawl::gates
