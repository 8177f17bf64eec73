// Changes with which the assertions of tests check nothing: NDEBUG, an empty assert(), Rust's debug assertions. Pure. A
// detail of this folder.
#pragma once

#include <string>
#include <string_view>

#include "base/policy.h"
#include "gates/policy/shadowing.h"

namespace pawl::gates {

// Whether a file at this path can switch assertions off for a test that it does not have; then its content has to be
// read.
bool may_switch_assertions_off(std::string_view path);

// How `change` switches assertions off outside of a release build, in words; "" when it does not, or base does.
std::string assertions_off(const FileChange& change, const Shadows& shadows);

}  // namespace pawl::gates
