// Runners that end at a failure: the signs of it, the inventory of base, and the tests that still count.
#include "gates/reading/early_stop.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "gates/gates.h"
#include "gates/reading/stop_settings.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

using State = Inventory::State;

struct RunnerSaid {
  std::string format, report, run, output;
};

StepFacts step_of(const RunnerSaid& said, std::int64_t exit_code) {
  StepFacts out{
      .step_name = "unit", .outcome = Outcome::kExited, .exit_code = exit_code, .declared = {"tests"}};
  take_output(said.output, out);
  out.stop_option = stop_option_in({"sh", "-e", "-c", said.run});
  MemorySource bytes(said.report);
  out.reports.push_back({.path = "r",
                         .format = said.format,
                         .family = "tests",
                         .report = read_report(said.format, bytes, testing::plain_redactor())});
  return out;
}

Inventory base_of(const RunnerSaid& said) {
  return on_base("g", {"tests"}, {step_of(said, 1)}).inventories.at("tests");
}

constexpr const char* kPytest =
    "<testsuites><testsuite name='pytest' errors='0' failures='1' tests='1'><testcase classname='t' name='a'>"
    "<failure message='no'/></testcase></testsuite></testsuites>";
constexpr const char* kPytestSays =
    "collected 3 items\n\nt.py F\n!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!\n";
constexpr const char* kGo = R"({"Action":"run","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m"}
)";
constexpr const char* kMocha = R"({"passes":[],"pending":[],"failures":[{"fullTitle":"a"}]})";
constexpr const char* kVitest =
    R"({"success":false,"testResults":[{"name":"a","status":"failed","assertionResults":[{"title":"a","status":"failed"},{"title":"b","status":"pending"}]}]})";

TEST(EarlyStop, AnOptionOfTheCommandIsFoundWithTheFailuresThatItBears) {
  const auto option = [](const std::string& run) {
    const auto found = stop_option_in({"bash", "-e", "-c", run});
    return found.word + (found.word.empty() ? "" : " " + std::to_string(found.failures));
  };
  EXPECT_EQ(option("python3 -m pytest -x --junitxml=out.xml"), "-x 1");
  EXPECT_EQ(option("pytest --maxfail=3 -q"), "--maxfail 3");
  EXPECT_EQ(option("pytest --maxfail 2"), "--maxfail 2");
  EXPECT_EQ(option("cd a && go test -json -failfast ./... >out.json"), "-failfast 1");
  EXPECT_EQ(option("npx vitest run --bail=2"), "--bail 2");
  EXPECT_EQ(option("node_modules/.bin/mocha -b"), "-b 1");
  EXPECT_EQ(option("npx jest --bail"), "--bail 1");
  EXPECT_EQ(option("python3 -m unittest --failfast"), "--failfast 1");
  for (const auto* run :
       {"pytest -xvs", "pytest -qx --junitxml=out.xml", "pytest \\\n  -x", "PYTEST_ADDOPTS=-x make test",
        "PYTEST_ADDOPTS='-q -x' make test", "pytest >log 2>&1 -x", "python3 -m py.test -lx", "pytest -xrs",
        "pytest -k 'a;b' -x", "pytest -m \"x|y\" -x", "echo don't\npytest -x"})
    EXPECT_EQ(option(run), "-x 1") << run;
  EXPECT_EQ(option("python3 -m unittest -f"), "-f 1");
  EXPECT_EQ(option("python3 -m unittest -vf tests"), "-f 1");
  EXPECT_EQ(option("GOFLAGS=-failfast go test ./..."), "-failfast 1");
  EXPECT_EQ(option("npx playwright test --max-failures=2"), "--max-failures 2");
  EXPECT_EQ(option("mvn test -Dsurefire.skipAfterFailureCount=3"), "-Dsurefire.skipAfterFailureCount 3");
  for (const auto* run : {"sh -x test.sh",
                          "pytest; sh -x test.sh",
                          "pytest && rm -rf x",
                          "python3 -m unittest\nrm -f out",
                          "pytest -k x",
                          "pytest -vs",
                          "mocha | curl -b jar",
                          "pytest && find . -exec true",
                          "set -x; go test ./...",
                          "cargo test --no-fail-fast",
                          "pytest --maxfail=0",
                          "mocha --bail=false",
                          "pytest --exitfirst-not",
                          "npm ci --bailiwick",
                          "curl -b jar x",
                          "pytest -rx",
                          "pytest -rsx",
                          "pytest -vrx",
                          "pytest -kx",
                          "mocha -Rb",
                          "python3 -m unittest -kf"})
    EXPECT_EQ(option(run), "") << run;
}

TEST(EarlyStop, InAListOfWordsOnlyAScriptHasSeveralCommands) {
  EXPECT_EQ(stop_option_in({"pytest", "t.py::t[a&b]", "-k", "a|b", "-x"}).word, "-x");
  EXPECT_EQ(stop_option_in({"sh", "-c", "pytest; sh -x t.sh"}).word, "");
}

// The option of a command in a workspace with these files: "WORD FAILURES FILE".
using Files = std::map<std::string, std::string>;
std::string behind(const std::string& run, const Files& files) {
  StopSources sources;
  sources.text_of = [&](const std::string& path) {
    const auto file = files.find(path);
    return file == files.end() ? "" : file->second;
  };
  const auto found = stop_option_behind({"bash", "-e", "-c", run}, sources);
  return found.word.empty() ? "" : found.word + " " + std::to_string(found.failures) + " " + found.file;
}

TEST(EarlyStop, NoTextMakesTheSearchLong) {
  std::string folders, options = "{\"scripts\": {\"test\": \"";
  for (int i = 0; i < 2'000; ++i)
    folders += "python3 -m pytest -I x" + std::to_string(i) + "; cd y" + std::to_string(i) + "; ";
  for (int i = 0; i < 30'000; ++i) options += "-x ";
  options += "\"}}";
  ASSERT_GT(std::min(folders.size(), options.size()), std::size_t{64} << 10) << "longer than what is read";
  std::size_t lookups = 0;
  StopSources sources;
  sources.text_of = [&](const std::string& path) {
    ++lookups;
    return path.ends_with("package.json") ? options : path.ends_with(".sh") ? folders : "";
  };
  stop_option_behind({"bash", "-c", "npm test; tox; " + folders}, sources);
  EXPECT_LE(lookups, 2'000U);
}

// Where the search for the options of a command ended.
std::string bound_of(const std::string& run, const std::function<std::string(const std::string&)>& text_of) {
  return stop_option_behind({"bash", "-e", "-c", run},
                            {.text_of = text_of, .hides_tests = {}, .runs_tests = {}})
      .not_searched;
}

TEST(EarlyStop, ASearchThatReachesABoundSaysWhich) {
  const auto no_text = [](const std::string&) { return std::string(); };
  std::string folders, paths, scripts, long_script = "pytest\n";
  for (int i = 0; i < 70; ++i) folders += "python3 -m pytest -I x" + std::to_string(i) + "; ";
  for (int i = 0; i < 600; ++i) paths += "pytest t/" + std::to_string(i) + "; ";
  for (int i = 0; i < 30; ++i) {
    scripts += "python3 -m pytest -I x" + std::to_string(i) + "; ";
    for (int k = 0; k < 3; ++k) scripts += "sh s/" + std::to_string(3 * i + k) + "; ";
  }
  while (long_script.size() < 70'000) long_script += "echo words that no runner reads\n";
  EXPECT_EQ(bound_of("pytest", no_text), "");
  EXPECT_EQ(bound_of(folders, no_text), "64 folders");
  EXPECT_EQ(bound_of(paths, no_text), "500 paths in a command");
  EXPECT_EQ(bound_of(scripts, no_text), "2000 files");
  EXPECT_EQ(bound_of("sh t", [&](const std::string& path) { return path == "t" ? long_script : ""; }),
            "the first 64 KiB of t");
  const std::string long_path = "t/" + std::string(240, 'x');
  EXPECT_EQ(bound_of("sh " + long_path,
                     [&](const std::string& path) { return path == long_path ? long_script : ""; }),
            "the first 64 KiB of " + long_path)
      << "a cut path may end inside a secret";
  EXPECT_EQ(bound_of("sh 1", [](const std::string& path) { return "sh " + path + "1\n"; }), "200 commands");
  std::string makes;
  for (int i = 0; i < 40; ++i) makes += "make -C x" + std::to_string(i) + "; ";
  const std::string comment(std::size_t{1} << 20, '#');
  std::size_t files = 0;
  EXPECT_EQ(bound_of(makes,
                     [&](const std::string&) {
                       ++files;
                       return comment;
                     }),
            "32 MiB of files");
  EXPECT_LE(files, 33U);
  std::string rules;
  for (int i = 0; i < 1'100; ++i) rules += "t" + std::to_string(i) + ":\n\tcc\n";
  EXPECT_EQ(bound_of("make", [&](const std::string& path) { return path == "Makefile" ? rules : ""; }),
            "the first rules of a Makefile");
}

TEST(EarlyStop, FoldersNearTheRootAreLookedThroughFirst) {
  std::string run;
  for (char name = 'a'; name <= 'k'; ++name) run += std::string("(cd ") + name + "; npx mocha); ";
  EXPECT_EQ(behind(run, {{"k/.mocharc.yml", "bail: true\n"}}), "bail 1 k/.mocharc.yml");
}

TEST(EarlyStop, WhatWasNotLookedThroughIsALowerBound) {
  auto step = step_of({"junit", kPytest, "pytest", ""}, 1);
  step.stop_option = {.word = {}, .failures = 0, .file = {}, .not_searched = "64 folders"};
  const auto base = on_base("g", {"tests"}, {step}).inventories.at("tests");
  EXPECT_EQ(base.state, State::kLowerBound);
  EXPECT_NE(base.reason.find("stopped at 64 folders"), std::string::npos) << base.reason;
  const Inventory known{.names = {"t::a", "t::b"}};
  const auto signal =
      evaluate({.gate_id = "g", .required = {"tests"}, .steps = {step}, .base = {{"tests", known}}}).at(0);
  EXPECT_NE(text_in(signal.details, "problem").find("stopped at 64 folders"), std::string::npos);
  EXPECT_FALSE(signal.details.contains("gone")) << "it may not have run";
  step.said_stop.words = "stopping after 1 failures";
  const auto said = on_base("g", {"tests"}, {step}).inventories.at("tests");
  EXPECT_EQ(said.reason, "unit says: stopping after 1 failures") << "then it is known";
  auto passes = step_of({"junit", "<testsuite><testcase name='x'/></testsuite>", "pytest", ""}, 0);
  passes.stop_option.not_searched = "64 folders";
  EXPECT_EQ(on_base("g", {"tests"}, {passes}).inventories.at("tests").state, State::kKnown)
      << "no failure, so no early end";
}

TEST(EarlyStop, AVersionIsNoNumberOfFailures) {
  EXPECT_EQ(behind("npx jest", {{"package.json", "{\"dependencies\": {\"bail\": \"2.0.2\"}}"}}), "");
}

TEST(EarlyStop, OnlyTheRunnersOwnObjectHasItsKeys) {
  const struct {
    const char *run, *file, *text;
  } others[] = {
      {"npx jest", "package.json",
       R"({"bail": true, "dependencies": {"bail": 2}, "scripts": {"bail": "true"}})"},
      {"npx jest", "package.json", R"({"mocha": {"bail": true}, "jest": {"verbose": true}})"},
      {"npx jest", "package.json", R"({"jest": {"globals": {"bail": 1}}, "x": {"jest": {"bail": 1}}})"},
      {"npx mocha", "package.json", R"({"jest": {"bail": 1}, "nyc": {"bail": true}})"},
      {"npx ava", "package.json", R"({"ava": {"files": []}, "xo": {"failFast": true}})"},
      {"npx jest", "jest.config.js", "module.exports = {\n  reporters: [['x', { bail: 1 }]],\n};"},
      {"npx jest", "jest.config.ts", "const config: Config = {\n  globals: { a: {}, bail: 1 },\n};"},
      {"npx jest", "jest.config.js", "module.exports = { displayName: 'bail: 1' /* bail: 1 */ }; // bail: 1"},
      {"npx vitest", "vite.config.ts",
       "export default defineConfig({ build: { bail: 1 }, test: { globals: true } })"},
      {"npx vitest", "vitest.config.ts",
       "defineConfig({ plugins: [check({ bail: true })], test: { pool: { bail: 1 } } })"},
      {"npx mocha", ".mocharc.yml", "reporter-options:\n  bail: true\nno-bail: true\n"},
      {"npx mocha", ".mocharc.json", R"({"reporterOptions": {"bail": true}})"},
      {"npx playwright test", "playwright.config.ts", "export default { use: { maxFailures: 3 } };"},
  };
  for (const auto& [run, file, text] : others)
    EXPECT_EQ(behind(run, {{file, text}}), "") << file << ": " << text;
}

TEST(EarlyStop, TheRunnersOwnObjectIsFoundInAnyForm) {
  const struct {
    const char *run, *file, *text;
  } own[] = {
      {"npx jest", "package.json", R"({"files": [], "jest": {"globals": {"a": [{}]}, "bail": 1}, "x": {}})"},
      {"npx react-scripts test", "package.json", R"({"jest": {"bail": true}})"},
      {"npx jest", "jest.config.js", "const config = {\n  testRegex: /[^'\"{]x\\.js$/,\n  bail: 1,\n};"},
      {"npx jest", "jest.config.ts",
       "const config: Config = {\n  globals: {},\n  bail: true,\n};\nexport default config;"},
      {"npx jest", "jest.config.mjs",
       "export default async () => {\n  return { verbose: true, 'bail': 1 };\n};"},
      {"npx jest", "jest.config.js", "config.bail = true;"},
      {"npx vitest", "vite.config.ts",
       "export default defineConfig(({ mode }) => ({ plugins: [a()], test: { bail: 1 } }))"},
      {"npx vitest", "vite.config.ts", "defineConfig({ test: mode.CI ? { bail: 1 } : {} })"},
      {"npx mocha", ".mocharc.yaml", "# options\n---\nspec: a\n\"bail\": true\n"},
      {"npx mocha", ".mocharc.yml", "{reporter: dot, bail: true}"},
      {"npx mocha", ".mocharc.cjs", "module.exports = { bail: true, spec: ['a/**/*.js'] };"},
  };
  for (const auto& [run, file, text] : own) {
    const auto word = std::string("bail 1 ") + file;
    EXPECT_EQ(behind(run, {{file, text}}), word) << file << ": " << text;
  }
}

TEST(EarlyStop, ARecipeIsNamedByTheFileThatHasIt) {
  const std::string recipe = "test:\n\tpytest -x\n";
  for (const auto* name : {"GNUmakefile", "makefile", "Makefile"})
    EXPECT_EQ(behind("make test", {{name, recipe}}), "-x 1 " + std::string(name));
  EXPECT_EQ(behind("make test", {{"GNUmakefile", recipe}, {"Makefile", "test:\n\tpytest\n"}}),
            "-x 1 GNUmakefile");
  EXPECT_EQ(behind("make -f ci.mk test", {{"ci.mk", recipe}}), "-x 1 ci.mk");
  EXPECT_EQ(behind("make -C web test", {{"web/makefile", recipe}}), "-x 1 web/makefile");
  EXPECT_EQ(behind("make test", {{"Makefile", "include build/test.mk\n"}, {"build/test.mk", recipe}}),
            "-x 1 build/test.mk");
  EXPECT_EQ(
      behind("make test", {{"Makefile", "test: a\n\tls\ninclude a.mk\n"}, {"a.mk", "a:\n\tpytest -x\n"}}),
      "-x 1 a.mk");
}

TEST(EarlyStop, ASettingOfTheRunnerIsFoundInItsFiles) {
  const struct {
    const char *run, *file, *text, *found;
  } all[] = {
      {"pytest", "pytest.ini", "[pytest]\naddopts = -q -x\n", "-x 1"},
      {"python3 -m pytest", "setup.cfg", "[tool:pytest]\naddopts =\n    -ra\n    --maxfail=2\n[x]\n",
       "--maxfail 2"},
      {"pytest", "pyproject.toml", "[tool.pytest.ini_options]\naddopts = [\n  \"-ra\",\n  \"-x\",\n]\n",
       "-x 1"},
      {"pytest", "pyproject.toml", "addopts = \"\"\"\n-ra\n--exitfirst\n\"\"\"\n", "--exitfirst 1"},
      {"node_modules/.bin/mocha --reporter json", ".mocharc.yml", "reporter: dot\nbail: true\n", "bail 1"},
      {"npx mocha", ".mocharc.json", "{\"bail\": true}", "bail 1"},
      {"npx mocha", "package.json", "{\"mocha\": {\"bail\": true}}", "bail 1"},
      {"npx jest --json", "jest.config.js", "module.exports = {\n  bail: 2,\n};", "bail 2"},
      {"npx jest", "package.json", "{\"jest\": {\"bail\": 1}}", "bail 1"},
      {"npx vitest run", "vitest.config.ts", "export default defineConfig({ test: { bail: 1 } })", "bail 1"},
      {"npx ava", "ava.config.js", "export default { failFast: true };", "failFast 1"},
      {"npx playwright test", "playwright.config.ts", "maxFailures: 3,", "maxFailures 3"},
      {"bundle exec rspec", ".rspec", "--format doc\n--fail-fast\n", "--fail-fast 1"},
      {"rspec", "spec/spec_helper.rb", "  config.fail_fast = true\n", "fail_fast 1"},
      {"vendor/bin/phpunit", "phpunit.xml", "<phpunit stopOnFailure=\"true\">", "stopOnFailure 1"},
      {"ctest --preset ci", "CMakePresets.json", "{\"execution\": {\"stopOnFailure\": true}}",
       "stopOnFailure 1"},
      {"./gradlew test", "build.gradle.kts", "tasks.test { failFast.set(true) }", "failFast 1"},
      {"mvn test", "pom.xml", "<skipAfterFailureCount>1</skipAfterFailureCount>", "skipAfterFailureCount 1"},
  };
  for (const auto& [run, file, text, found] : all)
    EXPECT_EQ(behind(run, {{file, text}}), std::string(found) + " " + file) << file << ": " << text;
  EXPECT_EQ(behind("cd web && npx mocha", {{"web/.mocharc.yml", "bail: true\n"}}), "bail 1 web/.mocharc.yml");
}

TEST(EarlyStop, ACommandIsFollowedIntoScriptsAndMakefiles) {
  const auto package = [](const std::string& script) {
    return R"({"scripts": {"test": ")" + script + R"("}})";
  };
  EXPECT_EQ(behind("npm test", {{"package.json", package("mocha --bail")}}), "--bail 1 package.json");
  EXPECT_EQ(behind("npm test", {{"package.json", package("mocha")}, {".mocharc.json", "{\"bail\":true}"}}),
            "bail 1 .mocharc.json");
  EXPECT_EQ(behind("npm --prefix web test", {{"web/package.json", package("jest --bail=2")}}),
            "--bail 2 web/package.json");
  EXPECT_EQ(behind("yarn check",
                   {{"package.json", R"({"scripts": {"check": "yarn unit", "unit": "ava --fail-fast"}})"}}),
            "--fail-fast 1 package.json");
  EXPECT_EQ(behind("make test",
                   {{"Makefile", "GO ?= go\ntest: unit\nunit:\n\t$(GO) test -failfast -json ./... >r\n"}}),
            "-failfast 1 Makefile");
  EXPECT_EQ(behind("make", {{"Makefile", "FLAGS = -x -q\nall:\n\tpytest $(FLAGS)\n"}}), "-x 1 Makefile");
  EXPECT_EQ(behind("./test.sh", {{"test.sh", "#!/bin/sh\npytest -x\n"}}), "-x 1 test.sh");
  EXPECT_EQ(behind("scripts/test", {{"scripts/test", "#!/usr/bin/env bash\nexec go test -failfast ./...\n"}}),
            "-failfast 1 scripts/test");
  EXPECT_EQ(behind("sh ci", {{"ci", "make unit"}, {"Makefile", "unit:\n\tpytest --maxfail=1\n"}}),
            "--maxfail 1 Makefile");
  EXPECT_EQ(behind("tox -e py", {{"tox.ini", "[testenv]\ncommands =\n  pytest -x\n"}}), "-x 1 tox.ini");
  EXPECT_EQ(behind("nox", {{"noxfile.py", "session.run(\n  'pytest',\n  '-x',\n)\n"}}), "-x 1 noxfile.py");
  const std::string loop = R"({"scripts": {"a": "npm run b", "b": "npm run a"}})";
  EXPECT_EQ(behind("npm run a", {{"package.json", loop}}), "");
}

TEST(EarlyStop, ASettingThatIsOffOrOfAnotherRunnerIsNone) {
  const std::pair<const char*, Files> all[] = {
      {"pytest", {{".mocharc.yml", "bail: true\n"}, {"phpunit.xml", "stopOnFailure=\"true\""}}},
      {"npx mocha", {{".mocharc.yml", "bail: false\n# bail: true\n"}}},
      {"npx mocha", {{"package.json", R"({"dependencies": {"bail": "^2.0.0"}})"}}},
      {"npx jest", {{"jest.config.js", "// bail: 1,\n bail: 0,\n"}}},
      {"pytest", {{"pytest.ini", "[pytest]\naddopts = -q\n# -x\nmarkers =\n    x: pytest -x\n"}}},
      {"npm test", {{"package.json", R"({"scripts": {"test": "mocha", "quick": "mocha --bail"}})"}}},
      {"make test", {{"Makefile", "test:\n\tpytest\nquick:\n\tpytest -x\n"}}},
      {"./test.sh", {{"test.sh", "#!/bin/sh\n# pytest -x\npytest\n"}}},
      {"prove t/bail.t", {{"t/bail.t", "is(run('--bail'), 1);\n"}}},
      {"node --test test/bail.js", {{"test/bail.js", "#!/usr/bin/env node\nrun('--bail')\n"}}}};
  for (const auto& [run, files] : all) EXPECT_EQ(behind(run, files), "") << run;
}

TEST(EarlyStop, WhatARunnerPrintsOfItsEndIsRead) {
  EXPECT_EQ(said_stop_in(kPytestSays).words, "stopping after 1 failures");
  EXPECT_EQ(said_stop_in(kPytestSays).collected, 3);
  EXPECT_EQ(said_stop_in("!!! xdist.dsession.Interrupted: stopping after 2 failures !!!!\n").words,
            "stopping after 2 failures");
  EXPECT_EQ(said_stop_in("collected 9 items / 4 deselected / 5 selected\n").collected, 5);
  EXPECT_EQ(said_stop_in("\n\ncollected 9 items / 4 deselected / 5 selected \r").collected, 5);
  EXPECT_EQ(said_stop_in("collected 9 items\ncollected 2 items\n").collected, 0) << "of which of them?";
  for (const auto* line :
       {"Test Suites: 1 failed, 1 of 3 total", "  Testing stopped early after 1 maximum allowed failures.",
        "warning: 3/5 tests were not run due to test failure", "Bailed out after 1 failure",
        "  `--fail-fast` is on. 1 test file was not run."})
    EXPECT_NE(said_stop_in(line).words, "") << line;
  EXPECT_NE(said_stop_in("[INFO] core ............ FAILURE\n[INFO] web ............. SKIPPED\n").words, "");
  for (const auto* output : {"", "E  stopping after 1 failures", "Test Suites: 1 failed, 2 passed, 3 total",
                             "!!! Interrupted: 1 error during collection !!!", "[INFO] Tests are SKIPPED"})
    EXPECT_EQ(said_stop_in(output).words, "") << output;
}

TEST(EarlyStop, TheInventoryOfABaseThatStoppedIsALowerBoundThatSaysSo) {
  const RunnerSaid all[] = {
      {"junit", kPytest, "pytest --junitxml=r", kPytestSays},
      {"junit", kPytest, "pytest -x --junitxml=r", ""},
      {"gotest", kGo, "go test -json -failfast ./... >r", ""},
      {"mocha", kMocha, "mocha --bail --reporter json", ""},
      {"jest", kVitest, "vitest run --bail=1", ""},
      {"tap", "TAP version 13\n1..3\nnot ok 1 a\nBail out!\n", "prove", ""},
      {"ctest",
       "<Site><Testing><TestList><Test>./a</Test><Test>./b</Test></TestList><Test Status='failed'>"
       "<Name>a</Name></Test></Testing></Site>",
       "ctest --stop-on-failure -T Test", ""},
      {"cargo", "running 1 test\ntest a ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;",
       "cargo test", ""}};
  for (const auto& said : all) {
    const auto base = base_of(said);
    EXPECT_EQ(base.state, State::kLowerBound) << said.format << ": " << said.run;
    EXPECT_NE(base.reason, "") << said.format;
    const auto work =
        evaluate({.gate_id = "g",
                  .required = {"tests"},
                  .steps = {step_of({"junit", "<testsuite><testcase name='x'/></testsuite>"}, 0)},
                  .base = {{"tests", base}}});
    EXPECT_TRUE(text_in(work.at(0).details, "base").starts_with("lower bound: ")) << said.format;
  }
}

TEST(EarlyStop, ARunnerThatDidNotStopIsNoLowerBound) {
  const RunnerSaid all[] = {
      {"junit", kPytest, "pytest --junitxml=r", "collected 1 item\n\nt.py F\n"},
      {"junit", kPytest, "pytest --maxfail=2 --junitxml=r", "collected 1 item\n\nt.py F\n"},
      {"gotest", kGo, "go test -json ./... >r", ""},
      {"mocha", kMocha, "mocha --reporter json", ""},
      {"jest", kVitest, "vitest run --bail=2", ""}};
  for (const auto& said : all) EXPECT_EQ(base_of(said).state, State::kKnown) << said.run;
}

Signal against(const Inventory& base, const RunnerSaid& said, std::int64_t exit_code = 0,
               bool known_failing = false) {
  return evaluate({.gate_id = "g",
                   .required = {"tests"},
                   .steps = {step_of(said, exit_code)},
                   .base = {{"tests", base}},
                   .known_failing = known_failing})
      .at(0);
}

std::string pytest_of(int tests) {
  std::string out = "<testsuite name='pytest'>";
  for (int i = 0; i < tests; ++i)
    out += "<testcase classname='t' name='" + std::string(1, static_cast<char>('a' + i)) + "'/>";
  return out + "</testsuite>";
}

TEST(EarlyStop, ATestBehindTheStopIsMissedWhereTheReportCountsThem) {
  const auto base = base_of({"junit", kPytest, "pytest -x", kPytestSays});
  EXPECT_EQ(base.count, 3);
  EXPECT_TRUE(against(base, {"junit", pytest_of(3)}).passed);
  EXPECT_TRUE(against(base, {"junit", pytest_of(4)}).passed) << "a new one";
  const auto lost = against(base, {"junit", pytest_of(2)});
  EXPECT_FALSE(lost.passed);
  EXPECT_FALSE(lost.missing);
  EXPECT_EQ(lost.details.at("fewer"), 1);
  EXPECT_NE(text_in(lost.details, "problem").find("counts 3 tests"), std::string::npos);
  const std::pair<const char*, std::string> kCounted[] = {
      {"tap", "TAP version 13\n1..3\nnot ok 1 a\nBail out!\n"},
      {"tap", "1..3\nnot ok 1 a\n"},
      {"ctest",
       "<Site><Testing><TestList><Test>./a</Test><Test>./b</Test><Test>./c</Test></TestList><Test "
       "Status='failed'>"
       "<Name>a</Name></Test></Testing></Site>"},
      {"junit", "<testsuite tests='3' failures='1'><testcase name='a'><failure/></testcase></testsuite>"},
      {"cargo", "running 3 tests\ntest a ... FAILED\nerror: test failed, to rerun pass `--lib`\n"}};
  for (const auto& [format, report] : kCounted)
    EXPECT_EQ(base_of({format, report}).count, 3) << format << ": " << report;
  const auto unknown = base_of({"gotest", kGo, "go test -json -failfast"});
  EXPECT_EQ(unknown.count, 0) << "nobody says how many there are";
}

TEST(EarlyStop, ASettingThatEndedTheRunnerIsNamedWithItsFile) {
  auto step = step_of({"mocha", kMocha, "npm test", ""}, 1);
  step.stop_option = {.word = "bail", .failures = 1, .file = ".mocharc.yml", .not_searched = {}};
  const auto base = on_base("g", {"tests"}, {step}).inventories.at("tests");
  EXPECT_EQ(text_of(base), "lower bound: `bail` in .mocharc.yml ends the runner at a failure");
  step.stop_option.failures = 2;
  EXPECT_EQ(on_base("g", {"tests"}, {step}).inventories.at("tests").state, State::kKnown);
}

TEST(EarlyStop, AFileOfVitestWithoutItsTestsDidNotRun) {
  const std::string list =
      R"({"success":false,"testResults":[{"name":"a","status":"failed","assertionResults":[)"
      R"({"title":"a","status":"failed"}]},{"name":"b","status":"passed","assertionResults":[]}]})";
  EXPECT_EQ(base_of({"jest", list, "npm test", ""}).state, State::kLowerBound);
}

TEST(EarlyStop, AnAttemptThatStopsIsToldAndNothingBehindIsCalledGone) {
  const Inventory base{.names = {"t::a", "t::b"}};
  const auto signal = against(base, {"junit", kPytest, "pytest -x", kPytestSays}, 1);
  EXPECT_FALSE(signal.passed);
  EXPECT_FALSE(signal.details.contains("gone"));
  EXPECT_NE(text_in(signal.details, "problem").find("did not run: unit says: stopping after 1 failures"),
            std::string::npos);
}

TEST(EarlyStop, AKnownFailureThatEndsTheRunnerIsNoPass) {
  const RunnerSaid all[] = {
      {"junit", kPytest, "pytest --junitxml=r", "!!!! stopping after 1 failures !!!!\n"},
      {"gotest", kGo, "go test -json -failfast ./... >r", ""},
      {"mocha", kMocha, "mocha --bail --reporter json", ""},
      {"jest", kVitest, "vitest run --bail=1", ""}};
  for (const auto& said : all) {
    const auto signal = against(base_of(said), said, 1, true);
    EXPECT_TRUE(signal.missing) << said.run;
    EXPECT_NE(text_in(signal.details, "problem").find("the runner stopped early"), std::string::npos);
    const auto on = against(base_of(said), {said.format, said.report, "pytest", ""}, 1, true);
    EXPECT_TRUE(on.passed) << said.run << ": it went on now";
  }
}

TEST(EarlyStop, ARunnerThatLeftNoReportBecauseItStoppedIsNamed) {
  auto jest = step_of({"jest", "", "jest --bail --json --outputFile=r", ""}, 1);
  jest.reports.clear();
  const auto found = on_base("g", {"tests"}, {jest});
  EXPECT_NE(found.stop.find("`--bail` may end its runner before it writes one"), std::string::npos)
      << found.stop;
}

}  // namespace
}  // namespace pawl::gates
