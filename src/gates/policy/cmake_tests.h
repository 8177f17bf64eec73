// The tests of a file of CMake: their commands, the sources of their programs, and their properties. Pure. A detail of
// this folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace pawl::gates {

// Why the tests that `before` adds check less by `after`, in words; "" when they do not. `stays`: whether base and the
// work have a file at a path from the folder of the file.
std::string weakened_cmake_tests(std::string_view before, std::string_view after,
                                 const std::function<bool(const std::string& path)>& stays);

// `after` without the properties of tests that it adds surely itself, and `before` does not name. Properties of
// another file's tests stay.
std::string without_new_properties(std::string_view before, std::string_view after);

}  // namespace pawl::gates
