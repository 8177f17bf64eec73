// New files that a loader finds before one of the project's own.
#include "gates/policy/stand_in.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pawl::gates {
namespace {

std::string told_of(const std::string& path, const Shadows& shadows) {
  return stands_in_for_own({.path = path, .after = FileVersion()}, shadows);
}

TEST(StandIn, ANewFileThatALoaderFindsBeforeOneOfTheProjectIsTold) {
  const std::set<std::string> base = {"calc.py",        "src/app/__init__.py",   "tests/helper.py",
                                      "tests/tools.js", "tests/util.ts",         "tests/lib/index.js",
                                      "t/lib/Own.pm",   "pkg/tests/__init__.py", "web/helper.py"};
  Shadows shadows{.was_there = [&](const std::string& path) { return base.contains(path); },
                  .is_protected =
                      [&](const std::string& path) {
                        return base.contains(path) && (path.starts_with("tests/") || path.starts_with("t/"));
                      }};
  for (const auto* path : {"tests/helper/__init__.py", "tests/helper.cpython-311-x86_64-linux-gnu.so",
                           "tests/tools", "tests/tools.mjs", "tests/util.js", "tests/lib.js", "tests/lib.ts",
                           "t/lib/Own.pmc", "tests/calc.py", "tests/app/__init__.py", "tests/unit/calc.py"})
    EXPECT_NE(told_of(path, shadows), "") << path;
  for (const auto* path :
       {"tests/test_more.py", "tests/helpers.py", "web/helper/__init__.py", "tests/tools.json",
        "tests/tools.ts", "tests/conftest.py", "pkg/tests/calc.py", "more/calc.py", "calc/__init__.py",
        "src/calc.py", "tests/lib/more.js", "tests/__init__.py"})
    EXPECT_EQ(told_of(path, shadows), "") << path;
  shadows.folders.add({"sh", "-c", "PYTHONPATH=more python3 -m unittest"});
  EXPECT_NE(told_of("more/calc.py", shadows), "");
}

TEST(StandIn, AChangedOrADeletedFileIsNone) {
  const Shadows shadows{.was_there = [](const std::string& path) { return path != "tests/__init__.py"; },
                        .is_protected = [](const std::string&) { return true; }};
  EXPECT_NE(told_of("tests/calc.py", shadows), "");
  EXPECT_EQ(
      stands_in_for_own({.path = "tests/calc.py", .before = FileVersion(), .after = FileVersion()}, shadows),
      "");
  EXPECT_EQ(stands_in_for_own({.path = "tests/calc.py", .before = FileVersion()}, shadows), "");
}

}  // namespace
}  // namespace pawl::gates
