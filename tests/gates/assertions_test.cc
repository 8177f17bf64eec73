// Changes with which the tests of a gate check less: assertions that are off, and tests that a build file names no
// more. Beside each stands a change that takes no check away.
#include "gates/policy/assertions.h"

#include <gtest/gtest.h>

#include "gates/policy/test_entries.h"
#include "gates/work_of.h"

namespace pawl::gates {
namespace {

const Files kTests = {{"tests/adds.c", "#include <assert.h>\n"},
                      {"tests/zero.c", "x"},
                      {"add.c", "x"},
                      {"add.h", "int add(int, int);\n"}};

std::string changed(const std::string& command, const std::string& path, const std::string& before,
                    const std::string& after, const Files& more = {}) {
  WorkOf of{.command = command, .base = kTests, .changed = more};
  of.base[path] = before;
  of.changed[path] = after;
  return findings_on(of);
}

TEST(Assertions, AHeaderDoesNotSwitchThemOff) {
  const auto header = [](const std::string& line) {
    return changed("make", "add.h", "int a;\n", "int a;\n" + line + "\n");
  };
  for (const auto* bad :
       {"#define NDEBUG", "  #  define NDEBUG 1", "#undef assert", "#define assert(x)",
        "#define assert(x) ((void)0)", "#define assert(x) (void)(x)", "#define assert(x) 1"})
    EXPECT_NE(header(bad), "") << bad;
  for (const auto* good :
       {"#ifndef NDEBUG", "#undef NDEBUG", "#define NDEBUG_LEVEL 1", "#define assert_that(x)",
        "// #define NDEBUG", "#include <assert.h>", "#define assert(x) check((x), #x)", "int assert(int);"})
    EXPECT_EQ(header(good), "") << good;
  EXPECT_EQ(changed("make", "add.h", "#define NDEBUG\n", "int a;\n#define NDEBUG\n"), "");
  EXPECT_EQ(changed("make", "add.c", "x\n", "#define NDEBUG\n#include <assert.h>\n"), "")
      << "assertions of the product";
}

TEST(Assertions, FlagsOfABuildAreThoseOfARelease) {
  const std::string configure = "autoreconf -i && ./configure && make check";
  const std::pair<const char*, const char*> kBad[] = {
      {"Makefile.am", "AM_CPPFLAGS = -DNDEBUG"},
      {"Makefile.am", "adds_CFLAGS = -O2 -D NDEBUG"},
      {"configure.ac", "CFLAGS=\"$CFLAGS -DNDEBUG\""},
      {"configure.ac", "AC_DEFINE([NDEBUG], [1], [none])"},
      {"meson.build", "project('x', 'c', default_options: ['b_ndebug=true'])"},
      {"m4/flags.m4", "CPPFLAGS=-DNDEBUG"},
      {"x.pro", "DEFINES += NDEBUG"}};
  for (const auto& [path, line] : kBad)
    EXPECT_NE(changed(configure, path, "a\n", "a\n" + std::string(line) + "\n"), "") << line;
  const std::pair<const char*, const char*> kGood[] = {
      {"Makefile.am", "AM_CPPFLAGS = -DDEBUG"},
      {"Makefile.am", "# -DNDEBUG"},
      {"Makefile.am", "RELEASE_FLAGS = -DNDEBUG"},
      {"meson.build", "default_options: ['b_ndebug=if-release']"},
      {"configure.ac", "AC_DEFINE([HAVE_X], [1])"},
      {"docs/flags.txt", "-DNDEBUG"}};
  for (const auto& [path, line] : kGood)
    EXPECT_EQ(changed(configure, path, "a\n", "a\n" + std::string(line) + "\n"), "") << line;
}

TEST(Assertions, ThoseOfRustStayOn) {
  const auto cargo = [](const std::string& path, const std::string& text) {
    return changed("cargo test", path, "[package]\nname = \"x\"\n",
                   "[package]\nname = \"x\"\n" + text + "\n");
  };
  for (const auto* bad :
       {"[profile.test]\ndebug-assertions = false",
        "[profile.dev]\nopt-level = 1\n\"debug-assertions\"=false",
        "[profile]\ntest = { debug-assertions = false }", "[profile]\ndev.debug-assertions = false"})
    EXPECT_NE(cargo("Cargo.toml", bad), "") << bad;
  for (const auto* good :
       {"[profile.release]\ndebug-assertions = false", "[profile.test]\nopt-level = 3",
        "[profile.bench]\ndebug-assertions = false", "[profile.dev]\ndebug-assertions = true",
        "[profile]\nrelease.debug-assertions = false"})
    EXPECT_EQ(cargo("Cargo.toml", good), "") << good;
  EXPECT_NE(cargo(".cargo/config.toml", "[build]\nrustflags = [\"-C\", \"debug-assertions=no\"]"), "");
  EXPECT_EQ(cargo(".cargo/config.toml", "[build]\nrustflags = [\"-C\", \"target-cpu=native\"]"), "");
  const auto own_main = [](const std::string& name) {
    return findings_on(
        {.command = "cargo test",
         .base = {{"Cargo.toml", "[package]\n"}, {"tests/adds.rs", "x"}},
         .changed = {{"Cargo.toml", "[package]\n[[test]]\nname = \"" + name + "\"\nharness = false\n"}}});
  };
  EXPECT_NE(own_main("adds"), "");
  EXPECT_EQ(own_main("new"), "");
}

TEST(Assertions, ABuildOfCMakeHasThem) {
  const std::string head = "project(x C)\n",
                    cmake = "cmake -S . -B b && cmake --build b && ctest --test-dir b";
  const auto list = [&](const std::string& line, const std::string& command) {
    return changed(command, "CMakeLists.txt", head, head + line + "\n");
  };
  for (const auto* bad :
       {"set(CMAKE_BUILD_TYPE Release)", "set(CMAKE_BUILD_TYPE \"RelWithDebInfo\" CACHE STRING \"\" FORCE)",
        "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE MinSizeRel)\nendif()",
        "SET(CMAKE_BUILD_TYPE_INIT Release)"})
    EXPECT_NE(list(bad, cmake), "") << bad;
  for (const auto* good :
       {"set(CMAKE_BUILD_TYPE Debug)", "set_property(CACHE CMAKE_BUILD_TYPE PROPERTY STRINGS Debug Release)",
        "message(STATUS Release)"})
    EXPECT_EQ(list(good, cmake), "") << good;
  EXPECT_EQ(
      list("set(CMAKE_BUILD_TYPE Release)", "cmake -DCMAKE_BUILD_TYPE=Debug -S . -B b && ctest --test-dir b"),
      "");
  EXPECT_EQ(findings_on({.command = cmake,
                         .base = {{"CMakeLists.txt", head}, {"tests/a.cc", "#include <gtest/gtest.h>\n"}},
                         .changed = {{"CMakeLists.txt", head + "set(CMAKE_BUILD_TYPE Release)\n"}}}),
            "")
      << "no test needs assert()";
  EXPECT_NE(changed(cmake, "CMakeLists.txt", head + "enable_testing()\nadd_subdirectory(tests)\n",
                    head + "add_subdirectory(tests)\n"),
            "");
  EXPECT_EQ(changed(cmake, "CMakeLists.txt", head + "enable_testing()\n", head + "include(CTest)\n"), "");
}

TEST(MentionedTests, ABuildFileNamesTheTestsThatItNamed) {
  const std::string make =
      "TESTS = zero adds\n.PHONY: check\ncheck: $(TESTS)\n\tfor t in $(TESTS); do ./$$t || exit 1; done\n"
      "adds: tests/adds.c add.c\n\t$(CC) -o $@ $^\n";
  const auto edit = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_NE(changed("make check", "Makefile", make, edit(make, "zero adds", "zero")), "");
  EXPECT_NE(changed("make check", "Makefile", make, edit(make, "zero adds", "zero # adds")), "");
  EXPECT_EQ(changed("make check", "Makefile", make, edit(make, "zero adds", "adds zero")), "");
  EXPECT_EQ(changed("make check", "Makefile", make, edit(make, "zero adds", "zero adds more"),
                    {{"tests/more.c", "x"}}),
            "");
  EXPECT_EQ(changed("make check", "Makefile", make,
                    edit(make, "zero adds", "$(patsubst tests/%.c,%,$(wildcard tests/*.c))")),
            "");
  const std::string
      am = "check_PROGRAMS = zero adds\nTESTS = $(check_PROGRAMS)\nadds_SOURCES = tests/adds.c\n",
      configure = "autoreconf -i && ./configure && make check";
  EXPECT_NE(changed(configure, "Makefile.am", am, edit(am, "zero adds", "zero")), "");
  EXPECT_NE(changed(configure, "Makefile.am", am, edit(am, "tests/adds.c", "tests/zero.c")), "");
  EXPECT_EQ(changed(configure, "Makefile.am", am, am + "EXTRA_DIST = README\n"), "");
  const std::string list =
                        "foreach(t zero adds)\n  add_executable(${t} tests/${t}.c add.c)\n  add_test(NAME "
                        "${t} COMMAND ${t})\nendforeach()\n",
                    cmake = "cmake -S . -B b && ctest --test-dir b";
  EXPECT_NE(changed(cmake, "CMakeLists.txt", list, edit(list, "zero adds", "zero")), "");
  EXPECT_EQ(changed(cmake, "CMakeLists.txt", list, edit(list, "zero adds", "adds zero")), "");
  EXPECT_EQ(changed(cmake, "CMakeLists.txt", list, edit(list, "add.c", "sum.c"), {{"sum.c", "x"}}), "")
      << "the product's own files are free";
  EXPECT_EQ(changed("pytest", "Makefile", make, edit(make, "zero adds", "zero")), "") << "no gate runs make";
}

std::string told(const std::string& path, const std::string& before, const std::string& after) {
  FileChange change{.path = path, .after = FileVersion{.content = after}};
  if (!before.empty()) change.before = FileVersion{.content = before};
  return adds_test_entry(change);
}

TEST(TestEntries, TestsOfGoSayThatTheyFailed) {
  const std::string head = "package x\n";
  const auto go = [&](const std::string& text, const std::string& path = "main_test.go") {
    return changed("go test ./...", path, head, head + text + "\n");
  };
  for (const auto* bad :
       {"func TestMain(m *testing.M) { os.Exit(0) }", "func TestMain(m *testing.M) {}",
        "func init() { os.Exit( 0 ) }", "func TestMain(m *testing.M) { m.Run(); os.Exit(0) }",
        "func init() { flag.Set(\"test.run\", \"Zero\") }",
        "func init() { os.Args = append(os.Args, \"-test.skip=Adds\") }", "func init() { syscall.Exit(0) }"})
    EXPECT_NE(go(bad), "") << bad;
  for (const auto* good :
       {"func TestMain(m *testing.M) { setup(); os.Exit(m.Run()) }",
        "func TestMain(m *testing.M) { m.Run() }", "func TestA(t *testing.T) { os.Exit(1) }", "// os.Exit(0)",
        "func TestRun(t *testing.T) {}"})
    EXPECT_EQ(go(good), "") << good;
  EXPECT_EQ(go("func main() { os.Exit(0) }", "main.go"), "") << "a program";
  EXPECT_EQ(changed("go test", "a_test.go", head + "func init() { os.Exit(0) }\n",
                    head + "\nfunc init() { os.Exit(0) }\n"),
            "");
}

TEST(TestEntries, AFunctionThatDecidesWhichTestsRunIsTold) {
  const std::string load = "def load_tests(loader, tests, pattern):\n    return tests\n",
                    main = "func TestMain(m *testing.M) { m.Run() }\n";
  for (const auto* path : {"tests/__init__.py", "tests/unit/__init__.py", "tests/test_a.py", "pkg/test_a.py"})
    EXPECT_NE(told(path, "", load), "") << path;
  EXPECT_NE(told("tests/__init__.py", "x = 1\n", "load_tests = some\n"), "");
  EXPECT_NE(told("x/main_test.go", "", main), "");
  EXPECT_EQ(told("tests/__init__.py", load, "x = 1\n" + load), "") << "base has it";
  EXPECT_EQ(told("src/loader.py", "", load), "");
  EXPECT_EQ(told("tests/test_a.py", "", "def test_a():\n    load_tests(x)\n"), "");
  EXPECT_EQ(told("main.go", "", main), "");
}

}  // namespace
}  // namespace pawl::gates
