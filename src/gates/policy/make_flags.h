// Variables of make by which it ignores failures or runs no command: MAKEFLAGS, SHELL, .SHELLFLAGS. Pure. A
// detail of this room.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gates/policy/makefile.h"

namespace pawl::gates {

// Whether flags have `letter`, alone or bundled, or one of the long names, which may be cut: "-i", "-ri",
// "--ignore-err".
bool has_flag(std::string_view flags, char letter, std::initializer_list<std::string_view> names);

// Whether flags of a shell have `letter`.
bool has_shell_flag(std::string_view flags, char letter);

// Adds what a variable says about commands. `line` is where it is set.
void read_setting(std::string_view name, std::string_view value, const std::string& line, MakeSettings& to);

}  // namespace pawl::gates
