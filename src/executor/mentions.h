// Which files of the plan's folder a text names. A detail of this room.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::executor {

// Patterns of what the text names below /plan: "check.sh" of "sh /plan/check.sh"; what only a shell knows is
// "*", which alone names nothing. A folder is meant with all that is in it.
std::vector<std::string> patterns_in(std::string_view text);

// Files of `folder` that `texts` name, and, with `also_inside`, that the named files name in turn: by
// /plan/... or as a word that is the name of a file there. Files that came with a folder name others by
// /plan/... only, unless the folder is a package of Python or Node. Relative paths, each in one spelling.
// More than 20,000 files are an error, kExhausted.
Result<std::set<std::string>> mentioned(const std::string& folder, const std::vector<std::string>& texts,
                                        bool also_inside);

}  // namespace pawl::executor
