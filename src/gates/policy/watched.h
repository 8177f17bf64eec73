// Files that steer a build or a test runner without being tests: a change of such a file decides which programs a
// gate runs. A detail of this room.
#pragma once

#include <string_view>

namespace pawl::gates {

// The tool that the file at `path` steers ("pytest", "npm"), or "".
std::string_view steers(std::string_view path);

// The command that a program at `path` would replace if its folder were in PATH ("node" for bin/node), or "".
std::string_view shadows(std::string_view path);

}  // namespace pawl::gates
