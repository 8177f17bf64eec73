// Writes `mounts` as a plan has them.
#pragma once

#include <string>
#include <vector>

namespace pawl::plan {

// "mounts: [{src: /opt/tool}, {src: ~/bin}]"; "" without sources. A path is in quotes where YAML could read it
// in another way. Invalid UTF-8 is replaced, since no plan can have it.
std::string mounts_text(const std::vector<std::string>& sources);

}  // namespace pawl::plan
