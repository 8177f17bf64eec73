#include "gates/policy/defining_files.h"

#include "gates/policy/run_targets.h"
#include "gates/policy/search_folders.h"

namespace pawl::gates {

std::vector<DefiningFile> defining_files(const std::vector<std::vector<std::string>>& commands,
                                         const TextAt& text_of) {
  RunTargets targets;
  SearchFolders folders;
  for (const auto& argv : commands) {
    targets.add(argv);
    folders.add(argv);
  }
  targets.read_makefiles(folders.modules, text_of);
  std::vector<DefiningFile> out;
  for (const auto& make : targets.makes)
    for (const auto& path : make.base.files) out.push_back({.path = path, .program = "make"});
  const auto add = [&](bool runs, std::string_view program, const std::string& name) {
    if (!runs) return;
    for (const auto& folder : targets.folders)
      if (auto path = (folder.empty() ? "" : folder + "/") + name; !text_of(path).empty())
        out.push_back({.path = std::move(path), .program = program});
  };
  add(!targets.scripts.empty(), "npm", "package.json");
  add(targets.runs_cmake, "cmake", "CMakeLists.txt");
  add(targets.programs.contains("cargo"), "cargo", "Cargo.toml");
  return out;
}

}  // namespace pawl::gates
