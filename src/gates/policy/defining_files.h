// The files of the source that define which programs a gate's commands run: Makefiles and their included files,
// package.json, CMakeLists.txt, Cargo.toml, and settings of test runners. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gates/policy/makefile.h"

namespace pawl::gates {

struct DefiningFile {
  std::string path;          // from the root of the source
  std::string_view program;  // which reads it
};

// The defining files for `commands`, each a list of words. `text_of`: the text that the source has at a path, ""
// without a file. Files that a recipe or a script goes to are left out.
std::vector<DefiningFile> defining_files(const std::vector<std::vector<std::string>>& commands,
                                         const TextAt& text_of);

}  // namespace pawl::gates
