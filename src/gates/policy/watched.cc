#include "gates/policy/watched.h"

#include <algorithm>
#include <array>

#include "base/glob.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

struct Steering {
  std::string_view pattern;  // matches the last component; with a slash, the end of the path
  std::string_view what;
};

// Files that a tool reads without being told to, from its manual.
constexpr std::array kSteering = {
    Steering{"conftest.py", "pytest"},
    Steering{"pytest.ini", "pytest"},
    Steering{"pytest.toml", "pytest"},
    Steering{".pytest.toml", "pytest"},
    Steering{".pytest.ini", "pytest"},
    Steering{"tox.ini", "pytest and tox"},
    Steering{"noxfile.py", "nox"},
    Steering{"setup.cfg", "Python's tools"},
    Steering{"setup.py", "Python's tools"},
    Steering{"pyproject.toml", "Python's tools"},
    Steering{"sitecustomize.py", "every Python program"},
    Steering{"usercustomize.py", "every Python program"},
    Steering{"*.pth", "every Python program"},
    Steering{".coveragerc", "coverage.py"},
    Steering{"package.json", "npm"},
    Steering{".npmrc", "npm"},
    Steering{".yarnrc", "Yarn"},
    Steering{".yarnrc.yml", "Yarn"},
    Steering{".pnp.*", "Yarn"},
    Steering{".pnpmfile.cjs", "pnpm"},
    Steering{"pnpm-workspace.yaml", "pnpm"},
    Steering{"jest.config.*", "Jest"},
    Steering{"__mocks__/*", "Jest"},
    Steering{"vitest.config.*", "Vitest"},
    Steering{"vitest.workspace.*", "Vitest"},
    Steering{"vite.config.*", "Vite and Vitest"},
    Steering{".mocharc.*", "Mocha"},
    Steering{".taprc", "tap"},
    Steering{"ava.config.*", "AVA"},
    Steering{"cypress.config.*", "Cypress"},
    Steering{"jasmine.json", "Jasmine"},
    Steering{".nycrc*", "nyc"},
    Steering{".c8rc*", "c8"},
    Steering{"bunfig.toml", "Bun"},
    Steering{"deno.json*", "Deno"},
    Steering{"karma.conf.*", "Karma"},
    Steering{"playwright.config.*", "Playwright"},
    Steering{"babel.config.*", "Babel"},
    Steering{".babelrc*", "Babel"},
    Steering{"tsconfig*.json", "TypeScript"},
    Steering{"webpack.config.*", "webpack"},
    Steering{"Makefile", "make"},
    Steering{"makefile", "make"},
    Steering{"GNUmakefile", "make"},
    Steering{"*.mk", "make"},
    Steering{"*.make", "make"},
    Steering{"makefile.in", "make"},
    Steering{"GNUmakefile.in", "make"},
    Steering{"configure", "the build"},
    Steering{"configure.ac", "Autoconf"},
    Steering{"configure.in", "Autoconf"},
    Steering{"justfile", "just"},
    Steering{".justfile", "just"},
    Steering{"Justfile", "just"},
    Steering{"*.just", "just"},
    Steering{"Taskfile*.yml", "Task"},
    Steering{"Taskfile*.yaml", "Task"},
    Steering{"taskfile*.yml", "Task"},
    Steering{"taskfile*.yaml", "Task"},
    Steering{"SConstruct", "SCons"},
    Steering{"SConscript", "SCons"},
    Steering{"wscript", "Waf"},
    Steering{"build.xml", "Ant"},
    Steering{"build.sbt", "sbt"},
    Steering{"build.zig", "Zig"},
    Steering{"build.ninja", "Ninja"},
    Steering{"BUCK", "Buck"},
    Steering{"dune", "Dune"},
    Steering{"dune-project", "Dune"},
    Steering{"magefile.go", "Mage"},
    Steering{"meson_options.txt", "Meson"},
    Steering{"meson.options", "Meson"},
    Steering{"mix.exs", "Mix"},
    Steering{"project.clj", "Leiningen"},
    Steering{"xmake.lua", "xmake"},
    Steering{"premake5.lua", "Premake"},
    Steering{"stack.yaml", "Stack"},
    Steering{"*.cabal", "Cabal"},
    Steering{"Package.swift", "Swift"},
    Steering{"*.csproj", ".NET"},
    Steering{"*.runsettings", ".NET"},
    Steering{"Directory.Build.*", ".NET"},
    Steering{"gulpfile.*", "gulp"},
    Steering{"Gruntfile.*", "Grunt"},
    Steering{"turbo.json", "Turborepo"},
    Steering{"nx.json", "Nx"},
    Steering{"web-test-runner.config.*", "Web Test Runner"},
    Steering{"CMakeLists.txt", "CMake"},
    Steering{"CMakePresets.json", "CMake"},
    Steering{"CMakeUserPresets.json", "CMake"},
    Steering{"*.cmake", "CMake and CTest"},
    Steering{"meson.build", "Meson"},
    Steering{"build.rs", "cargo"},
    Steering{"Cargo.toml", "cargo"},
    Steering{"rust-toolchain*", "cargo"},
    Steering{".cargo/*", "cargo"},
    Steering{"go.mod", "go"},
    Steering{"go.work", "go"},
    Steering{"vendor/modules.txt", "go"},
    Steering{".proverc", "prove"},
    Steering{"Makefile.PL", "Perl's build"},
    Steering{"Makefile.*", "make, or what writes its files"},
    Steering{"Build.PL", "Perl's build"},
    Steering{"build.gradle*", "Gradle"},
    Steering{"settings.gradle*", "Gradle"},
    Steering{"gradle.properties", "Gradle"},
    Steering{"gradlew", "Gradle"},
    Steering{"wrapper/gradle-wrapper.*", "Gradle"},
    Steering{"pom.xml", "Maven"},
    Steering{"junit-platform.properties", "JUnit"},
    Steering{"services/org.junit.*", "JUnit"},
    Steering{"services/org.testng.*", "TestNG"},
    Steering{"testng.xml", "TestNG"},
    Steering{"mvnw", "Maven"},
    Steering{".mvn/*", "Maven"},
    Steering{"Rakefile", "rake"},
    Steering{"Rakefile.rb", "rake"},
    Steering{"rakefile", "rake"},
    Steering{"rakefile.rb", "rake"},
    Steering{"*.rake", "rake"},
    Steering{"Gemfile", "Bundler"},
    Steering{".rspec*", "RSpec"},
    Steering{"spec_helper.rb", "RSpec"},
    Steering{"rails_helper.rb", "RSpec"},
    Steering{"test_helper.rb", "Ruby's tests"},
    Steering{"phpunit.xml*", "PHPUnit"},
    Steering{"composer.json", "Composer"},
    Steering{"BUILD", "Bazel"},
    Steering{"BUILD.bazel", "Bazel"},
    Steering{"WORKSPACE", "Bazel"},
    Steering{"MODULE.bazel", "Bazel"},
    Steering{".bazelrc", "Bazel"},
    Steering{".envrc", "direnv"},
    Steering{".env", "each program that loads it"},
    Steering{".tool-versions", "version managers"},
    Steering{"mise.toml", "version managers"},
    Steering{".python-version", "version managers"},
    Steering{".node-version", "version managers"},
    Steering{".nvmrc", "version managers"},
    Steering{".ruby-version", "version managers"},
    Steering{".husky/*", "git's hooks"},
    Steering{".githooks/*", "git's hooks"},
    Steering{".pre-commit-config.yaml", "git's hooks"},
    Steering{".gitattributes", "git's filters"},
    Steering{".gitmodules", "git"},
    Steering{"Dockerfile*", "the image"},
    Steering{"Jenkinsfile", "CI"},
    Steering{".gitlab-ci.yml", "CI"},
    Steering{".travis.yml", "CI"},
};
constexpr std::array kSteeringFolders = {Steering{".github", "CI"}, Steering{".circleci", "CI"},
                                         Steering{".buildkite", "CI"}, Steering{".husky", "git's hooks"}};

constexpr std::array<std::string_view, 46> kCommands = {
    "ar",    "awk",  "bash",  "bundle", "c++",  "cargo", "cat",    "cc",     "clang",   "clang++",
    "cmake", "cpp",  "ctest", "curl",   "diff", "env",   "false",  "g++",    "gcc",     "git",
    "go",    "grep", "java",  "javac",  "ld",   "make",  "mvn",    "ninja",  "node",    "npm",
    "npx",   "perl", "pip",   "pip3",   "pnpm", "prove", "pytest", "python", "python3", "ruby",
    "rustc", "sed",  "sh",    "tox",    "true", "yarn"};

// The last component of the path. The last two for a pattern with a slash.
std::string_view end_for(std::string_view pattern, std::string_view path) {
  const auto slash = path.rfind('/');
  if (pattern.find('/') == std::string_view::npos || slash == std::string_view::npos) return name_of(path);
  return path.substr(path.substr(0, slash).rfind('/') + 1);
}

}  // namespace

std::string_view steers(std::string_view path) {
  for (const auto& each : kSteering)
    if (glob_matches(each.pattern, end_for(each.pattern, path))) return each.what;
  for (const auto& each : kSteeringFolders) {
    const std::string_view folder = each.pattern;
    if (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/')
      return each.what;
  }
  return {};
}

std::string_view shadows(std::string_view path) {
  const auto name = name_of(path);
  return std::ranges::binary_search(kCommands, name) ? name : std::string_view();
}

}  // namespace pawl::gates
