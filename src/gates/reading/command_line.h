// How a program says that it does not take its own command line.
#pragma once

#include <string>
#include <string_view>

namespace pawl::gates {

// The line of `output` with which a program refuses its command line, at most 200 bytes: "error: unknown option
// '--x'", or the first line of its help. Only the first lines count, because a program that has begun its work prints
// other lines before. "": there is no such line.
std::string refused_command_line(std::string_view output);

}  // namespace pawl::gates
