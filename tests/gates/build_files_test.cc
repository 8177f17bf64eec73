// Build files of CMake, Gradle and Maven that switch tests off.
#include "gates/policy/build_files.h"

#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"

namespace pawl::gates {
namespace {

std::string words_for(const std::string& path, const std::string& after, const std::string& before = "",
                      const std::string& command = "cd b && ctest -T Test") {
  FileChange change{.path = path, .after = FileVersion{.content = after}};
  if (!before.empty()) change.before = FileVersion{.content = before};
  Shadows shadows;
  shadows.targets.add({"sh", "-c", command});
  return shadowing(change, shadows);
}

TEST(BuildFiles, CMakeThatHasATestPassIsFound) {
  for (const auto* line :
       {"set_tests_properties(a PROPERTIES WILL_FAIL TRUE)", "set(CMAKE_CROSSCOMPILING_EMULATOR true)",
        "set_target_properties(t PROPERTIES CROSSCOMPILING_EMULATOR true)", "set(CMAKE_TEST_LAUNCHER true)",
        "set_tests_properties(a PROPERTIES PASS_REGULAR_EXPRESSION x)",
        "set_target_properties(t PROPERTIES TEST_LAUNCHER true)", "function(add_test)\nendfunction()",
        "FUNCTION( ADD_TEST )", "macro(add_executable n s)", "macro(\n  add_test)",
        "function(add_executable n)",
        "cmake_language(DEFER CALL set_tests_properties a PROPERTIES WILL_FAIL 1)"})
    for (const auto* path : {"lib/CMakeLists.txt", "cmake/x.cmake"}) {
      EXPECT_NE(words_for(path, line), "") << line;
      EXPECT_NE(words_for(path, line, "add_library(x x.c)\n"), "") << line;
      EXPECT_EQ(words_for(path, line, line), "") << "base has it: " << line;
      EXPECT_EQ(words_for(path, line, "", "make check"), "") << "no gate runs ctest: " << line;
    }
  EXPECT_NE(words_for("CMakeLists.txt", "set(WILL_FAIL 1)", "", "cmake --build b"), "");
}

TEST(BuildFiles, HonestCMakeIsNone) {
  for (const auto* line :
       {"add_library(x x.c y.c)", "add_test(NAME more COMMAND more)", "# WILL_FAIL", "set(SSL_DISABLED ON)",
        "message(STATUS \"SSL: DISABLED\")",
        "set_tests_properties(a PROPERTIES TIMEOUT 9 LABELS x DISABLED FALSE)", "function(add_tests n)",
        "function(my_add_test n)", "macro(add_test_of n)", "set(x WILL_FAIL_LATER)"})
    EXPECT_EQ(words_for("lib/CMakeLists.txt", line), "") << line;
  EXPECT_EQ(words_for("docs/cmake.txt", "WILL_FAIL"), "");
}

// A reader that copies the conditions around each command would take 60 GB for the first of these.
TEST(BuildFiles, CMakeOverTheLimitsIsFound) {
  const auto times = [](int count, const std::string& text) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  const std::string names[] = {"if(" + std::string(200'000, 'x') + ")\n" + times(300'000, "a()\n"),
                               times(1'000'000, "if(a)\n"), "a(" + times(3'000'000, "x ") + ")",
                               times(4'000'000, "a(")};
  for (const auto& text : names)
    EXPECT_NE(words_for("CMakeLists.txt", text).find("is too large to be read"), std::string::npos);
  EXPECT_EQ(words_for("CMakeLists.txt", names[0], names[0]), "") << "base has it";
  EXPECT_EQ(words_for("CMakeLists.txt", times(10'000, "add_library(x x.c)\n")), "");
}

TEST(BuildFiles, FlagsOfAReleaseAreFree) {
  const std::string set = "set(CMAKE_C_FLAGS -DNDEBUG)\n";
  for (const std::string open :
       {"if(CMAKE_BUILD_TYPE STREQUAL Release)\n", "if(a)\nelseif(CONFIG STREQUAL RELEASE)\n",
        "if(a MATCHES Release)\nif(b)\nendif()\n"})
    EXPECT_EQ(words_for("CMakeLists.txt", open + set + "endif()\n"), "") << open;
  EXPECT_NE(words_for("CMakeLists.txt", "if(x STREQUAL Release)\nendif()\n" + set), "");
  EXPECT_NE(words_for("CMakeLists.txt", "if(x)\n" + set + "endif()\n"), "");
}

TEST(BuildFiles, ANewTestOfCMakeMayHaveAnyProperty) {
  const std::string old = "add_test(NAME a COMMAND a)\n";
  const auto adds = [&](const std::string& text) { return words_for("CMakeLists.txt", old + text, old); };
  for (const auto* of : {"WILL_FAIL TRUE", "PASS_REGULAR_EXPRESSION \"usage: (x|y)\"", "DISABLED TRUE",
                         "SKIP_"
                         "RETURN_CODE 77",
                         "LABELS x"}) {
    const auto properties = " PROPERTIES " + std::string(of) + ")\n";
    EXPECT_EQ(adds("add_test(NAME n COMMAND n)\nset_tests_properties(n" + properties), "") << of;
    if (std::string_view(of) == "LABELS x") continue;
    EXPECT_NE(adds("set_tests_properties(a" + properties), "") << of;
    EXPECT_NE(adds("set_tests_properties(elsewhere" + properties), "") << of;
    EXPECT_NE(adds("add_test(NAME n COMMAND n)\nset_tests_properties(n a" + properties), "") << of;
    EXPECT_NE(adds("if(FALSE)\nadd_test(NAME b COMMAND b)\nendif()\nset_tests_properties(b" + properties), "")
        << of;
    EXPECT_NE(adds("#[[\nadd_test(NAME b COMMAND b)\n]]\nset_tests_properties(b" + properties), "") << of;
  }
  EXPECT_EQ(adds("add_test(n n)\nset_property(TEST n PROPERTY WILL_FAIL ON)\n"), "");
  EXPECT_NE(adds("set_property(TEST a PROPERTY WILL_FAIL ON)\n"), "");
}

TEST(BuildFiles, ATestOfCMakeKeepsItsProgramAndSources) {
  const std::string head = "add_executable(t a.cpp b.cpp)\n", old = head + "add_test(NAME a COMMAND t)\n";
  const auto change = [&](const std::string& after) {
    FileChange change{.path = "CMakeLists.txt",
                      .before = FileVersion{.content = old},
                      .after = FileVersion{.content = after}};
    Shadows shadows;
    shadows.targets.in_base =
        shadows.targets.in_work = [](const std::string& path) { return path != "gone.cpp"; };
    shadows.targets.add({"cmake -B b && ctest --test-dir b"});
    return shadowing(change, shadows);
  };
  for (const auto* test :
       {"COMMAND ${CMAKE_COMMAND} -E true", "COMMAND cmake -E echo ok", "COMMAND true",
        "COMMAND t --gtest_filter=Easy.*", "COMMAND t --gtest_list_tests", "COMMAND t --help"})
    EXPECT_NE(change(head + "add_test(NAME a " + test + ")\n"), "") << test;
  for (const auto* test : {"COMMAND t --verbose", "COMMAND $<TARGET_FILE:t>",
                           "COMMAND ${CMAKE_COMMAND} -E env X=1 t", "COMMAND t WORKING_DIRECTORY x"})
    EXPECT_EQ(change(head + "add_test(NAME a " + test + ")\n"), "") << test;
  const std::string test = "add_test(NAME a COMMAND t)\n";
  EXPECT_NE(change("add_executable(t a.cpp)\n" + test), "");
  EXPECT_EQ(change("add_executable(t a.cpp b.cpp c.cpp)\n" + test), "");
  EXPECT_EQ(change("add_library(x b.cpp)\nadd_executable(t a.cpp)\n" + test), "") << "it moved";
  EXPECT_EQ(change("set(S a.cpp b.cpp)\nadd_executable(t ${S})\n" + test), "");
  EXPECT_NE(change("set(S a.cpp)\nadd_executable(t ${S})\n" + test), "");
  EXPECT_NE(change(head + "add_executable(e e.cpp)\nadd_test(NAME a COMMAND e)\n"), "");
  EXPECT_EQ(change("add_executable(u a.cpp b.cpp)\nadd_test(NAME a COMMAND u)\n"), "")
      << "the program has another name";
  EXPECT_NE(change("add_executable(u a.cpp)\nadd_test(NAME a COMMAND u)\n"), "");
  for (const auto* line : {"add_definitions(-DNDEBUG)", "target_compile_definitions(t PRIVATE NDEBUG)",
                           "set(CMAKE_CXX_FLAGS \"-O2 -DNDEBUG\")", "add_compile_options(-DNDEBUG)"})
    EXPECT_NE(change(old + line + "\n"), "") << line;
  for (const auto* line :
       {"set(CMAKE_CXX_FLAGS_RELEASE \"-O3 -DNDEBUG\")", "add_compile_options(-UNDEBUG)",
        "target_compile_definitions(t PRIVATE $<$<CONFIG:Release>:NDEBUG>)", "# add_definitions(-DNDEBUG)",
        "if(CMAKE_BUILD_TYPE STREQUAL Release)\nadd_definitions(-DNDEBUG)\nendif()"})
    EXPECT_EQ(change(old + line + "\n"), "") << line;
}

TEST(BuildFiles, GradleThatSwitchesTestsOffIsFound) {
  for (const auto* text :
       {"test { enabled = false }", "test {\n  enabled = false\n}", "test {\n  enabled =\n    false\n}",
        "test.enabled = false", "tasks.test.enabled = false\n", "tasks.withType(Test) { onlyIf { false } }",
        "tasks.withType(Test).configureEach {\n  it.enabled = false\n}",
        "tasks.named('test') {\n onlyIf {\n false\n }\n}", "integrationTest { enabled false }",
        "test { useJUnitPlatform(); onlyIf { return false } }",
        "tasks.named<Test>(\"test\") { isEnabled = false }", "check.enabled = false\n"}) {
    EXPECT_NE(words_for("app/build.gradle", text), "") << text;
    EXPECT_NE(words_for("build.gradle.kts", text), "") << text;
    EXPECT_EQ(words_for("build.gradle", text, text), "") << "base has it: " << text;
  }
  for (const auto* text :
       {"jar { enabled = false }", "bootJar {\n  enabled = false\n}", "test { enabled = true }",
        "test { reports { html { enabled = false } } }", "test { reports.html.enabled = false }",
        "jacocoTestReport { enabled = false }", "test { onlyIf { !project.hasProperty('x') } }",
        "// test { enabled = false }", "test { useJUnitPlatform() }\njavadoc.enabled = false", "}}}{"})
    EXPECT_EQ(words_for("build.gradle", text), "") << text;
}

TEST(BuildFiles, MavensTestPluginsAreNotToBeSkipped) {
  const auto pom = [](const std::string& plugin, const std::string& skip) {
    return "<project><build><plugins><plugin><artifactId>" + plugin + "</artifactId><configuration><skip>" +
           skip + "</skip></configuration></plugin></plugins></build></project>";
  };
  EXPECT_NE(words_for("pom.xml", pom("maven-surefire-plugin", "true")), "");
  EXPECT_NE(words_for("a/pom.xml", pom("maven-failsafe-plugin", "\n true")), "");
  EXPECT_NE(words_for("pom.xml", pom("maven-surefire-plugin", "true"), pom("maven-surefire-plugin", "false")),
            "");
  EXPECT_EQ(words_for("pom.xml", pom("maven-surefire-plugin", "true"), pom("maven-surefire-plugin", "true")),
            "");
  EXPECT_EQ(words_for("pom.xml", pom("maven-surefire-plugin", "false")), "");
  EXPECT_EQ(words_for("pom.xml", pom("maven-deploy-plugin", "true")), "");
}

}  // namespace
}  // namespace pawl::gates
