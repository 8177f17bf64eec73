// How a program says that it does not take its own command line.
#pragma once

#include <string>
#include <string_view>

namespace pawl::gates {

// The line of `output` that says so, at most 200 bytes of it: "error: unknown option '--x'", or one that begins the
// text of its help. Only the first lines count, because a program that has begun its work prints something else before.
// "": there is none.
std::string refused_command_line(std::string_view output);

}  // namespace pawl::gates
