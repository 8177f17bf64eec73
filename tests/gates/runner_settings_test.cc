// Lines that make a build tool run another program in place of a runner.
#include "gates/policy/runner_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;

TEST(Shadowing, ASettingThatBaseHasMayBeMoved) {
  const std::string before = "<testFailureIgnore>true</testFailureIgnore>\n",
                    moved = "  <testFailureIgnore>true</testFailureIgnore>\n", more = before + moved;
  const auto change = [&](const std::string& after) {
    return FileChange{.path = "pom.xml",
                      .before = FileVersion{.content = before},
                      .after = FileVersion{.content = after},
                      .added = {{.number = 2, .text = moved}}};
  };
  EXPECT_EQ(runner_setting(change(moved), {}), "");
  EXPECT_NE(runner_setting(change(more), {}), "");
}

TEST(Shadowing, SettingsThatReplaceARunnerAreFoundInAddedLines) {
  const auto adds = [](const std::string& path, const std::string& line, const std::string& allowed = "") {
    FileChange change{.path = path, .after = FileVersion(), .added = {{.number = 3, .text = line}}};
    return shadowing(change,
                     {.allowed = allowed.empty() ? std::vector<std::string>() : std::vector{allowed}});
  };
  const std::string cargo = ".cargo/config.toml";
  EXPECT_THAT(adds(cargo, "runner = 'sh forge.sh'"), HasSubstr("line 3 sets `runner` of cargo"));
  EXPECT_EQ(adds(cargo, "runner = 'qemu-arm'", ".cargo/**"), "");
  for (const auto* line : {"target.'cfg(unix)'.runner = [\"sh\"]", "x = { runner = \"sh\" }",
                           "rustc-wrapper=\"x\"", "\"runner\" = 'x'", "build = { jobs = 1, rustc = 'x' }"})
    EXPECT_NE(adds("sub/.cargo/config", line), "") << line;
  for (const auto* line : {"# runner = 'x'", "jobs = 4", "linker = 'mold'", "trunner = 1", "runner", ""})
    EXPECT_EQ(adds(cargo, line), "") << line;
  EXPECT_EQ(adds("docs/config.toml", "runner = 'x'"), "");
  EXPECT_NE(adds(".npmrc", "script-shell=/workspace/sh"), "");
  EXPECT_NE(adds("app/.npmrc", "  node-options = --require ./forge.js"), "");
  EXPECT_EQ(adds(".npmrc", "registry=https://npm.example.org/"), "");
  EXPECT_EQ(adds(".npmrc", "; script-shell=x"), "");
  for (const auto* line : {"-Dmaven.test.failure.ignore=true", "-B -fn",
                           "-Dskip"
                           "Tests",
                           "--fail-never"})
    EXPECT_NE(adds(".mvn/maven.config", line), "") << line;
  EXPECT_EQ(adds(".mvn/maven.config", "-T 4 -fnord"), "");
  const std::pair<const char*, const char*> kBad[] = {
      {".mocharc.json", "  \"dry-run\": true,"},
      {"web/.mocharc.cjs", "  dryRun: true"},
      {".mocharc.yml", "dry-run: true"},
      {"package.json", "\"mocha\": {\"dry-run\": true}"},
      {".rspec", "--dry-run"},
      {".rspec", "--failure-exit-code 0"},
      {".proverc", "--exec true"},
      {".proverc", "-e true"},
      {"tox.ini", "ignore_outcome = true"},
      {"noxfile.py", "    session.run('pytest', success_codes=[0, 1])"},
      {"app/pom.xml", "<testFailureIgnore>true</testFailureIgnore>"},
      {"pom.xml", "  <skipITs> true </skipITs>"},
      {"build.gradle", "test { ignoreFailures = true }"},
      {"app/build.gradle.kts", "  ignoreFailures = true"},
      {"build.gradle", "  ignoreFailures true"},
      {"pytest.ini", "addopts = --collect-only"},
      {"pyproject.toml", "addopts = [\"-q\", \"--co\"]"},
      {"setup.cfg", "addopts = -q --setup-plan"},
      {"Rakefile", "  t.fail_on_error = false"},
      {"Cargo.toml", "autotests = false"},
      {".npmrc", "if-present=true"},
      {"CTestCustom.cmake", "set(CTEST_CUSTOM_TESTS_IGNORE right)"}};
  for (const auto& [path, line] : kBad) EXPECT_NE(adds(path, line), "") << path << ": " << line;
  const std::pair<const char*, const char*> kGood[] = {
      {".mocharc.json", "\"dry-run\": false"},
      {".mocharc.json", "\"timeout\": 5000"},
      {"pytest.ini", "addopts = --cov --color=yes"},
      {"pyproject.toml", "addopts = \"-ra\""},
      {"pom.xml", "<testFailureIgnore>false</testFailureIgnore>"},
      {"build.gradle", "ignoreFailures = false"},
      {"tox.ini", "# ignore_outcome = true"},
      {"Cargo.toml", "harness = false"},
      {".rspec", "--require spec_helper"},
      {".proverc", "-lv"},
      {"package.json", "\"dry-runner\": true"}};
  for (const auto& [path, line] : kGood) EXPECT_EQ(adds(path, line), "") << path << ": " << line;
  EXPECT_TRUE(has_runner_settings(".npmrc"));
  EXPECT_FALSE(has_runner_settings("npmrc"));
  EXPECT_FALSE(has_runner_settings("x.npmrc"));
}

std::string adds(const std::string& path, const std::string& line) {
  return runner_setting({.path = path, .after = FileVersion(), .added = {{.number = 1, .text = line}}}, {});
}

TEST(Shadowing, AnOptionOfPytestIsFoundInEachOfItsSpellings) {
  for (const auto* option : {"--collect-only", "--collectonly", "--co", "--setup-only", "--setuponly",
                             "--setup-plan", "--setupplan"})
    for (const auto* path : {"pytest.ini", "pyproject.toml", "tox.ini"})
      EXPECT_NE(adds(path, "addopts = \"-q " + std::string(option) + "\""), "") << option;
  // Escapes of TOML, and quotes and escapes of the shell's words, of which pytest takes addopts apart.
  for (const auto* line :
       {R"(addopts = "--setup-pl\u0061n")", R"(addopts = ["-q", "--setup\u002Dplan"])",
        R"(addopts = "\U0000002d-co")", R"(addopts = "\x2d-co")", R"(addopts = --setup\-plan)",
        R"(addopts = --set"up-plan")", R"(addopts = "--c''o")"})
    EXPECT_NE(adds("pyproject.toml", line), "") << line;
  for (const auto* line :
       {R"(addopts = "--setup-pl\u0061nt")", R"(addopts = "--setup-show")", R"(addopts = "-m 'not slow'")",
        R"(markers = "a\u006eb: \u00e4 \U0001F600")", R"(testpaths = 'a\b')", R"(x = "\u00")", R"(x = "\)"})
    EXPECT_EQ(adds("pyproject.toml", line), "") << line;
}

TEST(Shadowing, AnOptionOfProveIsFoundWhereItIsBundled) {
  for (const auto* line :
       {"-e",         "-e true",   "-etrue",    "-ve ./fake", "-lvetrue", "-D",    "-vD",
        "-rsD",       "-h",        "-vh",       "-H",         "-V",       "-?",    "-v -e x",
        "--exec=./x", "--ext=.nt", "--ext .nt", "--version",  "--help",   "--man", "-'e' x"})
    EXPECT_NE(adds(".proverc", line), "") << line;
  for (const auto* line :
       {"-lv", "-Ilib/Deep", "-vIinc/here", "-MDevel::Cover", "-PDateTime", "-j9", "-I lib", "-wT",
        "--verbose", "--recurse", "--timer", "# -e x", "t/eDV.t", "--extra"})
    EXPECT_EQ(adds(".proverc", line), "") << line;
}

TEST(Shadowing, AnOptionOrAKeyIsFoundInEachSpelling) {
  const std::pair<const char*, const char*> bad[] = {
      {".proverc", "--exe \"printf 1..0\""},
      {".proverc", "--dr"},
      {".proverc", "-v --EXEC=./x"},
      {".proverc", "--vers"},
      {".proverc", "--he"},
      {".proverc", "--ignore-exit"},
      {".proverc", "\"--ex\"ec x"},
      {".rspec", "--dry"},
      {".rspec", "--color --dry-r"},
      {".rspec", "--failure 0"},
      {".rspec", "--error-exit-code 0"},
      {".cargo/config.toml", "\"runne\\u0072\" = 'x'"},
      {".cargo/config.toml", "build.\"rust\\U00000063\" = 'x'"},
      {".cargo/config.toml", "target . x . runner = 'x'"},
      {".npmrc", "ignore-scripts=true"},
      {".npmrc", "ignore-scripts"},
      {".npmrc", "\"script-\\u0073hell\" = x"},
      {".npmrc", "script-shell[] = x"},
      {".npmrc", "if-present"},
      {".npmrc", "enable-pre-post-scripts=false"},
      {"pnpm-workspace.yaml", "enablePrePostScripts: false"},
      {"pnpm-workspace.yaml", "scriptShell: ./sh"}};
  for (const auto& [path, line] : bad) EXPECT_NE(adds(path, line), "") << path << ": " << line;
  const std::pair<const char*, const char*> good[] = {{".proverc", "--directives --failures"},
                                                      {".proverc", "--verbose --lib"},
                                                      {".proverc", "--jobs 9 --timer"},
                                                      {".rspec", "--fail-fast --format documentation"},
                                                      {".cargo/config.toml", "\"jobs\\u0072\" = 1"},
                                                      {".npmrc", "ignore-scripts=false"},
                                                      {".npmrc", "save-exact=true"},
                                                      {"pnpm-workspace.yaml", "packages: ['packages/*']"}};
  for (const auto& [path, line] : good) EXPECT_EQ(adds(path, line), "") << path << ": " << line;
}

TEST(Shadowing, AModuleThatARunnerIsToLoadIsFound) {
  const auto has = [](const std::string& path, const std::string& text, const std::string& before = "") {
    FileChange change{.path = path, .after = FileVersion{.content = text}};
    if (!before.empty()) change.before = FileVersion{.content = before};
    return shadowing(change, {});
  };
  const std::pair<const char*, const char*> bad[] = {
      {"pytest.ini", "[pytest]\naddopts = -p evil\n"},
      {"pytest.ini", "[pytest]\naddopts =\n  -q\n  -pevil\n"},
      {"tox.ini", "[pytest]\naddopts = -qp evil\n"},
      {"setup.cfg", "[tool:pytest]\naddopts = -ra -p tools.evil\n"},
      {"pyproject.toml", "[tool.pytest.ini_options]\naddopts = [\"-p\", \"evil\"]\n"},
      {"pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"\\u002dp evil\"\n"},
      {"jest.config.js", "module.exports = {testRunner: './fake.js'}\n"},
      {"jest.config.js", "module.exports = {\n  testRunner:\n    '<rootDir>/fake.js',\n}\n"},
      {"jest.config.mjs", "export default {runner: `./fake`}\n"},
      {"jest.config.ts", "export default {testRunner: require.resolve('./fake')}\n"},
      {"vitest.config.ts", "export default {test: {runner: './fake.ts'}}\n"},
      {"package.json", "{\"jest\": {\"testRunner\": \"./fake.js\"}}\n"},
      {"package.json", "{\"jest\": {\"runner\": \"<rootDir>/fake.js\"}}\n"},
      {"package.json", "{\"jest\": {\"moduleNameMapper\": {\"^chai$\": \"<rootDir>/fake.js\"}}}\n"},
      {"jest.config.js", "module.exports = {moduleNameMapper: {'^expect$': './fake'}}\n"},
      {"__mocks__/chai.js", "x"},
      {"__mocks__/sinon/index.js", "x"},
      {"src/__mocks__/@jest/globals.js", "x"}};
  for (const auto& [path, text] : bad) EXPECT_NE(has(path, text), "") << path << ": " << text;
  EXPECT_EQ(has("pytest.ini", "[pytest]\naddopts = -v -p own\n", "[pytest]\naddopts = -p own\n"), "");
  const std::pair<const char*, const char*> good[] = {
      {"pytest.ini", "[pytest]\naddopts = -p no:cacheprovider -p xdist -p pytest_cov\n"},
      {"tox.ini", "[testenv]\ncommands =\n  mkdir -p out\n  pytest\n"},
      {"pyproject.toml", "[project]\ndescription = \"mkdir -p x\"\n"},
      {"pytest.ini", "[pytest]\naddopts = -q --pdb -ra\n"},
      {"jest.config.js",
       "module.exports = {testRunner: 'jest-circus/runner', runner: 'jest-runner-eslint'}\n"},
      {"jest.config.js",
       "module.exports = {moduleNameMapper: {'^@/(.*)$': '<rootDir>/src/$1', '\\\\.css$': 'x'}}\n"},
      {"package.json", "{\"scripts\": {\"runner\": \"x\"}, \"devDependencies\": {\"chai\": \"^4.3.0\"}}\n"},
      {"__mocks__/fs.js", "x"},
      {"src/__mocks__/api.js", "x"}};
  for (const auto& [path, text] : good) EXPECT_EQ(has(path, text), "") << path << ": " << text;
}

TEST(Shadowing, ASettingIsFoundThatIsSpreadOverLines) {
  const auto has = [](const std::string& path, const std::string& text, const std::string& before = "") {
    FileChange change{.path = path, .after = FileVersion{.content = text}};
    if (!before.empty()) change.before = FileVersion{.content = before};
    return runner_setting(change, {});
  };
  const std::pair<const char*, const char*> kBad[] = {
      {".mocharc.js", "module.exports = {\n  \"dry-run\":\n    true\n};\n"},
      {".mocharc.yml", "spec: a\ndry-run:\n  yes\n"},
      {".mocharc.yml", "dry-run: True\n"},
      {".mocharc.json", "{\"dry-run\": 1}"},
      {".mvn/maven.config",
       "-D\nskip"
       "Tests\n"},
      {".mvn/maven.config", "--define\nmaven.test.skip=true\n"},
      {"pom.xml", "<maven.test.skip.exec>\n  true\n</maven.test.skip.exec>"},
      {"pom.xml",
       "<skip"
       "Tests>\nTRUE</skip"
       "Tests>"}};
  for (const auto& [path, text] : kBad) {
    EXPECT_NE(has(path, text), "") << path << ": " << text;
    EXPECT_EQ(has(path, text, text), "") << "base has it: " << text;
  }
  EXPECT_NE(adds(".rspec-local", "--dry-run"), "");
  EXPECT_NE(adds(".mocharc.yml", "dry-run: yes"), "");
  const std::pair<const char*, const char*> kGood[] = {{".mocharc.yml", "spec: a\ndry-run: no\n"},
                                                       {".mocharc.json", "{\"dry-run\":\n false}"},
                                                       {".mocharc.yml", "# dry-run:\n# yes\n"},
                                                       {".mocharc.json", "{\"dry-run\": 0, \"bail\": 1}"},
                                                       {"package.json", "{\"release:dry-run\": \"oneshot\"}"},
                                                       {".mvn/maven.config", "-D\nrevision=1\n-T\n4\n"},
                                                       {"pom.xml",
                                                        "<skip"
                                                        "Tests>\nfalse</skip"
                                                        "Tests>"},
                                                       {".rspec-local", "--color\n"}};
  for (const auto& [path, text] : kGood) EXPECT_EQ(has(path, text), "") << path << ": " << text;
}

}  // namespace
}  // namespace pawl::gates
