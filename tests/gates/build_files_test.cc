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
        "set_tests_properties(a PROPERTIES TIMEOUT 9 LABELS x DISABLED TRUE)", "function(add_tests n)",
        "function(my_add_test n)", "macro(add_test_of n)", "set(x WILL_FAIL_LATER)"})
    EXPECT_EQ(words_for("lib/CMakeLists.txt", line), "") << line;
  EXPECT_EQ(words_for("docs/cmake.txt", "WILL_FAIL"), "");
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
