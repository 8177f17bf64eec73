// Which files of the plan's folder a text names. A detail of this room.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::executor {

// Patterns of what the text names below /plan: "check.sh" of "sh /plan/check.sh"; what only a shell knows is
// "*", which alone names nothing. A folder is meant with all that is in it.
std::vector<std::string> patterns_in(std::string_view text);

// Files of `folder` that `texts` name, and, with `also_inside`, that the named files name in turn: by
// /plan/... or as a word that is the name of a file there. Relative paths.
std::set<std::string> mentioned(const std::string& folder, const std::vector<std::string>& texts,
                                bool also_inside);

}  // namespace pawl::executor
