// The right sides of `||` in a script of a shell: the commands that run when a program fails.
#pragma once

#include <string_view>
#include <vector>

namespace pawl::gates {

// Whether the right side of some `||` may end with 0, or runs another program in place of the left side. False for
// "tox || exit 1" and "tox >log || { cat log; exit 1; }": these only end the script.
bool has_fallback(std::string_view script);

// The commands whose failure ends the script by such a right side: "tox -q" for "tox -q || exit 1".
std::vector<std::string_view> commands_it_ends_by(std::string_view script);

}  // namespace pawl::gates
