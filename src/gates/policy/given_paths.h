// The paths that a script gives to its test runners. Pure. A detail of this folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace pawl::gates {

using HasPath = std::function<bool(const std::string& path)>;

// A path of base's tests that no runner of `after` gets, although `before` gives it to the same runner: in words; ""
// when there is none. An empty command says that the next command begins in the folder of the build file again.
std::string path_left_out(const std::vector<std::string>& before, const std::vector<std::string>& after,
                          const HasPath& in_base, const HasPath& in_work);

}  // namespace pawl::gates
