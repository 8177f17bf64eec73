// Copies of other authors' packages on which tests depend.
#include "gates/policy/vendored.h"

#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"

namespace pawl::gates {
namespace {

std::string words_for(const std::string& path, const std::string& there, bool is_new = false) {
  FileChange change{.path = path, .after = FileVersion{}};
  if (!is_new) change.before = FileVersion();
  return shadowing(change, {.was_there = [&](const std::string& other) { return other == there; }});
}

TEST(Vendored, AChangedFileOfAnInstalledPackageFails) {
  for (const auto& [path, there] :
       {std::pair{"vendor/github.com/stretchr/testify/assert/assertions.go", "vendor/modules.txt"},
        {"vendor/example.org/x/y.go", "vendor/modules.txt"},
        {"cmd/a/vendor/example.org/x/y.go", "cmd/a/vendor/modules.txt"},
        {"vendor/autoload.php", "vendor/autoload.php"},
        {"vendor/composer/autoload_real.php", "vendor/autoload.php"},
        {"php/vendor/acme/x.php", "php/vendor/autoload.php"}}) {
    EXPECT_EQ(words_for(path, there), "is a file of an installed package") << path;
    EXPECT_EQ(words_for(path, ""), "") << "its own folder of that name: " << path;
  }
  FileChange gone{.path = "vendor/example.org/x/y.go", .before = FileVersion{}};
  EXPECT_NE(
      shadowing(gone, {.was_there = [](const std::string& path) { return path == "vendor/modules.txt"; }}),
      "");
}

TEST(Vendored, WhatAnUpdateAddsIsTakenButForTestPackages) {
  EXPECT_EQ(words_for("vendor/modules.txt", "vendor/modules.txt"), "") << "it is watched";
  EXPECT_EQ(words_for("vendor/example.org/x/new.go", "vendor/modules.txt", true), "");
  for (const auto* path :
       {"vendor/github.com/stretchr/testify/assert/zz.go", "vendor/gopkg.in/check.v1/zz.go"})
    EXPECT_NE(words_for(path, "vendor/modules.txt", true), "") << path;
  EXPECT_NE(words_for("vendor/phpunit/phpunit/src/zz.php", "vendor/autoload.php", true), "");
}

TEST(Vendored, AChangedFileOfATestFrameworkFailsLikeANewOne) {
  for (const auto* path : {"third_party/unity/unity.c", "tests/unity/unity_internals.h", "doctest.h",
                           "tests/doctest.h", "gtest/gtest.h", "external/googletest/src/gtest.cc",
                           "deps/googletest/googletest/include/gtest/gtest.h", "lib/catch2/catch.hpp",
                           "tests/catch_amalgamated.cpp", "third_party/criterion/include/criterion/assert.h",
                           "vendor/cmocka.c", "extern/boost/test/tools/assertion.hpp"})
    EXPECT_EQ(words_for(path, ""), "is a file of a test framework") << path;
  // Sources of the frameworks themselves, tests beside a framework, and names that projects use for own
  // files.
  for (const auto* path : {"src/unity.c", "googletest/include/gtest/gtest.h", "doctest/doctest.h",
                           "src/catch2/catch_all.hpp", "tests/catch2/sum_test.cpp", "tests/unity/test_sum.c",
                           "src/assert.h", "include/stdlib.h", "game/unity.cc"})
    EXPECT_EQ(words_for(path, ""), "") << path;
  EXPECT_EQ(shadowing({.path = "doctest.h", .before = FileVersion{}, .after = FileVersion{}},
                      {.allowed = {"doctest.h"}}),
            "");
}

TEST(Vendored, AChangedProgramOfAutomakeFails) {
  for (const auto* path : {"test-driver", "build-aux/test-driver", "config/tap-driver.sh", "tap-driver.pl"}) {
    EXPECT_NE(words_for(path, ""), "") << path;
    EXPECT_EQ(words_for(path, "", true), "") << "it is new: " << path;
  }
  EXPECT_NE(words_for("build-aux/depcomp", "build-aux/install-sh"), "");
  EXPECT_NE(words_for("missing", "install-sh"), "");
  for (const auto* path : {"depcomp", "compile", "bin/compile", "tests/test-driver.c", "src/missing"})
    EXPECT_EQ(words_for(path, "build-aux/install-sh"), "") << path;
  EXPECT_EQ(shadowing({.path = "test-driver", .before = FileVersion{}, .after = FileVersion{}},
                      {.allowed = {"test-driver"}}),
            "");
}

}  // namespace
}  // namespace pawl::gates
