// Options and variables of a command by which a test runner loads other code, runs a part of its tests, or skips
// each check. Pure. A detail of this folder.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace pawl::gates {

// Such options of a command, or of an assignment such as "PYTEST_ADDOPTS=-p x".
std::set<std::string> steering_in(std::string_view command);

// As above for one variable; empty for a variable that no runner reads by itself.
std::set<std::string> steering_variable(std::string_view name, std::string_view value);

// Whether a plugin of pytest, or a plugin that is usually installed, has this name (-p).
bool is_installed_plugin(std::string_view name);

}  // namespace pawl::gates
