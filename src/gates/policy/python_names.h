// Names of modules that Python's own programs and its test runners import. A detail of this room.
#pragma once

#include <string_view>

namespace pawl::gates {

bool is_python_name(std::string_view module);

}  // namespace pawl::gates
