// Functions by which a file of tests decides how the others of its folder run: TestMain of Go, load_tests of unittest.
// Pure. A detail of this folder.
#pragma once

#include <string>
#include <string_view>

#include "base/policy.h"

namespace pawl::gates {

// Whether a file at this path may have such functions; then its content has to be read.
bool may_have_test_entries(std::string_view path);

// How `change` ends tests of Go before they say that they failed, or chooses some of them, in words; "" when it does not.
std::string ends_go_tests(const FileChange& change);

// The function that `change` adds and that decides which tests run, in words; "" when there is none. Honest works have
// such functions, too.
std::string adds_test_entry(const FileChange& change);

}  // namespace pawl::gates
