// Trees in a source that were built where it lies, and say so in absolute paths: in a sandbox it lies
// elsewhere.
#pragma once

#include <string>
#include <vector>

namespace pawl::workspace {

// Virtual environments, build trees and the like in the folder `source`, relative, sorted: those of which a
// file names the folder. Looks a few folders deep, and never through links.
std::vector<std::string> built_elsewhere(const std::string& source);

}  // namespace pawl::workspace
