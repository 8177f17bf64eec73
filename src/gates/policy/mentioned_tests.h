// Test files that a build file names. Pure. A detail of this folder.
#pragma once

#include <string>
#include <string_view>

#include "base/policy.h"
#include "gates/policy/shadowing.h"

namespace pawl::gates {

// Whether a file is the source of a test, by its ending and its name, or by the folder that it lies in.
bool is_test_source(std::string_view path);

// Whether a file at this path names tests one by one; then its content has to be read.
bool may_name_tests(std::string_view path);

// A test file of base that is still there, and that `change` names less often, in words; "" when there is none, and
// where the file newly finds tests by a pattern, or has others name them.
std::string unnamed_test(const FileChange& change, const Shadows& shadows);

}  // namespace pawl::gates
