// Finds options of build tools, test runners and scanners that make them exit with 0 although something
// failed or no test ran. Pure. Internal to this room.
#pragma once

#include <string>
#include <vector>

namespace pawl::plan {

// Returns one sentence about one such option of a command, or "" when it has none. `words` are without
// quotes. The program is the first word, or stands after words that start it (env, timeout, npx, python3
// -m).
std::string leniency_of(const std::vector<std::string>& words);

}  // namespace pawl::plan
