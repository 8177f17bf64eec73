#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include "gates/policy/check.h"
#include "gates/policy/python_names.h"
#include "gates/policy/watched.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FileVersion text_of(std::string_view content) {
  return {.size = static_cast<std::int64_t>(content.size()), .content = content};
}

FileChange added(std::string path, std::string_view content) {
  FileChange change{.path = std::move(path), .after = text_of(content)};
  std::int64_t line = 0;
  for (std::size_t at = 0; at < content.size();) {
    const auto end = std::min(content.find('\n', at), content.size());
    change.added.push_back({.number = ++line, .text = content.substr(at, end - at)});
    at = end + 1;
  }
  return change;
}

Signal judge(const Policy& policy, const std::vector<FileChange>& changes) {
  PolicyCheck check(policy, testing::plain_redactor());
  for (const auto& change : changes) check.see(change);
  return check.signal();
}

std::string failing(const Policy& policy, const std::vector<FileChange>& changes) {
  const Signal signal = judge(policy, changes);
  EXPECT_EQ(signal.passed, !signal.details.contains("failing"));
  return text_in(signal.details, "failing");
}

const std::string kToken = "ghp_" + std::string(36, 'A');

TEST(PolicyCheck, CountsWhatChangedAndPassesWhenNoRuleSaysOtherwise) {
  const Signal signal = judge({}, {added("src/a.c", "one\ntwo\n"),
                                   {.path = "src/b.c", .before = text_of("x\n"), .lines_removed = 1}});
  EXPECT_TRUE(signal.passed);
  EXPECT_EQ(key_of(signal), "diff.policy");
  EXPECT_EQ(signal.details, (Json{{"files", 2}, {"lines", 3}, {"bytes", 8}}));
}

TEST(PolicyCheck, CapsAreOfTheWholeAttemptOrOfAFile) {
  const std::vector<FileChange> changes = {added("a", "one\ntwo\n"), added("b", "three\n")};
  EXPECT_EQ(failing({.files_max = 1}, changes), "the attempt: files: 2, 1 are allowed");
  EXPECT_EQ(failing({.lines_max = 2}, changes), "the attempt: lines: 3, 2 are allowed");
  EXPECT_EQ(failing({.bytes_max = 10}, changes), "the attempt: bytes: 14, 10 are allowed");
  EXPECT_EQ(failing({.file_bytes_max = 7}, changes), "a: file_bytes: 8 bytes, 7 are allowed");
  EXPECT_EQ(failing({.files_max = 2, .lines_max = 3, .file_bytes_max = 8, .bytes_max = 14}, changes), "");
}

TEST(PolicyCheck, ForbiddenPathsAreNeitherChangedNorDeleted) {
  const Policy policy{.forbidden_paths = {"legal/**"}};
  EXPECT_EQ(
      failing(policy, {added("legal/a/b", "x"), {.path = "legal/c", .before = text_of("x")}}),
      "legal/a/b: forbidden_paths: is not to be changed\n    legal/c: forbidden_paths: is not to be deleted");
}

TEST(PolicyCheck, WatchedFilesAreToldAndFailWhereThePolicySaysSo) {
  const std::vector<FileChange> changes = {added("deep/conftest.py", "x"), added("tools/gen", "x")};
  const Signal told = judge({.watched_paths = {"tools/*"}}, changes);
  EXPECT_TRUE(told.passed);
  EXPECT_EQ(told.details["told"], 2);
  EXPECT_EQ(told.details["telling"],
            "deep/conftest.py: watched: steers pytest\n    tools/gen: watched: is one of watched_paths");
  EXPECT_EQ(failing({.watched = Reaction::kFail}, changes), "deep/conftest.py: watched: steers pytest");
  EXPECT_FALSE(judge({.watched = Reaction::kAllow}, changes).details.contains("told"));
}

TEST(PolicyCheck, TestFilesThatAreChangedOrDeletedAreTold) {
  const auto changed = [](std::string path) {
    return FileChange{.path = std::move(path), .before = text_of("x\n"), .after = text_of("y\n")};
  };
  const auto told = [](const Policy& policy, const std::vector<FileChange>& changes) {
    const auto signal = judge(policy, changes);
    EXPECT_EQ(signal.details.contains("test_files"), signal.details.contains("test_file_names"));
    return text_in(signal.details, "test_file_names");
  };
  for (const std::string path :
       {"tests/a.py", "a/spec/b.rb", "src/__tests__/x.js", "t/basic.t", "a_test.go", "src/a.test.ts",
        "lib/a.spec.mjs", "src/FooTest.java", "FooTests.cs", "test_a.py", "tests/data.json", "test.sh"})
    EXPECT_EQ(told({}, {changed(path)}), path);
  for (const std::string path :
       {"src/a.c", "contest.py", "latest.js", "attest_a.py", "Testament.java", "test", "spectrum/a.c",
        "testing.md", "test_plan.md", ".test", "src/protest.go"})
    EXPECT_EQ(told({}, {changed(path)}), "") << path;
  EXPECT_EQ(told({}, {added("tests/new.py", "x\n")}), "") << "a new file weakens no test";
  FileChange gone{.path = "tests/b.py", .before = text_of("x\n")};
  EXPECT_EQ(told({}, {changed("tests/a.py"), gone}), "tests/a.py, tests/b.py (deleted)");
  EXPECT_EQ(told({.forbidden_paths = {"tests/**"}}, {gone}), "") << "a rule refuses it";
  std::vector<FileChange> many;
  for (char name = 'a'; name <= 'h'; ++name) many.push_back(changed(std::string("tests/") + name));
  const auto signal = judge({}, many);
  EXPECT_TRUE(signal.passed);
  EXPECT_EQ(signal.details.at("test_files"), 8);
  EXPECT_THAT(text_in(signal.details, "test_file_names"), HasSubstr("tests/e, and 3 more"));
}

TEST(PolicyCheck, AProgramThatStandsInForACommandIsWatched) {
  FileChange shadow = added("bin/node", "x");
  EXPECT_EQ(failing({.watched = Reaction::kFail}, {shadow}), "") << "a file that nobody can run";
  shadow.after->is_executable = true;
  EXPECT_THAT(failing({.watched = Reaction::kFail}, {shadow}), HasSubstr("would run instead of node"));
}

TEST(PolicyCheck, NewKindsOfFiles) {
  const Policy all{.binaries = Reaction::kFail, .executables = Reaction::kFail, .symlinks = Reaction::kFail};
  FileChange program = added("x", "\0\1");
  program.after->is_binary = program.after->is_executable = true;
  EXPECT_EQ(failing(all, {program}),
            "x: binaries: 0 bytes that are no text\n    x: executables: can be run now");
  program.before = program.after;
  EXPECT_EQ(failing(all, {program}), "") << "it was both already";
  const FileChange link{
      .path = "l", .before = text_of("x"), .after = FileVersion{.is_link = true, .content = "to"}};
  EXPECT_EQ(failing(all, {link}), "l: symlinks: leads to to");
}

TEST(PolicyCheck, SecretsAreNamedByFileAndLineAndNotShown) {
  const std::string lines = "a\nb\nkey = '" + kToken + "'\n";
  const std::string found = failing({}, {added("src/config.js", lines)});
  EXPECT_EQ(found, "src/config.js:3: secrets: looks like a github_token");
  EXPECT_EQ(failing({.secrets_except = {"src/*"}}, {added("src/config.js", lines)}), "");
  EXPECT_THAT(failing({}, {added("a", "password = \"tR7zKq9vXw2LmN4pB8sYc1\"")}),
              HasSubstr("a:1: secrets: a value as random"));
}

TEST(PolicyCheck, ASecretOfSeveralLinesOrBehindANulByteIsFound) {
  const std::string key = std::string("-----BEGIN ") + "PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n";
  EXPECT_EQ(failing({}, {added("k", "x\n" + key)}), "k:2: secrets: looks like a private_key");
  const std::string hidden = std::string("a\n\0", 3) + kToken;
  FileChange binary{.path = "b", .after = text_of(hidden)};
  binary.after->is_binary = true;
  EXPECT_EQ(failing({}, {binary}), "b:2: secrets: looks like a github_token");
  EXPECT_EQ(failing({}, {{.path = "l", .after = FileVersion{.is_link = true, .content = kToken}}}),
            "l: secrets: looks like a github_token");
}

TEST(PolicyCheck, WhatWasNotReadIsNoWayAround) {
  EXPECT_THAT(failing({}, {{.path = "big", .after = FileVersion{.size = 1 << 30}, .unread = true}}),
              HasSubstr("big: unread: is too large"));
  const FileChange big{.path = "big", .after = FileVersion{.size = 1 << 30}, .unread = true};
  EXPECT_THAT(failing({.secrets = Reaction::kAllow}, {big}), HasSubstr("big: unread"))
      << "it may be a lockfile";
  EXPECT_THAT(failing({.npm_lockfile = Reaction::kAllow}, {big}), HasSubstr("big: unread"))
      << "or have a secret";
  EXPECT_EQ(failing({.secrets = Reaction::kAllow, .npm_lockfile = Reaction::kAllow}, {big}), "");
}

TEST(PolicyCheck, WhatIsShownIsBoundedAndPrintable) {
  std::vector<FileChange> changes;
  for (int i = 0; i < 100; ++i)
    changes.push_back(added("\x1b[31m" + std::string(2000, 'x') + std::to_string(i), kToken));
  const Signal signal = judge({}, changes);
  EXPECT_EQ(signal.details["failures"], 100);
  const std::string shown = signal.details["failing"];
  EXPECT_LT(shown.size(), 20U * 410);
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
}

TEST(Watched, KnowsFilesByNameInAnyFolder) {
  EXPECT_EQ(steers("conftest.py"), "pytest");
  EXPECT_EQ(steers("a/b/jest.config.ts"), "Jest");
  EXPECT_EQ(steers(".cargo/config.toml"), "cargo");
  EXPECT_EQ(steers("sub/.cargo/config"), "cargo");
  EXPECT_EQ(steers(".github/workflows/ci.yml"), "CI");
  EXPECT_EQ(steers("lib/evil.pth"), "every Python program");
  EXPECT_EQ(steers("src/conftest.py.txt"), "");
  EXPECT_EQ(steers("docs/github"), "");
  EXPECT_EQ(shadows("node_modules/.bin/npm"), "npm");
  EXPECT_EQ(shadows("bin/node2"), "");
}

std::string stands_in(const std::string& path, const Shadows& shadows = {}, bool is_new = true) {
  FileChange change{.path = path, .after = FileVersion{.is_executable = true}};
  if (!is_new) change.before = FileVersion();
  return shadowing(change, shadows);
}

TEST(Shadowing, KnowsWhatAFileStandsInFor) {
  for (const char* path : {"pytest.py",
                           "json.py",
                           "unittest/__init__.py",
                           "tests/argparse.py",
                           "src/random.so",
                           "lib/pluggy/__init__.py",
                           "a/sitecustomize.py",
                           "sitecustomize/__init__.py",
                           "usercustomize/__init__.py",
                           "h-1.0.dist-info/entry_points.txt",
                           "H.DIST-INFO/entry_points.txt",
                           "venv/lib/python3/site-packages/x.pth",
                           "node_modules/.bin/mocha",
                           "a/node_modules/.bin/x",
                           "node_modules/mocha/index.js",
                           "test/node_modules/@jest/core/x.js",
                           "lib/Test/More.pm",
                           "t/lib/TAP/Parser.pm",
                           "Test/Builder.pm",
                           "lib/minitest.rb",
                           "test/rspec/core.rb",
                           "lib/overload.pm",
                           "lib/IO/Handle.pm",
                           "lib/optparse.rb",
                           "test/minitest/assertions.rb",
                           "_compression.py",
                           "__future__.py",
                           "_bz2.py",
                           "test/node_modules/expect/index.js",
                           "assert.h",
                           "include/cassert",
                           "tests/gtest/gtest.h",
                           "src/test/java/org/junit/jupiter/api/Assertions.java",
                           "src/test/kotlin/kotlin/test/Assertions.kt",
                           "deny.toml",
                           ".semgrepignore",
                           "sub/.gitleaksignore",
                           "tools/bazel",
                           "vendor/bin/phpunit"})
    EXPECT_NE(stands_in(path), "") << path;
  for (const char* path : {"calc.py",
                           "pkg/json.py",
                           "app/types.py",
                           "docs/json.md",
                           "tests/test_json.py",
                           "test/__init__.py",
                           "cmd/main.go",
                           "json/data.txt",
                           "models/x.pth",
                           "node_modules/left-pad/index.js",
                           "lib/My/Test/Report.pm",
                           "lib/app/set_of.rb",
                           "bin/tool",
                           "test/unit/a_test.rb",
                           ".gitignore",
                           "GNUmakefile",
                           "src/assertions.h",
                           "docs/gtest",
                           "src/test/java/org/example/JunitTest.java",
                           "org/junit/notes.md"})
    EXPECT_EQ(stands_in(path), "") << path;
}

TEST(Shadowing, FilesOfInstalledPackagesAreNobodysToEdit) {
  EXPECT_NE(stands_in("node_modules/left-pad/index.js", {}, false), "");
  EXPECT_NE(stands_in("venv/lib/python3/site-packages/x/y.py", {}, false), "");
  EXPECT_EQ(stands_in("json.py", {}, false), "") << "it was there";
}

TEST(Shadowing, LooksWhereCommandsLook) {
  Shadows shadows;
  shadows.folders.add(
      {"bash", "-c",
       "export PATH=\"$PWD/tools:$PATH\"; LD_LIBRARY_PATH=/workspace/so PYTHONPATH=a/b:c python3 x/run.py"});
  EXPECT_EQ(shadows.folders.programs, std::set<std::string>{"tools"});
  EXPECT_EQ(shadows.folders.libraries, std::set<std::string>{"so"});
  EXPECT_EQ(shadows.folders.modules, (std::set<std::string>{"a/b", "c", "x"}));
  for (const char* path : {"tools/cc", "so/libc.so.6", "a/b/json.py", "c/re.py", "x/ast.py"})
    EXPECT_NE(stands_in(path, shadows), "") << path;
  shadows.allowed = {"tools", "x/*.py"};
  EXPECT_EQ(stands_in("tools/cc", shadows), "");
  EXPECT_EQ(stands_in("x/ast.py", shadows), "");
}

TEST(Shadowing, LooksWhereCommandsGo) {
  const auto modules = [](const std::string& command) {
    SearchFolders folders;
    folders.add({"sh", "-c", command});
    return folders.modules;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(modules("cd left && python3 -m pytest -q"), Names{"left"});
  EXPECT_EQ(modules("(cd \"$PWD/a\"; pushd b; python3 c/d.py)"),
            (Names{"a", "b", "a/b", "a/c", "b/c", "c", "a/b/c"}));
  EXPECT_EQ(modules("make -C sub; prove -Iperl5 -I inc t"), (Names{"sub", "perl5", "inc"}));
  EXPECT_EQ(modules("python3 -m unittest discover -s checks --top-level-directory=app"),
            (Names{"checks", "app"}));
  EXPECT_EQ(modules("cd /tmp && pytest --rootdir=/usr -Wall"), Names{});
  EXPECT_THAT(modules("cd a && cd b && python3 c/d.py"), ::testing::IsSupersetOf({"a", "a/b", "a/b/c"}));
  EXPECT_THAT(modules("cd left && PYTHONPATH=$PWD/lib python3 -m pytest"), ::testing::Contains("left/lib"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "cd d" + std::to_string(i) + ";";
  EXPECT_LT(modules(deep).size(), 10'000U);
  SearchFolders folders;
  folders.add({"sh", "-c", "cd x; PATH=bin:$PATH make"});
  EXPECT_EQ(folders.programs, (Names{"bin", "x/bin"}));
}

// The list has every module that this host's Python imports from a file. Exceptions are in `others`: no test
// runner imports these modules.
TEST(Shadowing, KnowsTheModulesOfThePythonThatIsHere) {
  FILE* python = popen(
      "python3 -c 'import sys; print(\"\\n\".join(sys.stdlib_module_names - set(sys.builtin_module_names)))'",
      "r");
  ASSERT_NE(python, nullptr);
  std::string names;
  for (int c = getc(python); c != EOF; c = getc(python)) names += static_cast<char>(c);
  ASSERT_EQ(pclose(python), 0);
  const std::set<std::string> others = {"_android_support",
                                        "_bootsubprocess",
                                        "_frozen_importlib",
                                        "_frozen_importlib_external",
                                        "_ios_support",
                                        "_msi",
                                        "_overlapped",
                                        "_scproxy",
                                        "_winapi",
                                        "_wmi",
                                        "antigravity",
                                        "idlelib",
                                        "lib2to3",
                                        "msilib",
                                        "msvcrt",
                                        "nt",
                                        "this",
                                        "turtledemo",
                                        "winreg",
                                        "winsound"};
  std::size_t count = 0;
  for (std::size_t start = 0, end = 0; (end = names.find('\n', start)) != std::string::npos;
       start = end + 1) {
    const auto name = names.substr(start, end - start);
    EXPECT_TRUE(is_python_name(name) || others.contains(name)) << name;
    ++count;
  }
  EXPECT_GT(count, 150U);
}

TEST(Shadowing, MakeReadsTheFirstOfItsNames) {
  Shadows shadows{
      .was_there = [](const std::string& path) { return path == "Makefile" || path == "v/pyvenv.cfg"; }};
  for (const char* path : {"GNUmakefile", "makefile", "v/bin/python"})
    EXPECT_NE(stands_in(path, shadows), "") << path;
  EXPECT_EQ(stands_in("sub/GNUmakefile", shadows), "");
  // These become a Makefile only when the gate's step configures.
  for (const std::string template_name : {"Makefile.in", "Makefile.am", "Makefile.PL"}) {
    shadows.was_there = [&](const std::string& path) { return path == template_name; };
    for (const char* path : {"GNUmakefile", "makefile"})
      EXPECT_NE(stands_in(path, shadows), "") << path << " beside " << template_name;
    EXPECT_EQ(stands_in("Makefile", shadows), "");
  }
}

}  // namespace
}  // namespace pawl::gates
