// Changes by which a gate's runner gets fewer of its tests, is asked for nothing, or is not heard. Beside each stands a
// change that takes no test away.
#include <gtest/gtest.h>

#include <map>

#include "gates/policy/shadowing.h"
#include "gates/policy/unheard.h"
#include "plan/script.h"

namespace pawl::gates {
namespace {

using Files = std::map<std::string, std::string>;

struct WorkOf {
  std::string command;
  Files base, changed;
  std::set<std::string> protected_files = {}, folders_of_new_tests = {};
};

bool has_file(const Files& files, const std::string& path) {
  return std::ranges::any_of(
      files, [&](const auto& file) { return file.first == path || file.first.starts_with(path + "/"); });
}

// The findings on the work's changes.
std::string findings_on(const WorkOf& of) {
  auto work = of.base;
  for (const auto& [path, text] : of.changed) work[path] = text;
  Shadows shadows{
      .was_there = [&](const std::string& path) { return has_file(of.base, path); },
      .is_protected = [&](const std::string& path) { return of.protected_files.contains(path); },
      .is_there = [&](const std::string& path) { return has_file(work, path); },
      .adds_tests = [&](const std::string& folder) { return of.folders_of_new_tests.contains(folder); }};
  const auto text = plan::text_of(plan::script_argv(plan::Shell::kBest, of.command));
  shadows.folders.add({text});
  shadows.targets.add({text});
  shadows.targets.hidden_failures = [](const auto& words) { return plan::hidden_failures(words); };
  shadows.targets.is_protected = shadows.is_protected;
  shadows.targets.in_base = shadows.was_there;
  shadows.targets.in_work = shadows.is_there;
  const auto text_in = [](const Files& files) {
    return [&files](const std::string& path) { return files.contains(path) ? files.at(path) : ""; };
  };
  shadows.targets.read_makefiles(shadows.folders.modules, text_in(of.base));
  shadows.targets.read_work(text_in(of.base), text_in(work));
  std::string out;
  for (const auto& [path, content] : of.changed) {
    FileChange change{.path = path};
    const auto version = [](const std::string& each) {
      return FileVersion{.size = static_cast<std::int64_t>(each.size()), .content = each};
    };
    if (of.base.contains(path)) change.before = version(of.base.at(path));
    change.after = version(content);
    std::int64_t number = 0;
    for (std::size_t at = 0; at < content.size();) {
      const auto end = std::min(content.find('\n', at), content.size());
      change.added.push_back({.number = ++number, .text = std::string_view(content).substr(at, end - at)});
      at = end + 1;
    }
    if (const auto words = shadowing(change, shadows); !words.empty()) out += path + ": " + words + "\n";
  }
  return out;
}

const Files kMochaTests = {{"test/hard.js", "x"}, {"easy/a.js", "x"}};

// The findings on a script of package.json that changes.
std::string npm_script(const std::string& before, const std::string& after, const Files& more = {},
                       const Files& base = kMochaTests, const std::string& name = "test") {
  const auto json = [&](const std::string& text) {
    return R"({"scripts": {")" + name + R"(": ")" + text + R"("}})";
  };
  WorkOf of{.command = "npm run " + name, .base = base, .changed = more};
  of.base["package.json"] = json(before);
  of.changed["package.json"] = json(after);
  return findings_on(of);
}

std::string make_recipe(const std::string& before, const std::string& after, const std::string& head = "") {
  const std::string rule = ".PHONY: test\ntest:\n\t";
  return findings_on(
      {.command = "make test",
       .base = {{"Makefile", rule + before + "\n"}, {"tests/test_a.py", "x"}, {"easy/test_b.py", "x"}},
       .changed = {{"Makefile", head + rule + after + "\n"}}});
}

TEST(ChosenTests, ARunnerGetsThePathsThatItGot) {
  for (const auto* after : {"cd easy && mocha .", "mocha easy", "mocha test/easy.js", "mocha test/easy*.js"})
    EXPECT_NE(npm_script("mocha test", after), "") << after;
  for (const auto* after : {"mocha ./test", "mocha test easy", "mocha", "mocha 'test/**/*.js'", "mocha .",
                            "mocha $FILES", "mocha --reporter dot test", "mocha test && mocha easy"})
    EXPECT_EQ(npm_script("mocha test", after), "") << after;
  EXPECT_NE(npm_script("mocha", "cd easy && mocha"), "");
  EXPECT_NE(npm_script("mocha", "mocha easy"), "");
  EXPECT_EQ(npm_script("mocha", "mocha --reporter dot"), "");
  EXPECT_EQ(npm_script("mocha old", "mocha test"), "") << "the folder is gone";
  EXPECT_NE(npm_script("mocha test/*.js", "mocha test/*.unit.js"), "");
  EXPECT_EQ(npm_script("mocha test/*.js", "mocha test/**/*.js"), "");
  EXPECT_NE(make_recipe("pytest tests", "cd easy && pytest ."), "");
  EXPECT_NE(make_recipe("pytest -q tests", "pytest -q easy"), "");
  EXPECT_NE(make_recipe("pytest tests", "pytest tests/test_a.py::test_x"), "");
  EXPECT_EQ(make_recipe("pytest tests", "pytest -q tests easy"), "");
  EXPECT_EQ(make_recipe("pytest tests", "cd easy && ls\n\tpytest tests"), "")
      << "each line has its own shell";
  EXPECT_NE(make_recipe("go test ./...", "go test ./easy"), "");
  EXPECT_EQ(make_recipe("go test ./...", "go test -race ./..."), "");
}

TEST(ChosenTests, AToolThatIsAskedForItsVersionChecksNothing) {
  for (const auto* after :
       {"eslint --version", "eslint -v", "eslint --print-config a.js", "npx eslint --help"})
    EXPECT_NE(npm_script("eslint .", after, {}, {}, "lint"), "") << after;
  for (const auto* after :
       {"eslint --version && eslint .", "eslint --fix .", "biome check .", "eslint . && prettier --check ."})
    EXPECT_EQ(npm_script("eslint .", after, {}, {}, "lint"), "") << after;
  EXPECT_NE(make_recipe("ruff check .", "ruff --version"), "");
  EXPECT_EQ(make_recipe("ruff check .", "ruff --version\n\truff check ."), "");
  EXPECT_NE(make_recipe("mypy --strict src", "mypy src"), "");
}

TEST(ChosenTests, AnOptionThatChoosesFewerTestsIsFoundForEachRunner) {
  const std::pair<const char*, const char*> kBad[] = {
      {"pytest", "pytest -m smoke"},
      {"pytest", "pytest --ignore=tests/test_a.py"},
      {"pytest", "pytest --snapshot-update"},
      {"jest", "jest --testPathIgnorePatterns hard"},
      {"jest", "jest -u"},
      {"jest", "jest --shard=1/9"},
      {"vitest run", "vitest run --exclude hard.test.ts"},
      {"go test ./...", "go test -run TestEasy ./..."},
      {"go test ./...", "go test -short ./..."},
      {"go test ./...", "GOFLAGS=-run=TestEasy go test ./..."},
      {"go test ./...", "go test -c ./..."},
      {"cargo test", "cargo test --lib"},
      {"cargo test", "cargo test -- --skip hard"},
      {"cargo test", "cargo test --no-run"},
      {"cargo test --workspace", "cargo test"},
      {"ctest", "ctest -E hard"},
      {"ctest", "ctest -N"},
      {"prove -r t", "prove t"},
      {"prove t", "prove --state=failed t"},
      {"mocha --recursive", "mocha"},
      {"make check", "make -n check"},
      {"make check", "make -f easy.mk check"},
      {"rspec", "rspec --tag fast"},
      {"./unit", "./unit --gtest_filter=Easy.*"}};
  for (const auto& [before, after] : kBad) EXPECT_NE(make_recipe(before, after), "") << after;
  const std::pair<const char*, const char*> kGood[] = {{"pytest", "pytest -x --tb=short -n 4"},
                                                       {"pytest", "pytest && pytest -m slow"},
                                                       {"jest", "jest --ci --coverage"},
                                                       {"go test ./...", "go test -race -count=1 -v ./..."},
                                                       {"cargo test", "cargo test --locked --all-features"},
                                                       {"cargo test", "cargo build -p tool && cargo test"},
                                                       {"ctest", "ctest --output-on-failure -j4"},
                                                       {"prove t", "prove -r t"},
                                                       {"make check", "make -k -j4 check"},
                                                       {"rspec", "rspec --format doc"},
                                                       {"./unit", "./unit --gtest_output=xml:out.xml"}};
  for (const auto& [before, after] : kGood) EXPECT_EQ(make_recipe(before, after), "") << after;
  EXPECT_NE(make_recipe("pytest", "pytest", "export XFAIL_TESTS = hard\n"), "");
  const auto forwards = [](const std::string& script) {
    const auto json = [](const std::string& text) {
      return R"({"scripts": {"test": ")" + text + R"(", "unit": "jest"}})";
    };
    return findings_on({.command = "npm test",
                        .base = {{"package.json", json("npm run unit")}},
                        .changed = {{"package.json", json(script)}}});
  };
  EXPECT_NE(forwards("npm run unit -- -t none"), "");
  EXPECT_EQ(forwards("npm run unit -- --ci"), "");
}

TEST(ChosenTests, AssertStaysOn) {
  const std::string rule =
      ".PHONY: test\ntest: unit\n\t./unit\nunit: unit.c\n\t$(CC) $(CFLAGS) -o unit unit.c\n";
  const auto flags = [&](const std::string& before, const std::string& after) {
    return findings_on({.command = "make test",
                        .base = {{"Makefile", before + rule}},
                        .changed = {{"Makefile", after + rule}}});
  };
  EXPECT_NE(flags("CFLAGS = -O2\n", "CFLAGS = -O2 -DNDEBUG\n"), "");
  EXPECT_NE(flags("", "CFLAGS += -DNDEBUG\n"), "");
  EXPECT_NE(flags("CFLAGS = -O2\n", "CFLAGS = -O2\nCPPFLAGS = -DNDEBUG=1\n"), "");
  EXPECT_NE(flags("", "ifndef FAST\nCFLAGS += -DNDEBUG\nendif\n"), "");
  EXPECT_EQ(flags("", "ifdef RELEASE\nCFLAGS += -DNDEBUG\nendif\n"), "");
  EXPECT_EQ(flags("", "RELEASE_FLAGS = -O3 -DNDEBUG\n"), "");
  EXPECT_EQ(flags("CFLAGS = -O2\n", "CFLAGS = -O2 -UNDEBUG -Wall\n"), "");
  EXPECT_EQ(flags("CFLAGS = -DNDEBUG\n", "CFLAGS = -O2 -DNDEBUG\n"), "") << "base has it";
  EXPECT_EQ(findings_on({.command = "make test",
                         .base = {{"Makefile", rule}},
                         .changed = {{"Makefile", rule + "release: CFLAGS += -DNDEBUG\nrelease: unit\n"}}}),
            "");
}

TEST(ChosenTests, ARunnerInASubstitutionIsHeardOnlyByAnAssignment) {
  for (const auto* text : {"echo \"$(pytest)\"", "echo $(pytest)", "echo `pytest`", "export x=$(pytest)",
                           "diff <(pytest) expected", "test -n \"$(pytest | tail -1)\"", "pytest & wait"})
    EXPECT_NE(unheard_runner(text), "") << text;
  for (const auto* text : {"x=$(pytest)", "x=\"$(pytest)\"", "echo '$(pytest)'", "pytest $(find tests)",
                           "echo \"$(date)\"; pytest", "pytest -n $((2 + 2))", "pytest & wait $!"})
    EXPECT_EQ(unheard_runner(text), "") << text;
  EXPECT_NE(make_recipe("pytest", "echo \"$$(pytest)\""), "");
  EXPECT_NE(make_recipe("pytest", "@echo \"$(shell pytest)\""), "");
  EXPECT_NE(npm_script("mocha", "echo \\\"$(mocha)\\\""), "");
}

TEST(ChosenTests, MochasSettingsLoadNothingOfTheWork) {
  const auto settings = [](const std::string& path, const std::string& text, const Files& more = {}) {
    WorkOf of{
        .command = "npx mocha", .base = kMochaTests, .changed = more, .protected_files = {"test/hard.js"}};
    of.changed[path] = text;
    return findings_on(of);
  };
  const Files skips = {{"skip.js", "exports.mochaHooks = {beforeEach() { this.skip() }}\n"}};
  for (const auto* text : {R"({"require": "./skip.js"})", R"({"require": ["ts-node/register", "./skip"]})",
                           R"({"file": ["skip.js"]})", R"({"grep": "easy"})", R"({"invert": true})",
                           R"({"spec": "easy"})", R"({"ignore": ["test/hard.js"]})",
                           R"({"node-option": ["require=./skip.js"]})", R"({"requ\u0069re": "./skip.js"})"})
    EXPECT_NE(settings(".mocharc.json", text, skips), "") << text;
  EXPECT_NE(settings(".mocharc.yml", "require:\n  - ./skip.js\n", skips), "");
  EXPECT_NE(settings("package.json", R"({"mocha": {"require": ["./skip.js"]}})", skips), "");
  for (const auto* text : {R"({"timeout": 5000, "reporter": "dot"})", R"({"require": "ts-node/register"})",
                           R"({"spec": ["test/**/*.js"]})", R"({"ignore": ["node_modules/**", "dist/**"]})",
                           R"({"file": ["test/hard.js"]})", R"({"extension": ["js", "ts"]})"})
    EXPECT_EQ(settings(".mocharc.json", text), "") << text;
  EXPECT_EQ(settings(".mocharc.yml", "recursive: true\nspec:\n  - test\n"), "");
  EXPECT_EQ(
      settings(".mocharc.json", R"({"require": "./env.js"})", {{"env.js", "process.env.TZ = 'UTC';\n"}}), "");
  EXPECT_EQ(settings("package.json", R"({"dependencies": {"require": "./x"}})"), "");
}

TEST(ChosenTests, PytestsSettingsTakeTheTestsThatTheyTook) {
  const auto settings = [](const std::string& text, const std::string& before = "[pytest]\n",
                           const std::string& path = "pytest.ini") {
    return findings_on({.command = "pytest",
                        .base = {{path, before}, {"tests/test_a.py", "x"}, {"easy/test_b.py", "x"}},
                        .changed = {{path, text}}});
  };
  for (const auto* line :
       {"addopts = -k easy", "addopts = --deselect tests/test_a.py::test_hard",
        "addopts = --ignore=tests/test_a.py", "testpaths = easy", "testpaths =\n  easy\n  other"})
    EXPECT_NE(settings("[pytest]\n" + std::string(line) + "\n"), "") << line;
  EXPECT_NE(
      settings("[tool.pytest.ini_options]\ntestpaths = [\n  \"easy\",\n]\n", "x = 1\n", "pyproject.toml"),
      "");
  for (const auto* line : {"addopts = -q -m 'not slow'", "addopts = --ignore=docs", "testpaths = tests",
                           "testpaths = tests easy", "markers = slow", "addopts = --tb=short -x"})
    EXPECT_EQ(settings("[pytest]\n" + std::string(line) + "\n"), "") << line;
  EXPECT_EQ(settings("[pytest]\naddopts = -v -k easy\n", "[pytest]\naddopts = -k easy\n"), "")
      << "base has it";
  EXPECT_EQ(settings("[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n[tool.x]\ny = 'easy'\n", "x = 1\n",
                     "pyproject.toml"),
            "");
}

TEST(ChosenTests, AFileThatOnlySetsVariablesMayBeLoaded) {
  const auto loads = [](const std::string& text) {
    return npm_script("node --test", "node --import ./env.mjs --test", {{"env.mjs", text}}, {});
  };
  EXPECT_EQ(loads("// The tests' zone.\nprocess.env.TZ = 'UTC';\nprocess.env.LOG ?\?= \"off\"\n"), "");
  for (const auto* text : {"process.env.NODE_OPTIONS = '--require=./x';\n", "process.env.PATH = '.';\n",
                           "process.env.A = f();\n", "process.env.A = 'x'; process.exit(0);\n", "",
                           "process.env.A = 'x' + require('./y') + 'z';\n"})
    EXPECT_NE(loads(text), "") << text;
}

TEST(ChosenTests, ANewScriptBeforeTheTestsMayRunAnOwnProgram) {
  const auto adds = [](const std::string& pretest, const Files& more, const Files& base = {}) {
    WorkOf of{.command = "npm test", .base = base, .changed = more};
    of.base["package.json"] = R"({"scripts": {"test": "mocha"}})";
    of.changed["package.json"] = R"({"scripts": {"pretest": ")" + pretest + R"(", "test": "mocha"}})";
    return findings_on(of);
  };
  const Files makes = {{"scripts/make.js", "require('fs').writeFileSync('build/x.json', '{}')\n"}};
  EXPECT_EQ(adds("node scripts/make.js", makes), "");
  EXPECT_NE(adds("node scripts/make.js", {{"scripts/make.js", "fs.rmSync('node_modules/mocha')\n"}}), "");
  EXPECT_NE(adds("node scripts/make.js", {{"scripts/make.js", "exec('mocha --update')\n"}}), "");
  EXPECT_NE(adds("node scripts/make.js", {}), "") << "there is no such program";
  EXPECT_NE(adds("node scripts/make.js", {}, makes), "") << "base has the program for another purpose";
  EXPECT_NE(adds("node scripts/make.js > test/x.js", makes), "");
  EXPECT_NE(adds("node -e 1", makes), "");
}

TEST(ChosenTests, SettingsOfNpmThatLeaveNothingOutAreFree) {
  const auto npmrc = [](const std::string& line, const std::string& scripts) {
    return findings_on({.command = "npm test",
                        .base = {{"package.json", R"({"scripts": {)" + scripts + "}}"}},
                        .changed = {{".npmrc", line + "\n"}}});
  };
  const std::string alone = R"("test": "mocha")", hooked = alone + R"(, "posttest": "node check.js")";
  EXPECT_EQ(npmrc("ignore-scripts=true", alone), "");
  EXPECT_NE(npmrc("ignore-scripts=true", hooked), "");
  EXPECT_EQ(npmrc("enable-pre-post-scripts=false", alone), "");
  EXPECT_NE(npmrc("enable-pre-post-scripts=false", hooked), "");
  for (const auto* line : {"userconfig=./other", "globalconfig = other", "${X}script-shell=./sh"})
    EXPECT_NE(npmrc(line, alone), "") << line;
  for (const auto* line : {"//registry.npmjs.org/:_authToken=${NPM_TOKEN}",
                           "@own:registry=https://x.example/", "cache=${HOME}/.npm"})
    EXPECT_EQ(npmrc(line, alone), "") << line;
}

TEST(ChosenTests, AModuleBesideAPackageOfItsNameIsFoundFirst) {
  const auto adds = [](const std::string& path) {
    return findings_on({.command = "npm test", .changed = {{path, "x"}}});
  };
  for (const auto* path :
       {"node_modules/chai.js", "test/node_modules/mocha.json", "node_modules/chai/index.js"})
    EXPECT_NE(adds(path), "") << path;
  for (const auto* path : {"node_modules/own.js", "lib/chai.js", "node_modules/chart.js/index.js"})
    EXPECT_EQ(adds(path), "") << path;
}

TEST(ChosenTests, AFolderOfDataHasNoModules) {
  const auto adds = [](const std::string& path, const std::set<std::string>& tests = {},
                       const std::string& command = "pytest") {
    return findings_on({.command = command,
                        .base = {{"src/calc.py", "x"}},
                        .changed = {{path, "x"}},
                        .folders_of_new_tests = tests});
  };
  EXPECT_EQ(adds("tests/data/ast.py"), "");
  EXPECT_EQ(adds("tests/unit/fixtures/deep/json.py"), "");
  EXPECT_EQ(adds("tests/data/calc.py"), "");
  EXPECT_NE(adds("tests/ast.py"), "");
  EXPECT_NE(adds("tests/unit/ast.py"), "");
  EXPECT_NE(adds("tests/data/ast.py", {"tests/data"}), "") << "a test there has pytest look there";
  EXPECT_NE(adds("tests/data/ast.py", {}, "PYTHONPATH=tests/data pytest"), "");
  EXPECT_NE(adds("data/tests/ast.py"), "");
}

TEST(ChosenTests, AScriptOfTheShellIsNoHeader) {
  const auto adds = [](const std::string& text) {
    return findings_on({.command = "make test", .changed = {{"lib/string", text}}});
  };
  for (const auto* text :
       {"upper() { tr a-z A-Z; }\n", "# Functions on texts.\n\nupper()\n{\n  tr a-z A-Z\n}\n",
        "set -eu\nx() { :; }\n", "NAME=x; export NAME\n"})
    EXPECT_EQ(adds(text), "") << text;
  for (const auto* text :
       {"#include_next <string>\n", "# define assert(x)\nupper() { }\n", "struct X { X(); };\n",
        "void\nupper() { }\n", "# if 0\nupper() { }\n# endif\nint x;\n", "# a \\\nupper() {}\n"})
    EXPECT_NE(adds(text), "") << text;
}

TEST(ChosenTests, AFolderThatNoCommandGoesToIsFree) {
  const auto change = [](const std::string& command) {
    return findings_on({.command = command,
                        .base = {{"Makefile", "test:\n\tpytest\n"}, {"docs/Makefile", "test:\n\tsphinx\n"}},
                        .changed = {{"docs/Makefile", "test:\n\ttrue\n"}}});
  };
  EXPECT_EQ(change("make test"), "");
  EXPECT_EQ(change("make test CC=$CC && echo \"$HOME\""), "");
  EXPECT_NE(change("make test; cd $DOCS && make"), "");
  EXPECT_NE(change("for d in a docs; do make -C $d test; done"), "");
  EXPECT_NE(change("make -C docs test"), "");
  const auto package = [](const std::string& command) {
    return findings_on({.command = command,
                        .base = {{"package.json", R"({"scripts": {"test": "jest"}})"},
                                 {"demo/package.json", R"({"scripts": {"test": "jest"}})"}},
                        .changed = {{"demo/package.json", R"({"scripts": {"test": "true"}})"}}});
  };
  EXPECT_EQ(package("npm test -- --reporters=$REPORTER"), "");
  EXPECT_EQ(package("pip install -r requirements.txt; npm test"), "");
  EXPECT_NE(package("npm test -w demo"), "");
}

}  // namespace
}  // namespace pawl::gates
