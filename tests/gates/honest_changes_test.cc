// Changes of what a gate runs that leave its tests what they were. Beside each stands a change that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "gates/policy/shadowing.h"
#include "plan/script.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;
using Files = std::map<std::string, std::string>;

struct Work {
  std::string command;
  Files base, changed;  // a file that is gone has no text
  std::set<std::string> protected_files = {};
};

// The findings on the work's changes.
std::string words_of(const Work& of) {
  auto work = of.base;
  for (const auto& [path, text] : of.changed)
    if (text.empty() && of.base.contains(path))
      work.erase(path);
    else
      work[path] = text;
  Shadows shadows{.was_there = [&](const std::string& path) { return of.base.contains(path); },
                  .is_protected = [&](const std::string& path) { return of.protected_files.contains(path); },
                  .is_there = [&](const std::string& path) { return work.contains(path); }};
  const std::vector<std::string> argv{"sh", "-e", "-c", of.command};
  shadows.folders.add(argv);
  shadows.targets.add(argv);
  shadows.targets.hidden_failures = [](const auto& words) { return plan::hidden_failures(words); };
  shadows.targets.is_protected = shadows.is_protected;
  const auto text_in = [](const Files& files) {
    return [&files](const std::string& path) { return files.contains(path) ? files.at(path) : ""; };
  };
  shadows.targets.read_makefiles(shadows.folders.modules, text_in(of.base));
  shadows.targets.read_work(text_in(of.base), text_in(work));
  std::string out;
  for (const auto& [path, text] : of.changed) {
    FileChange change{.path = path};
    const auto version = [](const std::string& content) {
      return FileVersion{.size = static_cast<std::int64_t>(content.size()), .content = content};
    };
    if (of.base.contains(path)) change.before = version(of.base.at(path));
    if (work.contains(path)) change.after = version(work.at(path));
    std::int64_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find('\n', at), text.size());
      change.added.push_back({.number = ++number, .text = std::string_view(text).substr(at, end - at)});
      at = end + 1;
    }
    if (const auto words = shadowing(change, shadows); !words.empty()) out += path + ": " + words + "\n";
  }
  return out;
}

std::string recipe(const std::string& line, const std::string& before = "") {
  return words_of({.command = "make test",
                   .base = {{"Makefile", ".PHONY: test\ntest:\n\tpython3 -m pytest -q\n"}},
                   .changed = {{"Makefile", before + ".PHONY: test\ntest:\n\t" + line + "\n"}}});
}

TEST(HonestChanges, ARecipeMayRunPytestInAnotherWay) {
  for (const auto* line :
       {"python3 -W error -m pytest -q", "python3 -X dev -m pytest", "coverage run -m pytest -q",
        "coverage run --source calc -m pytest", "uv run python3 -m pytest", "uv run --frozen pytest",
        "poetry run pytest", "pipenv run python -m pytest", "hatch run python -m pytest",
        "stdbuf -oL python3 -m pytest", "nohup pytest",
        "find tests -name 'test_*' | sort | xargs python3 -m pytest", ".venv/bin/python -m pytest",
        "python3 -m venv .venv && .venv/bin/python3 -m pytest"})
    EXPECT_EQ(recipe(line), "") << line;
  for (const auto* line :
       {"python3 -W error fake.py", "coverage run fake.py", "uv run ./fake.sh", "poetry run fake", "uv sync",
        "stdbuf -oL ./fake", "find nothing | xargs -r python3 -m pytest", ".venv/bin/fake",
        "tools/python -m pytest"})
    EXPECT_NE(recipe(line), "") << line;
}

TEST(HonestChanges, AVariableOrACallOfMakeStandsForItsCommand) {
  EXPECT_EQ(recipe("$(PYTHON) -m pytest", "PYTHON := $(shell command -v python3)\n"), "");
  EXPECT_EQ(recipe("$(PYTHON) -m pytest", "PYTHON = $(shell which python3 || which python)\n"), "");
  EXPECT_NE(recipe("$(PYTHON) -m pytest", "PYTHON := $(shell echo ./fake)\n"), "");
  EXPECT_NE(recipe("$(PYTHON) -m pytest", "PYTHON := $(shell which ./fake)\n"), "");
  const std::string define = "define run\n\tpython3 -m pytest -q $(1)\nendef\n";
  EXPECT_EQ(recipe("$(call run,tests)", define), "");
  EXPECT_EQ(recipe("$(run)", define), "");
  for (const auto* text :
       {"define run\n\t-python3 -m pytest $(1)\nendef\n",
        "define run\n\tpython3 -m pytest $(1) || true\nendef\n", "define run\n\t./fake $(1)\nendef\n"}) {
    EXPECT_NE(recipe("$(call run,tests)", text), "") << text;
    EXPECT_NE(recipe("$(run)", text), "") << text;
  }
}

TEST(HonestChanges, WhatMakeReadsNowCounts) {
  const std::string test = "test:\n\tpython3 -m pytest\n", phony = ".PHONY: test\n";
  EXPECT_EQ(words_of({.command = "make test",
                      .base = {{"Makefile", test}},
                      .changed = {{"Makefile", phony + test}, {"test/notes", "x"}}}),
            "");
  EXPECT_NE(
      words_of({.command = "make test", .base = {{"Makefile", test}}, .changed = {{"test/notes", "x"}}}), "");
  EXPECT_EQ(words_of({.command = "make test",
                      .base = {{"Makefile", test}},
                      .changed = {{"Makefile", ""}, {"GNUmakefile", test}}}),
            "");
  EXPECT_NE(words_of({.command = "make test",
                      .base = {{"Makefile", test}},
                      .changed = {{"Makefile", ""}, {"GNUmakefile", "test:\n\ttrue\n"}}}),
            "");
  EXPECT_NE(
      words_of({.command = "make test", .base = {{"Makefile", test}}, .changed = {{"GNUmakefile", test}}}),
      "");
}

TEST(HonestChanges, AMakefileThatNoRecipeGoesToIsFree) {
  const Files docs = {{"docs/Makefile", "help:\n\t@echo x\nhtml:\n\tsphinx\n"}};
  const auto change = [&](const std::string& root) {
    return words_of({.command = "make",
                     .base = {{"Makefile", root}, {"docs/Makefile", "html:\n\tsphinx\n"}},
                     .changed = docs});
  };
  EXPECT_EQ(change("all:\n\tpython3 -m pytest\n"), "");
  EXPECT_NE(change("all:\n\t$(MAKE) -C docs\n"), "");
}

TEST(HonestChanges, AModuleOfAPackageIsFoundByThePackagesName) {
  const auto adds = [](const Files& base, const Files& changed, const std::string& command = "pytest") {
    return words_of({.command = command, .base = base, .changed = changed});
  };
  const Files package = {{"src/__init__.py", "x"}, {"app/__init__.py", "x"}};
  EXPECT_EQ(adds(package, {{"src/types.py", "x"}}), "");
  EXPECT_NE(adds({}, {{"src/types.py", "x"}}), "");
  EXPECT_NE(adds(package, {{"src/types.py", "x"}}, "PYTHONPATH=src pytest"), "");
  EXPECT_EQ(adds({}, {{"tests/unit/__init__.py", "x"}, {"tests/unit/code.py", "x"}}), "");
  EXPECT_NE(adds({}, {{"tests/unit/code.py", "x"}}), "");
  EXPECT_EQ(adds(package, {{"app/types.py", "x"}}, "python3 -m pytest -q -s app tests"), "");
  EXPECT_NE(adds(package, {{"app/types.py", "x"}}, "python3 -m unittest discover -s app"), "");
  EXPECT_EQ(adds({}, {{"tests/__pycache__/ast.cpython-311.pyc", "x"}}), "");
  EXPECT_NE(adds({{"src", "x"}}, {{"src/__init__.py", "x"}, {"src/types.py", "x"}}), "")
      << "the folder was there";
  EXPECT_NE(adds({}, {{"tests/ast.pyc", "x"}}), "") << "Python loads it without a source";
  EXPECT_EQ(adds({}, {{"lib/IO/Greeter.pm", "x"}, {"lib/Encode/Calc.pm", "x"}}, "prove -l t"), "");
  EXPECT_NE(adds({}, {{"lib/IO/Handle.pm", "x"}}, "prove -l t"), "");
  EXPECT_EQ(adds({}, {{"lib/string", "#!/bin/sh\nupper() { tr a-z A-Z; }\n"}}), "");
}

TEST(HonestChanges, ALinkIsAModuleByItsNameOnly) {
  const auto link = [](const std::string& path) {
    return shadowing({.path = path, .after = FileVersion{.is_link = true, .size = 1, .content = "x"}}, {});
  };
  EXPECT_EQ(link("tests/data/calendar.json"), "");
  EXPECT_NE(link("tests/calendar"), "");
  EXPECT_NE(link("tests/calendar.py"), "");
}

std::string script(const std::string& before, const std::string& after, const Work& of = {},
                   const std::string& name = "test", const std::string& more = "") {
  const auto json = [&](const std::string& text, const std::string& others) {
    return R"({"scripts": {")" + name + R"(": ")" + text + "\"" + others + "}}";
  };
  auto work = of;
  work.command = "npm run " + name;
  work.base["package.json"] = json(before, "");
  work.changed["package.json"] = json(after, more);
  return words_of(work);
}

TEST(HonestChanges, AProgramOfTheWorkMayMove) {
  const Work moved{.base = {{"build.js", "x"}}, .changed = {{"build.js", ""}, {"scripts/build.mjs", "x"}}};
  EXPECT_EQ(script("node build.js && jest", "node scripts/build.mjs && jest", moved), "");
  auto kept = moved;
  kept.protected_files = {"build.js"};
  EXPECT_NE(script("node build.js && jest", "node scripts/build.mjs && jest", kept), "") << "it is protected";
  EXPECT_NE(script("node build.js && jest", "node scripts/build.mjs && jest", {.base = {{"build.js", "x"}}}),
            "")
      << "it is still there";
  EXPECT_EQ(script("rimraf dist && jest", "node scripts/clean.js && jest"), "");
  EXPECT_NE(script("rimraf dist && jest", "node scripts/clean.js"), "");
  EXPECT_EQ(
      script("node test/run.js", "node test/index.js",
             {.base = {{"test/run.js", "x"}}, .changed = {{"test/run.js", ""}, {"test/index.js", "x"}}}),
      "");
  const Work gone{.base = {{"build.js", "x"}}, .changed = {{"build.js", ""}}};
  EXPECT_EQ(script("node build.js", "esbuild src", gone, "build"), "");
  EXPECT_EQ(script("node build.js", "eslint .", gone, "lint"), "");
  EXPECT_NE(script("node build.js", "eslint --version", gone, "lint"), "");
  EXPECT_NE(script("node build.js", "eslint .", gone, "test"), "");
}

TEST(HonestChanges, ScriptsThatRunTogetherCount) {
  const std::string unit = R"(, "test:unit": "jest", "test:lint": "eslint .")";
  EXPECT_EQ(script("jest", "concurrently npm:test:unit npm:test:lint", {}, "test", unit), "");
  EXPECT_EQ(script("jest", "concurrently npm:test:*", {}, "test", unit), "");
  EXPECT_NE(script("jest", "concurrently npm:test:lint", {}, "test", unit), "");
  EXPECT_NE(script("jest", "concurrently -s first npm:test:unit npm:test:lint", {}, "test", unit), "");
}

TEST(HonestChanges, APackageThatNoCommandGoesToIsFree) {
  const std::string demo = R"({"scripts": {"test": "node demo.js"}})";
  const auto change = [&](const std::string& root) {
    return words_of({.command = "npm test",
                     .base = {{"package.json", root}, {"demo/package.json", demo}},
                     .changed = {{"demo/package.json", R"({"scripts": {}})"}}});
  };
  EXPECT_EQ(change(R"({"scripts": {"test": "jest"}})"), "");
  EXPECT_NE(change(R"({"scripts": {"test": "npm --prefix x test"}})"), "");
  EXPECT_NE(change(R"({"workspaces": ["*"], "scripts": {"test": "jest"}})"), "");
}

TEST(HonestChanges, SettingsOfOtherToolsInTheSameFileAreFree) {
  const auto change = [](const std::string& command, const std::string& path, const std::string& before,
                         const std::string& after) {
    return words_of({.command = command, .base = {{path, before}}, .changed = {{path, after}}});
  };
  const std::string tox = "[testenv]\ncommands = pytest\n[testenv:a]\ncommands = flake8\n",
                    renamed = "[testenv]\ncommands = pytest\n[testenv:b]\ncommands = ruff check\n";
  EXPECT_EQ(change("pytest", "tox.ini", tox, renamed), "");
  EXPECT_NE(change("tox", "tox.ini", tox, renamed), "");
  const std::string plain = "[testenv]\ncommands =\n  pytest\n";
  EXPECT_EQ(change("tox", "tox.ini", plain, "[testenv]\ncommands =\n  - coverage erase\n  pytest\n"), "");
  EXPECT_NE(change("tox", "tox.ini", plain, "[testenv]\ncommands =\n  - coverage run -m pytest\n"), "");
  EXPECT_EQ(change("tox", "tox.ini", plain, plain + "[mypy-x.*]\nignore_errors = true\n"), "");
  EXPECT_NE(change("tox", "tox.ini", plain, plain + "ignore_errors = true\n"), "");
  const std::string toml = "[tool.hatch.envs.default.scripts]\ntest = \"pytest\"\n";
  EXPECT_EQ(change("pytest", "pyproject.toml", toml, toml + "list = \"pytest --collect-only\"\n"), "");
  EXPECT_NE(change("pytest", "pyproject.toml", toml,
                   "[tool.hatch.envs.default.scripts]\ntest = \"pytest --collect-only\"\n"),
            "");
  EXPECT_NE(change("pytest", "pyproject.toml", toml,
                   toml + "[tool.pytest.ini_options]\naddopts = \"--collect-only\"\n"),
            "");
  const std::string style = "checkstyle {\n  ignoreFailures = true\n}\n";
  EXPECT_EQ(change("pytest", "build.gradle", "x\n", "x\n" + style), "");
  EXPECT_NE(change("./gradlew check", "build.gradle", "x\n", "x\n" + style), "");
  EXPECT_NE(
      change("pytest", "build.gradle", "x\n", "/*\n" + style + "*/\ntest {\n  ignoreFailures = true\n}\n"),
      "");
  EXPECT_NE(change("pytest", "pyproject.toml", toml,
                   "[tool.pytest.ini_options]\nx = \"\"\"\n[tool.poe.tasks]\n\"\"\"\naddopts = \"--co\"\n"),
            "");
  EXPECT_NE(change("pytest", "build.gradle", "x\n", "test {\n  ignoreFailures = true\n}\n"), "");
}

}  // namespace
}  // namespace pawl::gates
