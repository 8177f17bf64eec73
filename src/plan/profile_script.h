// The script that starts an agent program, and the placeholders in it. Internal to this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::plan {

// The line that ends a file in the script; no file of a profile has it.
inline constexpr std::string_view kEndOfFile = "PAWL_END_OF_FILE";

// The names in braces, like "prompt" of {prompt}, in a word of a profile.
std::vector<std::string> placeholders_in(std::string_view text);

}  // namespace pawl::plan
