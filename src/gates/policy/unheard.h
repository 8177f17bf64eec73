// Test runners of a script whose failure does not fail the script, or that run only under a condition. Pure. A detail
// of this folder.
#pragma once

#include <string>
#include <string_view>

namespace pawl::gates {

// The reason why a script of the shell can end with 0 although its test runner failed or was not started. The words go
// after the script's name. "": no reason is found. Quotes are followed, functions and here-documents are not.
std::string unheard_runner(std::string_view script);

}  // namespace pawl::gates
