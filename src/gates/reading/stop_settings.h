// Options and settings by which a runner ends at a failure, also where the command itself has none: in scripts
// of package.json, recipes of Makefiles and shell scripts that it runs, and in settings files of the runners
// that these name. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gates/reading/early_stop.h"

namespace pawl::gates {

// The first one of a command (its words, or a script among them). A variable of the environment, and a
// settings file that runs code, can have others. The search has bounds, and the result says which one it reached
// first. `text_of`: the text that the workspace has at a path, "" when it has none.
StopOption stop_option_behind(const std::vector<std::string>& argv,
                              const std::function<std::string(const std::string& path)>& text_of);

// The options behind "addopts =" in a settings file of pytest. They may go on in indented lines, in a list, or in
// a string of several lines.
std::string addopts_in(std::string_view text);

}  // namespace pawl::gates
