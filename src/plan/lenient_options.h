// Options of build tools, test runners and scanners with which they exit with 0 although something failed, or
// nothing ran. Pure. A detail of this room.
#pragma once

#include <string>
#include <vector>

namespace pawl::plan {

// One sentence on the first such option of a command; "" for a command that has none. `words`: without
// quotes, the program first or behind one that starts it (env, timeout, npx, python3 -m).
std::string leniency_of(const std::vector<std::string>& words);

}  // namespace pawl::plan
