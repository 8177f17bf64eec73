// Files of JavaScript that only set variables of the environment. Pure. A detail of this folder.
#pragma once

#include <string_view>

namespace pawl::gates {

// Whether each line of a file is a comment or sets a variable of the environment to a text. A variable that steers a
// runner does not count.
bool only_sets_variables(std::string_view script);

}  // namespace pawl::gates
