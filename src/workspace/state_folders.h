// State folders in a source. They have keys and the results of other runs, and no base has them.
#pragma once

#include <string>
#include <vector>

#include "workspace/workspace.h"

namespace pawl::workspace {

// The state folders below the folder `root` that a snapshot of it leaves out because of their content; relative,
// sorted. State folders named .pawl are not among them. Reads no file's status, and never follows links.
std::vector<std::string> state_folders_in(const std::string& root, const Without& without);

}  // namespace pawl::workspace
