// Tests that the text of a file declares. No report names the tests of a file that base could not load, so
// only its text shows whether an attempt removed one of them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/policy.h"

namespace pawl::gates {

// The declared tests, sorted. JavaScript: names in calls of test(), it() and specify(). Python: functions
// test*. Go: functions Test* and Fuzz*. Java and Kotlin: methods with a test annotation. Tests in comments
// and tests that their own call skips (it.skip, xit, test.todo) do not count. The file's extension gives the
// language; other languages give no names.
std::vector<std::string> declared_tests(std::string_view path, std::string_view text);

// Whether the changed file lacks a test that it declared, or has more marks that skip tests than before
// (describe.skip, {skip: true}, pytest.mark.skip, t.Skip, @Disabled). A removed or empty file lacks all of
// its tests. REQUIRES: the content was read; otherwise the result is false.
bool lost_tests(const FileChange& change);

}  // namespace pawl::gates
