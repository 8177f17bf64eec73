// Files of tests, by the folders and names that runners look for. A detail of this room.
#pragma once

#include <array>
#include <string_view>

namespace pawl::gates {

inline constexpr std::array<std::string_view, 5> kTestFolders = {"test", "tests", "testing", "spec", "t"};

// Whether a file at `path` is a test, or lies in a folder of tests: tests/data.json, lib/a.spec.ts, a_test.go,
// FooTest.java.
bool is_test_file(std::string_view path);

}  // namespace pawl::gates
