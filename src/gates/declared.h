// Tests that the text of a file declares. No report names those of a file that base could not load: its text
// is all that says whether an attempt took one of them away. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/policy.h"

namespace pawl::gates {

// Sorted: names of test() and it() in JavaScript, of functions test_* in Python, Test* in Go, and behind
// @Test in Java and Kotlin. Without those in comments, and without those whose call skips them (it.skip, xit,
// test.todo). By the file's extension; none of another language.
std::vector<std::string> declared_tests(std::string_view path, std::string_view text);

// Whether the changed file lacks a test that it declared, or has more marks than before that skip tests
// (describe.skip, {skip: true}, pytest.mark.skip, t.Skip, @Disabled). A file that is gone, or empty, lacks
// them all. REQUIRES: its content was read.
bool lost_tests(const FileChange& change);

}  // namespace pawl::gates
