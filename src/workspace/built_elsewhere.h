// Trees in a source that were built at its place, and contain absolute paths to it. In a sandbox the source
// lies at another place.
#pragma once

#include <string>
#include <vector>

namespace pawl::workspace {

// Virtual environments, build trees and the like in the folder `source` with a file that names the folder;
// relative, sorted. Looks a few folders deep, and never follows links.
std::vector<std::string> built_elsewhere(const std::string& source);

}  // namespace pawl::workspace
