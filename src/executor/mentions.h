// Finds the files of the plan's folder that a text names. A detail of this room.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::executor {

// Patterns of the files that the text names below /plan: "check.sh" for "sh /plan/check.sh". A part that only
// a shell can expand becomes "*", which alone names no file. A folder stands for all files in it.
std::vector<std::string> patterns_in(std::string_view text);

// The files of `folder` that `texts` name. With `also_inside`, the named files may name more files: by /plan/... or
// by a word that is the name of a file there. A file that came with a folder names others by /plan/... only, unless
// the folder is a package of Python or Node. Returns relative paths, each in one spelling. kExhausted: more than
// 20,000 files.
Result<std::set<std::string>> mentioned(const std::string& folder, const std::vector<std::string>& texts,
                                        bool also_inside);

}  // namespace pawl::executor
