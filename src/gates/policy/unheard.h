// Test runners of a script whose failure does not fail the script, or that run only under a condition. Pure. A detail
// of this folder.
#pragma once

#include <string>
#include <string_view>

namespace pawl::gates {

// Why a script of the shell can end with 0 although its test runner failed or was not started, in words that go
// after the script's name; "" when that is not found. Quotes are followed, functions and here-documents are not.
std::string unheard_runner(std::string_view script);

}  // namespace pawl::gates
