#include "gates/policy/defining_files.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "gates/policy/package_scripts.h"
#include "gates/policy/run_targets.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// A settings file of a runner. `word`: what a file of several tools has when it has settings of this one.
struct RunnerFile {
  std::string_view program, path, word = {};
};
// The files that src/gates/policy/watched.cc knows by pattern, where a runner looks for them by itself.
constexpr auto kSettingsOfRunners = std::to_array<RunnerFile>({{"pytest", "conftest.py"},
                                                               {"pytest", "test/conftest.py"},
                                                               {"pytest", "tests/conftest.py"},
                                                               {"pytest", "pytest.ini"},
                                                               {"pytest", ".pytest.ini"},
                                                               {"pytest", "pytest.toml"},
                                                               {"pytest", "pyproject.toml", "pytest"},
                                                               {"pytest", "setup.cfg", "[tool:pytest]"},
                                                               {"pytest", "tox.ini", "[pytest]"},
                                                               {"tox", "tox.ini"},
                                                               {"nox", "noxfile.py"},
                                                               {"jest", "jest.config.js"},
                                                               {"jest", "jest.config.cjs"},
                                                               {"jest", "jest.config.mjs"},
                                                               {"jest", "jest.config.ts"},
                                                               {"jest", "jest.config.json"},
                                                               {"vitest", "vitest.config.js"},
                                                               {"vitest", "vitest.config.mjs"},
                                                               {"vitest", "vitest.config.ts"},
                                                               {"vitest", "vitest.config.mts"},
                                                               {"vitest", "vite.config.js"},
                                                               {"vitest", "vite.config.mjs"},
                                                               {"vitest", "vite.config.ts"},
                                                               {"mocha", ".mocharc.js"},
                                                               {"mocha", ".mocharc.cjs"},
                                                               {"mocha", ".mocharc.json"},
                                                               {"mocha", ".mocharc.jsonc"},
                                                               {"mocha", ".mocharc.yml"},
                                                               {"mocha", ".mocharc.yaml"},
                                                               {"ava", "ava.config.js"},
                                                               {"ava", "ava.config.cjs"},
                                                               {"ava", "ava.config.mjs"},
                                                               {"playwright", "playwright.config.js"},
                                                               {"playwright", "playwright.config.ts"},
                                                               {"npm", ".npmrc"},
                                                               {"pnpm", ".npmrc"},
                                                               {"pnpm", ".pnpmfile.cjs"},
                                                               {"yarn", ".yarnrc.yml"},
                                                               {"prove", ".proverc"},
                                                               {"rspec", ".rspec"},
                                                               {"phpunit", "phpunit.xml"},
                                                               {"phpunit", "phpunit.xml.dist"},
                                                               {"ctest", "CTestCustom.cmake"},
                                                               {"meson", "meson.build"},
                                                               {"cargo", ".cargo/config.toml"},
                                                               {"cargo", "build.rs"},
                                                               {"go", "go.mod"},
                                                               {"go", "go.work"},
                                                               {"mvn", "pom.xml"},
                                                               {"gradle", "build.gradle"},
                                                               {"gradle", "build.gradle.kts"}});

// The programs of commands, and of the scripts and recipes that these name.
std::set<std::string, std::less<>> programs_of(const RunTargets& targets, const TextAt& text_of) {
  auto out = targets.programs;
  const auto add = [&](std::string_view text) {
    for (const auto word : words_in(text))
      if (out.size() < kTargetsMax) out.emplace(name_of(word));
  };
  if (const auto scripts = scripts_of(text_of("package.json")))
    for (const auto& name : targets.scripts)
      if (const auto script = scripts->find(name); script != scripts->end()) add(script->second);
  for (const auto& make : targets.makes)
    for (const auto& target : make.reached)
      if (const auto rule = make.base.rules.find(target); rule != make.base.rules.end())
        for (const auto& line : rule->second.recipe) add(command_of(line.text).text);
  return out;
}

}  // namespace

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
  const auto programs = programs_of(targets, text_of);
  for (const auto& file : kSettingsOfRunners)
    if (programs.contains(file.program))
      for (const auto& folder : targets.folders)
        if (auto path = (folder.empty() ? "" : folder + "/") + std::string(file.path);
            text_of(path).find(file.word) != std::string::npos && !text_of(path).empty())
          out.push_back({.path = std::move(path), .program = file.program});
  return out;
}

}  // namespace pawl::gates
