// Options, variables and words of the shell by which a recipe or a script runs its tests in vain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"
#include "gates/policy/steering.h"
#include "gates/policy/unheard.h"
#include "plan/script.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;

std::string changed(const std::string& command, const std::string& path, const std::string& before,
                    const std::string& after, const std::set<std::string>& others = {}) {
  Shadows shadows{.was_there = [&](const std::string& at) { return at == path || others.contains(at); }};
  shadows.folders.add({"sh", "-e", "-c", command});
  shadows.targets.add({"sh", "-e", "-c", command});
  shadows.targets.hidden_failures = [](const auto& words) { return plan::hidden_failures(words); };
  const auto text_in = [&](const std::string& text) {
    return [&, text](const std::string& at) -> std::string {
      return at == path ? text : others.contains(at) ? "x" : "";
    };
  };
  shadows.targets.read_makefiles(shadows.folders.modules, text_in(before));
  shadows.targets.read_work(text_in(before), text_in(after));
  const auto version = [](const std::string& text) {
    return FileVersion{.size = static_cast<std::int64_t>(text.size()), .content = text};
  };
  return shadowing({.path = path, .before = version(before), .after = version(after)}, shadows);
}

std::string makes(const std::string& line, const std::string& before = "",
                  const std::string& old = "python3 -m pytest -q") {
  const std::string head = ".PHONY: test\ntest:\n\t";
  return changed("make test", "Makefile", head + old + "\n", before + head + line + "\n");
}

std::string runs(const std::string& script, const std::string& old = "mocha") {
  const auto json = [](const std::string& text) { return R"({"scripts": {"test": ")" + text + R"("}})"; };
  return changed("npm test", "package.json", json(old), json(script));
}

TEST(Steered, ARunnerThatRunsNoTestIsNone) {
  for (const auto* option : {"--collect-only", "--co", "--fixtures", "--setup-plan", "--markers"})
    EXPECT_NE(makes(std::string("python3 -m pytest ") + option), "") << option;
  EXPECT_NE(makes("python3 -m py_compile tests/run.py", "", "python3 tests/run.py"), "");
  EXPECT_NE(makes("size t", "", "./t"), "");
}

TEST(Steered, AnOptionThatChoosesOtherTestsOrCodeIsFound) {
  for (const auto* line :
       {"python3 -m pytest -p shim.fake", "python3 -m pytest -pshim", "python3 -m pytest -c shim/x.ini",
        "python3 -m pytest -k none", "python3 -O -m pytest", "PYTHONOPTIMIZE=1 python3 -m pytest",
        "PYTEST_ADDOPTS=-pshim python3 -m pytest", "BASH_ENV=x.sh python3 -m pytest"})
    EXPECT_NE(makes(line), "") << line;
  for (const auto* line : {"python3 -m pytest -p no:cacheprovider", "python3 -m pytest -p xdist -n 4",
                           "PYTHONHASHSEED=1 python3 -m pytest -x", "PYTEST_ADDOPTS=-q python3 -m pytest"})
    EXPECT_EQ(makes(line), "") << line;
  for (const auto* line :
       {"export PYTEST_ADDOPTS := -p shim.fake\n", "test: export PYTEST_PLUGINS = shim.fake\n",
        "export BASH_ENV := env.sh\n", "export PYTHONOPTIMIZE = 1\n", "export LD_PRELOAD = ./x.so\n"})
    EXPECT_NE(makes("python3 -m pytest -q", line), "") << line;
  EXPECT_EQ(
      makes("python3 -m pytest -q", "export PYTHONPATH := src\nexport NODE_OPTIONS := --trace-warnings\n"),
      "");
  for (const auto* script :
       {"mocha --grep @smoke", "mocha --file ./pre.js", "mocha --ui ./ui.js",
        "NODE_OPTIONS=--require=./p.js mocha", "npm_config_script_shell=./fake.sh mocha"})
    EXPECT_NE(runs(script), "") << script;
  for (const auto* script :
       {"mocha --reporter dot", "NODE_OPTIONS=--experimental-vm-modules mocha", "mocha --ui tdd"})
    EXPECT_EQ(runs(script), "") << script;
  for (const auto* script : {"node --test --test-name-pattern=none", "node --test --test-only",
                             "node --test-reporter=./r.mjs --test", "node --env-file=dev.env --test"})
    EXPECT_NE(runs(script, "node --test"), "") << script;
  EXPECT_EQ(runs("node --test --test-reporter=spec", "node --test"), "");
}

TEST(Steered, AFailureOfTheTestsIsTheScripts) {
  for (const auto* script :
       {"! pytest", "[ -z \"$FULL\" ] || pytest", "if [ -n \"$FULL\" ]; then pytest; fi", "exit 0 && pytest",
        "pytest; python3 fix.py", "timeout 1 pytest; [ $? = 124 ]", "pytest | sed s/a/b/", "(pytest &); ls x",
        "while ! pytest; do break; done", "if pytest; then echo ok; fi"})
    EXPECT_NE(unheard_runner(script), "") << script;
  for (const auto* script :
       {"pytest", "cd a && pytest", "cd a; pytest", "pytest; exit $?", "pytest -k 'a; b | c'",
        "(cd a; pytest)", "set -e; pytest; ls", "set -o pipefail; pytest | tee log", "pytest 2>&1",
        "pytest && npm test", "for i in 1 2; do pytest; done", "if ! pytest; then exit 1; fi",
        "node --test | tap-spec", "./x || exit 1", "if [ -n \"$CI\" ]; then pytest -v; else pytest; fi",
        "pytest & wait $!", "pytest || pytest --lf"})
    EXPECT_EQ(unheard_runner(script), "") << script;
  EXPECT_NE(makes("! python3 -m pytest"), "");
  EXPECT_NE(makes("python3 -m pytest; python3 fix.py"), "");
  EXPECT_EQ(makes("cd x; python3 -m pytest"), "");
  EXPECT_NE(runs("mocha; node report.js"), "");
  EXPECT_NE(runs("mocha | sed -n p"), "");
  EXPECT_EQ(runs("mocha; node report.js --all", "mocha; node report.js"), "") << "base did already";
}

TEST(Steered, FlagsOfMakeAndItsShellThatRunNothing) {
  for (const auto* line :
       {".SHELLFLAGS := --version -c\n", ".SHELLFLAGS := -o noexec -c\n", ".SHELLFLAGS := -D -c\n",
        "MAKEFLAGS += $(subst x,-i,x)\n", "MAKEFLAGS := $(MAKEFLAGS)i\n"})
    EXPECT_NE(makes("python3 -m pytest -q", line), "") << line;
  for (const auto* line :
       {".SHELLFLAGS := -euo pipefail -c\n", ".SHELLFLAGS := --norc -c\n", "MAKEFLAGS += -j$(shell nproc)\n",
        "MAKEFLAGS += $(MAKEFLAGS) --no-print-directory\n"})
    EXPECT_EQ(makes("python3 -m pytest -q", line), "") << line;
}

TEST(Steered, FoldersThatTheWorkHasProgramsLookIntoCount) {
  const std::string base = "test:\n\tpytest\n";
  const auto adds = [&](const std::string& makefile, const FileChange& change) {
    Shadows shadows;
    shadows.targets.add({"make test"});
    const auto text_in = [](const std::string& text) {
      return [text](const std::string& at) { return at == "Makefile" ? text : std::string(); };
    };
    shadows.targets.read_makefiles({}, text_in(base));
    shadows.targets.read_work(text_in(base), text_in(makefile));
    add_folders_of_work(shadows);
    return shadowing(change, shadows);
  };
  const FileChange module{.path = "shim/pytest.py", .after = FileVersion()},
      program{.path = "tools/python3", .after = FileVersion{.is_executable = true}};
  EXPECT_EQ(adds(base, module), "");
  EXPECT_NE(adds("export PYTHONPATH := shim\n" + base, module), "");
  EXPECT_NE(adds("test:\n\tcd shim && pytest ../tests\n", module), "");
  EXPECT_EQ(adds(base, program), "");
  EXPECT_NE(adds("export PATH := $(CURDIR)/tools:$(PATH)\n" + base, program), "");
}

TEST(Steered, EachSpellingOfPytestsOptionsIsRead) {
  const auto adds = [](const std::string& path, const std::string& text) {
    return shadowing({.path = path, .after = FileVersion{.size = 1, .content = text}}, {});
  };
  EXPECT_THAT(adds("pytest.ini", "[pytest]\naddopts: -p hookx\n"), HasSubstr("hookx"));
  for (const auto* text : {"[tool.pytest.ini_options]\n\"addopts\" = \"-p hookx\"\n",
                           "tool = { pytest = { ini_options = { addopts = \"-p hookx\" } } }\n",
                           "tool.pytest.ini_options.addopts = \"-p hookx\"\n"})
    EXPECT_THAT(adds("pyproject.toml", text), HasSubstr("hookx")) << text;
  EXPECT_EQ(adds("pyproject.toml", "myaddopts = \"-p hookx\"\n"), "");
}

TEST(Steered, ATestOfCargoOrGoStaysInItsModule) {
  const std::string manifest = "[package]\nname = \"x\"\n";
  const auto cargo = [&](const std::string& keys, const std::set<std::string>& others = {"tests/calc.rs"}) {
    return changed("cargo test", "Cargo.toml", manifest, manifest + "[[test]]\nname = \"calc\"\n" + keys,
                   others);
  };
  for (const auto* keys :
       {"test = false\n", "path = \"src/easy.rs\"\n", "required-features = [\"slow\"]\n"}) {
    EXPECT_NE(cargo(keys), "") << keys;
    EXPECT_EQ(cargo(keys, {}), "") << keys << " of a new test";
  }
  EXPECT_EQ(cargo("harness = true\npath = \"tests/calc.rs\"\n"), "");
  const FileChange module{.path = "calc/go.mod", .after = FileVersion()};
  Shadows shadows{.was_there = [](const std::string& at) { return at == "calc"; }};
  shadows.targets.add({"go test ./..."});
  EXPECT_NE(shadowing(module, shadows), "");
  shadows.was_there = nullptr;
  EXPECT_EQ(shadowing(module, shadows), "") << "the folder is new";
}

TEST(Steered, CMakeKeepsItsTests) {
  const std::string one = "add_test(NAME a COMMAND a)\n", two = one + "add_test(NAME b COMMAND b)\n";
  EXPECT_NE(changed("cmake . && ctest", "CMakeLists.txt", two, one), "");
  EXPECT_EQ(changed("cmake . && ctest", "CMakeLists.txt", two, one + "add_subdirectory(b)\n"), "");
  EXPECT_EQ(changed("cmake . && ctest", "CMakeLists.txt", one, two), "");
}

}  // namespace
}  // namespace pawl::gates
